//! The distributed runtime: an orchestrator, and executors with the user's code.

use serde_json::{Value, json};

use super::compute::{Compute, Scale};
use super::pod::Main;
use super::{Refused, Scope, server};
use crate::api::wire::ResourceSpec;
use crate::compiler::server::cluster;

/// Name of the ports of its gRPC servers.
const PORT: &str = "grpc";

/// Whether a field of the orchestrator or of the executors is set.
pub(super) fn is_asked_for(it: &ResourceSpec) -> bool {
    let scales =
        [it.orchestrator_min_scale, it.orchestrator_max_scale, it.executor_min_scale, it.executor_max_scale];
    let cpus = [it.orchestrator_cpu, it.orchestrator_cpu_limit, it.executor_cpu, it.executor_cpu_limit];
    let memories = [
        it.orchestrator_memory_mb,
        it.orchestrator_memory_limit_mb,
        it.executor_memory_mb,
        it.executor_memory_limit_mb,
    ];
    scales.iter().any(Option::is_some)
        || cpus.iter().any(Option::is_some)
        || memories.iter().any(Option::is_some)
}

/// Its Services, Deployments and autoscalers, if it is asked for.
pub(super) fn objects(scope: &Scope<'_>, notes: &mut Vec<String>) -> Result<Vec<Value>, Refused> {
    let it = &scope.request.resources;
    if !scope.is_distributed {
        return Ok(Vec::new());
    }
    let (orchestrator, executor) = (scope.name("orchestrator"), scope.name("executor"));
    let address = |name: &str, port: u16| format!("{name}:{port}");
    let image = scope.request.executor_image.as_deref().ok_or_else(|| {
        Refused::new(
            "the orchestrator and the executors need an image of the executors",
            format!(
                "build it with `agentcli build --base-image {} -t IMAGE`, and pass --executor-image IMAGE",
                cluster::EXECUTOR_IMAGE
            ),
        )
    })?;
    let main = |name, image, port| Main {
        name,
        image,
        command: &[],
        variables: Vec::new(),
        port: (PORT, port),
        check: json!({ "tcpSocket": { "port": port } }),
        has_service: true,
        compute: ("", Compute::default()),
    };
    let mut variables = vec![
        (cluster::EXECUTOR_PORT_VARIABLE, cluster::EXECUTOR_PORT.to_string()),
        (cluster::ORCHESTRATOR_TARGET, address(&orchestrator, cluster::ORCHESTRATOR_PORT)),
    ];
    variables.extend(cluster::EXECUTOR_VARIABLES.iter().map(|&(name, value)| (name, value.to_owned())));
    let orchestrating = Main {
        variables: vec![(cluster::EXECUTOR_TARGET, address(&executor, cluster::EXECUTOR_PORT))],
        compute: (
            "orchestrator_",
            Compute {
                cpu: it.orchestrator_cpu,
                cpu_limit: it.orchestrator_cpu_limit,
                memory: it.orchestrator_memory_mb,
                memory_limit: it.orchestrator_memory_limit_mb,
            },
        ),
        ..main("orchestrator", cluster::ORCHESTRATOR_IMAGE, cluster::ORCHESTRATOR_PORT)
    };
    let executing = Main {
        command: cluster::EXECUTOR_COMMAND,
        variables,
        compute: (
            "executor_",
            Compute {
                cpu: it.executor_cpu,
                cpu_limit: it.executor_cpu_limit,
                memory: it.executor_memory_mb,
                memory_limit: it.executor_memory_limit_mb,
            },
        ),
        ..main("executor", image, cluster::EXECUTOR_PORT)
    };
    let parts = [
        (orchestrating, orchestrator, (it.orchestrator_min_scale, it.orchestrator_max_scale)),
        (executing, executor, (it.executor_min_scale, it.executor_max_scale)),
    ];
    let mut objects = Vec::new();
    for (main, name, scale) in parts {
        let scale = Scale::new(main.compute.0, scale, notes)?;
        objects.push(server::service(scope, &name, main.name, main.port)?);
        objects.extend(server::workload(scope, &name, main.name, &main, scale)?);
    }
    Ok(objects)
}
