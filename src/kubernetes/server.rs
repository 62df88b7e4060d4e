//! The server and its queue workers.

use serde_json::{Value, json};

use super::compute::{Compute, Scale, claim};
use super::pod::{self, Main};
use super::{Refused, Scope, metadata};
use crate::api::wire::ResourceSpec;
use crate::compiler::product::USER;
use crate::compiler::server::{self, cluster};

/// Port of the Service.
const SERVICE_PORT: u16 = 80;

/// The component of the server's objects.
pub(super) const SERVER: &str = "server";

/// Whether a field of the queue workers is set.
pub(super) fn has_queue(it: &ResourceSpec) -> bool {
    it.queue_min_scale.or(it.queue_max_scale).is_some()
        || it.queue_cpu.or(it.queue_cpu_limit).is_some()
        || it.queue_memory_mb.or(it.queue_memory_limit_mb).is_some()
}

/// The Service, the Deployments and their autoscalers.
pub(super) fn server(scope: &Scope<'_>, notes: &mut Vec<String>) -> Result<Vec<Value>, Refused> {
    let it = &scope.request.resources;
    let scale = Scale::new("", (it.min_scale, it.max_scale), notes)?;
    let mut objects = vec![service(scope, &scope.request.name, SERVER, (pod::PORT, SERVICE_PORT))?];
    objects.extend(workload(scope, &scope.request.name, SERVER, &main(scope, compute(it)), scale)?);
    if scope.has_queue {
        let compute = queue_compute(it);
        let (min, max) = (it.queue_min_scale.or(it.min_scale), it.queue_max_scale.or(it.max_scale));
        let scale = Scale::new("queue_", (min, max), notes)?;
        let port = server::PORT;
        let queue = Main {
            name: "queue",
            command: cluster::QUEUE_COMMAND,
            variables: Vec::new(),
            check: json!({ "httpGet": { "path": cluster::QUEUE_HEALTH, "port": port } }),
            has_service: false,
            compute: ("queue_", compute),
            ..main(scope, compute)
        };
        objects.extend(workload(scope, &scope.name("queue"), "queue", &queue, scale)?);
    }
    Ok(objects)
}

/// The Service and the StatefulSet of a server that keeps its state in the directory `path`: it runs alone.
pub(super) fn alone(scope: &Scope<'_>, volume: &str, path: &str) -> Result<Vec<Value>, Refused> {
    let it = &scope.request.resources;
    let is_scaled = [it.min_scale, it.max_scale].into_iter().flatten().any(|scale| scale > 1);
    if is_scaled || scope.has_queue || scope.is_distributed {
        let message =
            format!("the server `{}` runs as one replica, without queue workers", scope.request.server.name);
        return Err(Refused::new(message, "change the resources, or choose another server with --server"));
    }
    let (before, beside) = pod::others(scope)?;
    let mut container = main(scope, compute(it)).container(scope)?;
    let mount = json!({ "name": volume, "mountPath": path });
    let mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
    container["volumeMounts"] = [mounts, vec![mount]].concat().into();
    let mut template = pod::template(scope, SERVER, [vec![container], beside].concat(), before)?;
    // The group owns the files of the volume.
    template["spec"]["securityContext"] = json!({ "fsGroup": USER });
    let name = scope.request.name.clone();
    let mut object = metadata::object(scope, ("apps/v1", "StatefulSet"), name.clone(), SERVER)?;
    object["spec"] = json!({
        "replicas": 1,
        "serviceName": name,
        "selector": { "matchLabels": metadata::selector(scope, SERVER) },
        "template": template,
        "volumeClaimTemplates": [claim(scope, volume)?],
    });
    Ok(vec![service(scope, &name, SERVER, (pod::PORT, SERVICE_PORT))?, object])
}

/// The container of the server. It executes runs unless other processes do.
pub(super) fn main<'a>(scope: &Scope<'a>, compute: Compute) -> Main<'a> {
    let leaves_runs = scope.has_queue || scope.is_distributed;
    Main {
        name: SERVER,
        image: &scope.request.image,
        command: &[],
        variables: leaves_runs.then(|| (cluster::JOBS_VARIABLE, "0".to_owned())).into_iter().collect(),
        port: (pod::PORT, server::PORT),
        check: pod::own_check(),
        has_service: true,
        compute: ("", compute),
    }
}

/// Compute resources of the server.
pub(super) fn compute(it: &ResourceSpec) -> Compute {
    Compute { cpu: it.cpu, cpu_limit: it.cpu_limit, memory: it.memory_mb, memory_limit: it.memory_limit_mb }
}

fn queue_compute(it: &ResourceSpec) -> Compute {
    let own = Compute {
        cpu: it.queue_cpu,
        cpu_limit: it.queue_cpu_limit,
        memory: it.queue_memory_mb,
        memory_limit: it.queue_memory_limit_mb,
    };
    own.or(compute(it))
}

/// A Deployment with the user's containers, and its autoscaler.
pub(super) fn workload(
    scope: &Scope<'_>,
    name: &str,
    component: &str,
    main: &Main<'_>,
    scale: Scale,
) -> Result<Vec<Value>, Refused> {
    let (before, beside) = pod::others(scope)?;
    let containers = [vec![main.container(scope)?], beside].concat();
    let mut object = metadata::object(scope, ("apps/v1", "Deployment"), name.to_owned(), component)?;
    object["spec"] = json!({
        "replicas": scale.replicas(),
        "selector": { "matchLabels": metadata::selector(scope, component) },
        "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
        "template": pod::template(scope, component, containers, before)?,
    });
    let (prefix, compute) = main.compute;
    let autoscaler = scale.autoscaler(scope, (name, component), (prefix, compute.cpu))?;
    Ok([object].into_iter().chain(autoscaler).collect())
}

/// A Service for the pods of `component`, and its port for their port called `name`.
pub(super) fn service(
    scope: &Scope<'_>,
    name: &str,
    component: &str,
    (port_name, port): (&str, u16),
) -> Result<Value, Refused> {
    let mut object = metadata::object(scope, ("v1", "Service"), name.to_owned(), component)?;
    object["spec"] = json!({
        "selector": metadata::selector(scope, component),
        "ports": [{ "name": port_name, "port": port, "targetPort": port_name }],
    });
    Ok(object)
}
