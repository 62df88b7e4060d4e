//! Pods with the user's code: their variables, probes, volumes and further containers.

use serde_json::{Value, json};

use super::compute::resources;
use super::{Refused, Scope, container, digest, metadata, secrets};
use crate::api::wire::{ContainerSpec, Tier, TierSpec};
use crate::compiler::server::{self, cluster, setup};

/// Name of the port of the server.
pub(super) const PORT: &str = "http";

/// Health checks of a running server before it is restarted are this much rarer than those before it gets no requests.
const LIVENESS_FACTOR: u32 = 4;

/// Time between the request to stop a pod and SIGTERM, in seconds, in which Services stop sending requests to it.
const PRE_STOP: u32 = 5;

/// A container with the user's code.
pub(super) struct Main<'a> {
    pub(super) name: &'a str,
    pub(super) image: &'a str,
    /// Empty for that of the image.
    pub(super) command: &'a [&'a str],
    /// Further variables.
    pub(super) variables: Vec<(&'a str, String)>,
    pub(super) port: (&'a str, u16),
    /// The health check, as a member of a probe.
    pub(super) check: Value,
    /// Whether a Service sends requests to it.
    pub(super) has_service: bool,
    pub(super) resources: (Tier, TierSpec),
}

impl Main<'_> {
    /// The container.
    pub(super) fn container(&self, scope: &Scope<'_>) -> Result<Value, Refused> {
        let (tier, spec) = self.resources;
        let (name, port) = self.port;
        let pre_stop = json!({ "preStop": { "exec": { "command": ["sleep", PRE_STOP.to_string()] } } });
        let (startup, ready, live) = probes(&self.check);
        Ok(json!({
            "name": self.name,
            "image": self.image,
            "command": (!self.command.is_empty()).then_some(self.command),
            "env": self.variables(scope)?,
            "envFrom": sources(scope),
            "ports": [{ "name": name, "containerPort": port }],
            "startupProbe": startup,
            "readinessProbe": ready,
            "livenessProbe": live,
            "lifecycle": if self.has_service { pre_stop } else { Value::Null },
            "resources": resources(tier, spec)?,
            "volumeMounts": scope.request.resources.volume_mounts,
        }))
    }

    /// The variables that take precedence over those of the Secret: our own, the URLs of the database, and references.
    fn variables(&self, scope: &Scope<'_>) -> Result<Vec<Value>, Refused> {
        let mut variables = Vec::new();
        if scope.has_database {
            let password = container::reference(&scope.name(secrets::PASSWORD), secrets::PASSWORD_KEY);
            variables.push(json!({ "name": cluster::PASSWORD_VARIABLE, "valueFrom": password }));
            let uri = cluster::database_uri(&scope.name("postgres"));
            let named = |name: &&str| json!({ "name": name, "value": uri });
            variables.extend(setup::DATABASE_VARIABLES.iter().map(named));
        }
        let own = self.variables.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        variables.extend(own);
        for reference in &scope.request.references {
            match (&reference.name, &reference.secret_name, &reference.secret_key) {
                (Some(name), Some(secret), Some(key)) => {
                    variables.push(json!({ "name": name, "valueFrom": container::reference(secret, key) }));
                }
                _ => {
                    let hint = "add its name, secret_name and secret_key";
                    return Err(Refused::new("a secret reference is incomplete", hint));
                }
            }
        }
        Ok(variables)
    }
}

/// The check of the server in the image.
pub(super) fn own_check() -> Value {
    json!({ "exec": { "command": server::HEALTHCHECK } })
}

/// The Secret and the ConfigMap, which takes precedence. Without known variables, the Secret may be absent.
fn sources(scope: &Scope<'_>) -> Value {
    let optional = scope.variables.is_empty().then_some(true);
    json!([
        { "secretRef": { "name": scope.name(secrets::VARIABLES), "optional": optional } },
        { "configMapRef": { "name": scope.name("config") } },
    ])
}

/// The probes of the start, of readiness and of liveness, with the times of the setup.
fn probes(check: &Value) -> (Value, Value, Value) {
    let probe = |period: u32, failures: u32| {
        let mut probe = check.clone();
        probe["periodSeconds"] = period.into();
        probe["timeoutSeconds"] = setup::TIMEOUT.into();
        probe["failureThreshold"] = failures.into();
        probe
    };
    let start = setup::SERVER_START_PERIOD / setup::INTERVAL + setup::RETRIES;
    (
        probe(setup::INTERVAL, start),
        probe(setup::INTERVAL, setup::RETRIES),
        probe(setup::INTERVAL * LIVENESS_FACTOR, setup::RETRIES),
    )
}

/// The user's containers that run before `main`, and those beside it.
pub(super) fn others(scope: &Scope<'_>) -> Result<(Vec<Value>, Vec<Value>), Refused> {
    let resources = &scope.request.resources;
    let sidecars = || resources.sidecars.iter().flatten();
    let made = |spec: &ContainerSpec| container::container(scope, spec);
    let first = resources.init_containers.iter().flatten();
    let first = first.chain(sidecars().filter(|spec| container::is_sidecar(spec)));
    let beside = sidecars().filter(|spec| !container::is_sidecar(spec));
    Ok((first.map(made).collect::<Result<_, _>>()?, beside.map(made).collect::<Result<_, _>>()?))
}

/// The member `template` of a workload, or of a Job.
pub(super) fn template(
    scope: &Scope<'_>,
    component: &str,
    containers: Vec<Value>,
    init_containers: Vec<Value>,
) -> Result<Value, Refused> {
    let resources = &scope.request.resources;
    let configuration = json!([scope.settings(), scope.request.configuration]);
    // The token of the service account is mounted only if the user chose the account.
    let mounts_token = resources.service_account_name.is_none().then_some(false);
    Ok(json!({
        "metadata": {
            "labels": metadata::labels(scope, component)?,
            "annotations": metadata::annotations(scope, [("checksum/config", digest(&configuration))])?,
        },
        "spec": {
            "serviceAccountName": resources.service_account_name,
            "automountServiceAccountToken": mounts_token,
            // The variables of service links could be taken for settings.
            "enableServiceLinks": false,
            "imagePullSecrets": resources.image_pull_secrets,
            "terminationGracePeriodSeconds": scope.grace_period(),
            "initContainers": (!init_containers.is_empty()).then_some(init_containers),
            "containers": containers,
            "volumes": resources.volumes,
        },
    }))
}
