//! CPU, memory, storage and replicas.

use serde_json::{Value, json};

use super::{Refused, Scope, metadata};
use crate::api::wire::{Tier, TierSpec};

/// CPU utilisation at which the autoscaler adds replicas, in percent of the request.
const UTILIZATION: u32 = 80;

/// Default storage of the state, in Gi.
const STORAGE: u64 = 10;

/// The largest amount of any resource, in its unit.
const LARGEST: f64 = 1e9;

/// The member `resources` of a container of a tier; null if nothing is set. A limit that is not set is twice the request.
pub(super) fn resources(tier: Tier, spec: TierSpec) -> Result<Value, Refused> {
    let TierSpec { cpu, memory, .. } = spec;
    let cpu_limit = spec.cpu_limit.or(cpu.map(|cpu| cpu * 2.0));
    let memory_limit = spec.memory_limit.or(memory.map(|memory| memory.saturating_mul(2)));
    let field = |name: &str| format!("{}{name}", tier.prefix());
    check((&field("cpu"), &field("cpu_limit")), cpu, cpu_limit)?;
    let number = |memory: u64| memory as f64;
    let fields = (&*field("memory_mb"), &*field("memory_limit_mb"));
    check(fields, memory.map(number), memory_limit.map(number))?;
    let amounts = |cpu: Option<f64>, memory: Option<u64>| match (cpu, memory) {
        (None, None) => Value::Null,
        _ => json!({ "cpu": cpu.map(cores), "memory": memory.map(|it| format!("{it}Mi")) }),
    };
    match (amounts(cpu, memory), amounts(cpu_limit, memory_limit)) {
        (Value::Null, Value::Null) => Ok(Value::Null),
        (requests, limits) => Ok(json!({ "requests": requests, "limits": limits })),
    }
}

/// Refuses amounts that no quantity of Kubernetes can be, and a request above its limit.
fn check(
    (field, limit_field): (&str, &str),
    request: Option<f64>,
    limit: Option<f64>,
) -> Result<(), Refused> {
    request.map_or(Ok(()), |request| check_amount(field, request))?;
    limit.map_or(Ok(()), |limit| check_amount(limit_field, limit))?;
    match (request, limit) {
        (Some(request), Some(limit)) if request > limit => Err(Refused::new(
            format!("the resource field `{field}` is greater than `{limit_field}`"),
            "change the resources",
        )),
        _ => Ok(()),
    }
}

/// Refuses an amount that is not positive, or too large for any cluster.
pub(super) fn check_amount(field: &str, amount: f64) -> Result<(), Refused> {
    if amount > 0.0 && amount <= LARGEST {
        Ok(())
    } else {
        Err(Refused::new(
            format!("the resource field `{field}` is not between 0 and {LARGEST}"),
            "change the resources",
        ))
    }
}

/// The claim of the volume `name` for the state.
pub(super) fn claim(scope: &Scope<'_>, name: &str) -> Result<Value, Refused> {
    let storage = scope.request.resources.db_storage_gi.unwrap_or(STORAGE);
    check_amount("db_storage_gi", storage as f64)?;
    Ok(json!({
        "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": format!("{storage}Gi") } },
        },
    }))
}

/// `2` or `500m`, at least `1m`.
fn cores(cpu: f64) -> String {
    let milli = (cpu * 1000.0).round().max(1.0);
    if milli % 1000.0 == 0.0 { format!("{}", milli / 1000.0) } else { format!("{milli}m") }
}

/// Number of replicas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Scale {
    min: u32,
    max: u32,
}

impl Scale {
    /// The scale that the fields `min_scale` and `max_scale` of a tier ask for. Nothing starts a server at its first
    /// request, so at least one replica runs.
    pub(super) fn new(tier: Tier, spec: TierSpec, notes: &mut Vec<String>) -> Result<Self, Refused> {
        let (prefix, (min, max)) = (tier.prefix(), spec.scale);
        let asked = min.unwrap_or_else(|| max.unwrap_or(1).min(1));
        let max = max.unwrap_or(asked);
        if asked > max {
            return Err(Refused::new(
                format!("the resource field `{prefix}min_scale` is greater than `{prefix}max_scale`"),
                "change the resources",
            ));
        }
        if asked == 0 {
            notes.push(format!(
                "one replica runs although `{prefix}min_scale` is 0: Kubernetes alone does not start a server at a request"
            ));
        }
        Ok(Self { min: asked.max(1), max: max.max(1) })
    }

    /// The member `replicas` of a Deployment; null if an autoscaler sets it.
    pub(super) fn replicas(self) -> Value {
        if self.min == self.max { self.min.into() } else { Value::Null }
    }

    /// The autoscaler of the Deployment `name`, if the scale has a range.
    pub(super) fn autoscaler(
        self,
        scope: &Scope<'_>,
        (name, component): (&str, &str),
        (tier, spec): (Tier, TierSpec),
    ) -> Result<Option<Value>, Refused> {
        if self.min == self.max {
            return Ok(None);
        }
        if spec.cpu.is_none() {
            return Err(Refused::new(
                format!("cannot scale between {} and {} replicas without a CPU request", self.min, self.max),
                format!(
                    "set the resource field `{}cpu`, which the autoscaler compares the use of CPU with",
                    tier.prefix()
                ),
            ));
        }
        let kind = ("autoscaling/v2", "HorizontalPodAutoscaler");
        let mut object = metadata::object(scope, kind, name.to_owned(), component)?;
        object["spec"] = json!({
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": name },
            "minReplicas": self.min,
            "maxReplicas": self.max,
            "metrics": [{
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": { "type": "Utilization", "averageUtilization": UTILIZATION },
                },
            }],
        });
        Ok(Some(object))
    }
}
