//! CPU, memory, storage and replicas.

use serde::Serialize;

use super::Refused;
use crate::api::wire::{Tier, TierSpec};

/// Default storage of the state, in Gi.
const STORAGE: u64 = 10;

/// The largest amount of any resource, in its unit.
const LARGEST: f64 = 1e9;

/// CPU and memory of a container.
#[derive(Serialize)]
pub(super) struct Resources {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<Amounts>,
    limits: Amounts,
}

/// Quantities of Kubernetes.
#[derive(Serialize)]
struct Amounts {
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
}

impl Amounts {
    fn new(cpu: Option<f64>, memory: Option<u64>) -> Option<Self> {
        let is_set = cpu.is_some() || memory.is_some();
        is_set.then(|| Self { cpu: cpu.map(cores), memory: memory.map(|memory| format!("{memory}Mi")) })
    }
}

/// The resources of a container of a tier, if any are set. A limit that is not set is twice the request.
pub(super) fn resources(tier: Tier, spec: TierSpec) -> Result<Option<Resources>, Refused> {
    let TierSpec { cpu, memory, .. } = spec;
    let cpu_limit = spec.cpu_limit.or(cpu.map(|cpu| cpu * 2.0));
    let memory_limit = spec.memory_limit.or(memory.map(|memory| memory.saturating_mul(2)));
    let field = |name: &str| format!("{}{name}", tier.prefix());
    check((&field("cpu"), &field("cpu_limit")), cpu, cpu_limit)?;
    let number = |memory: u64| memory as f64;
    let fields = (&*field("memory_mb"), &*field("memory_limit_mb"));
    check(fields, memory.map(number), memory_limit.map(number))?;
    let limits = Amounts::new(cpu_limit, memory_limit);
    // Whatever is requested has a limit.
    Ok(limits.map(|limits| Resources { requests: Amounts::new(cpu, memory), limits }))
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

/// Storage of the state, in Gi.
pub(super) fn storage(asked: Option<u64>) -> Result<u64, Refused> {
    let storage = asked.unwrap_or(STORAGE);
    check_amount("db_storage_gi", storage as f64)?;
    Ok(storage)
}

/// `2` or `500m`, at least `1m`.
fn cores(cpu: f64) -> String {
    let milli = (cpu * 1000.0).round().max(1.0);
    if milli % 1000.0 == 0.0 { format!("{}", milli / 1000.0) } else { format!("{milli}m") }
}

/// Number of replicas. An autoscaler sets it between these bounds if they differ.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Scale {
    pub(super) min: u32,
    pub(super) max: u32,
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
        let scale = Self { min: asked.max(1), max: max.max(1) };
        if scale.min != scale.max && spec.cpu.is_none() {
            return Err(Refused::new(
                format!(
                    "cannot scale between {} and {} replicas without a CPU request",
                    scale.min, scale.max
                ),
                format!(
                    "set the resource field `{prefix}cpu`, which the autoscaler compares the use of CPU with"
                ),
            ));
        }
        Ok(scale)
    }
}
