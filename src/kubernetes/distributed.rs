//! The distributed runtime: an orchestrator, and executors with the user's code.

use serde_json::{Value, json};

use super::compute::Scale;
use super::pod::Main;
use super::{Refused, Scope, server};
use crate::api::wire::Tier;
use crate::compiler::server::cluster;

/// Name of the ports of its gRPC servers.
const PORT: &str = "grpc";

/// Its Services, Deployments and autoscalers, if it is asked for.
pub(super) fn objects(scope: &Scope<'_>, notes: &mut Vec<String>) -> Result<Vec<Value>, Refused> {
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
    let main = |tier, name, image, port| Main {
        name,
        image,
        command: &[],
        variables: Vec::new(),
        port: (PORT, port),
        check: json!({ "tcpSocket": { "port": port } }),
        has_service: true,
        resources: (tier, scope.request.resources.tier(tier)),
    };
    let mut variables = vec![
        (cluster::EXECUTOR_PORT_VARIABLE, cluster::EXECUTOR_PORT.to_string()),
        (cluster::ORCHESTRATOR_TARGET, address(&orchestrator, cluster::ORCHESTRATOR_PORT)),
    ];
    variables.extend(cluster::EXECUTOR_VARIABLES.iter().map(|&(name, value)| (name, value.to_owned())));
    let orchestrating = Main {
        variables: vec![(cluster::EXECUTOR_TARGET, address(&executor, cluster::EXECUTOR_PORT))],
        ..main(Tier::Orchestrator, "orchestrator", cluster::ORCHESTRATOR_IMAGE, cluster::ORCHESTRATOR_PORT)
    };
    let executing = Main {
        command: cluster::EXECUTOR_COMMAND,
        variables,
        ..main(Tier::Executor, "executor", image, cluster::EXECUTOR_PORT)
    };
    let parts = [(orchestrating, orchestrator), (executing, executor)];
    let mut objects = Vec::new();
    for (main, name) in parts {
        let (tier, spec) = main.resources;
        let scale = Scale::new(tier, spec, notes)?;
        objects.push(server::service(scope, &name, main.name, main.port)?);
        objects.extend(server::workload(scope, &name, main.name, &main, scale)?);
    }
    Ok(objects)
}
