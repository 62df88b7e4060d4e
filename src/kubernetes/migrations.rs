//! The Job that migrates the database.
//!
//! A server without a command for its migrations runs them when it starts, and answers its health check afterwards. So the
//! server of the image starts as a sidecar of the Job, which waits for its health check, and ends with the Job.

use serde_json::{Value, json};

use super::pod::{self, Main};
use super::{Refused, Scope, container, digest, metadata, server};
use crate::compiler::server::cluster;
use crate::compiler::server::product::State;

/// The component of the Job.
const MIGRATIONS: &str = "migrations";
/// Time until the Job fails, in seconds.
const DEADLINE: u32 = 900;

/// The Job. Its name has a digest of its pod, since the pod of a Job cannot change.
pub(super) fn job(scope: &Scope<'_>) -> Result<Value, Refused> {
    let variables =
        vec![(cluster::JOBS_VARIABLE, "0".to_owned()), (cluster::CRONS_VARIABLE, "false".to_owned())];
    let server = Main { variables, has_service: false, ..server::main(scope) };
    let (migrating, last) = match scope.request.server.state {
        State::Databases { migrations: Some(command) } => {
            let mut container = Main { command, name: MIGRATIONS, ..server }.container(scope)?;
            for member in ["ports", "startupProbe", "readinessProbe", "livenessProbe"] {
                container[member].take();
            }
            (None, container)
        }
        _ => {
            let mut migrating = server.container(scope)?;
            migrating["restartPolicy"] = "Always".into();
            let done = json!({ "name": "done", "image": scope.request.image, "command": ["true"] });
            (Some(migrating), done)
        }
    };
    let resources = &scope.request.resources;
    let first = resources.init_containers.iter().flatten().map(|spec| container::container(scope, spec));
    let beside = resources.sidecars.iter().flatten().map(|spec| container::beside_job(scope, spec));
    let mut before: Vec<Value> = first.chain(beside).collect::<Result<_, _>>()?;
    before.extend(migrating);
    let mut template = pod::template(scope, MIGRATIONS, vec![last], before)?;
    template["spec"]["restartPolicy"] = "OnFailure".into();
    let name = format!("{}-{}", scope.name(MIGRATIONS), digest(&template));
    let mut object = metadata::object(scope, ("batch/v1", "Job"), name, MIGRATIONS)?;
    object["spec"] = json!({ "activeDeadlineSeconds": DEADLINE, "template": template });
    Ok(object)
}
