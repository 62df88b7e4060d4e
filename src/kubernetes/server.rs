//! The server and its queue workers.

use serde_json::{Value, json};

use super::compute::{Scale, claim};
use super::pod::{self, Main};
use super::{Refused, Scope, metadata};
use crate::api::wire::Tier;
use crate::compiler::server::product::USER;
use crate::compiler::server::{self, cluster};

/// Port of the Service.
const SERVICE_PORT: u16 = 80;

/// The component of the server's objects.
pub(super) const SERVER: &str = "server";

/// The Service, the Deployments and their autoscalers.
pub(super) fn server(scope: &Scope<'_>, notes: &mut Vec<String>) -> Result<Vec<Value>, Refused> {
    let own = scope.request.resources.tier(Tier::Server);
    let scale = Scale::new(Tier::Server, own, notes)?;
    let mut objects = vec![service(scope, &scope.request.name, SERVER, (pod::PORT, SERVICE_PORT))?];
    objects.extend(workload(scope, &scope.request.name, SERVER, &main(scope), scale)?);
    if scope.has_queue {
        let spec = scope.request.resources.tier(Tier::Queue).or(own);
        let scale = Scale::new(Tier::Queue, spec, notes)?;
        let port = server::PORT;
        let queue = Main {
            name: "queue",
            command: cluster::QUEUE_COMMAND,
            variables: Vec::new(),
            check: json!({ "httpGet": { "path": cluster::QUEUE_HEALTH, "port": port } }),
            has_service: false,
            resources: (Tier::Queue, spec),
            ..main(scope)
        };
        objects.extend(workload(scope, &scope.name("queue"), "queue", &queue, scale)?);
    }
    Ok(objects)
}

/// The Service and the StatefulSet of a server that keeps its state in the directory `path`: it runs alone.
pub(super) fn alone(scope: &Scope<'_>, volume: &str, path: &str) -> Result<Vec<Value>, Refused> {
    let (min, max) = scope.request.resources.tier(Tier::Server).scale;
    let is_scaled = [min, max].into_iter().flatten().any(|scale| scale > 1);
    if is_scaled || scope.has_queue || scope.is_distributed {
        let message =
            format!("the server `{}` runs as one replica, without queue workers", scope.request.server.name);
        return Err(Refused::new(message, "change the resources, or choose another server with --server"));
    }
    let (before, beside) = pod::others(scope)?;
    let mut container = main(scope).container(scope)?;
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
pub(super) fn main<'a>(scope: &Scope<'a>) -> Main<'a> {
    let leaves_runs = scope.has_queue || scope.is_distributed;
    Main {
        name: SERVER,
        image: &scope.request.image,
        command: &[],
        variables: leaves_runs.then(|| (cluster::JOBS_VARIABLE, "0".to_owned())).into_iter().collect(),
        port: (pod::PORT, server::PORT),
        check: pod::own_check(),
        has_service: true,
        resources: (Tier::Server, scope.request.resources.tier(Tier::Server)),
    }
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
    let autoscaler = scale.autoscaler(scope, (name, component), main.resources)?;
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
