//! The container engine.

use std::future::Future;

use tokio::time::timeout;

use super::check::{Check, Group, Subject, Task};
use super::local::TIMEOUT;
use super::{Request, blocking, clock, disk};
use crate::api::time;
use crate::engine::{Description, Engine, Error, has_login};
use crate::up;

/// The tasks that need an engine.
pub(super) const TASKS: &[Task] = &[Task::Build, Task::Up, Task::Deploy];

const fn subject(id: &'static str, name: &'static str) -> Subject {
    Subject { id, name, group: Group::Containers, needed_by: TASKS }
}

static ENGINE: Subject = subject("engine", "Engine");
static BUILDKIT: Subject = subject("buildkit", "BuildKit");
static REGISTRY: Subject = subject("registry", "Registry login");
static PORT: Subject =
    Subject { id: "up-port", name: "Port of up", group: Group::Containers, needed_by: &[Task::Up] };

pub(super) async fn checks(request: &Request) -> Vec<Check> {
    let (engine, registry) = tokio::join!(engine(request), registry(request));
    engine.into_iter().chain(registry).collect()
}

async fn engine(request: &Request) -> Vec<Check> {
    let failed = |error: &Error| {
        let help = error.hint().unwrap_or_else(|| "check the engine with `docker info`".to_owned());
        ENGINE.missing(error.to_string(), help)
    };
    let engine = match Engine::connect_within(&request.engine, TIMEOUT).await {
        Ok(engine) => engine,
        Err(error) => return vec![failed(&error)],
    };
    let (described, buildkit, port) = tokio::join!(
        within(engine.description()),
        within(engine.supports_buildkit()),
        within(up::check_default_port(&engine, &request.project, request.up_port)),
    );
    let description = match described {
        Some(Ok(description)) => description,
        Some(Err(error)) => return vec![failed(&error)],
        None => return vec![ENGINE.late(TIMEOUT)],
    };
    let Description { name, platform, data, time } = description;
    let mut checks = vec![ENGINE.fine(format!("{name} ({platform}) at {}", engine.shown_host()))];
    checks.push(match buildkit {
        Some(Ok(())) => BUILDKIT.fine("used for builds"),
        Some(Err(_)) => BUILDKIT.degraded(
            "not supported: builds work without --secret and --ssh",
            "use Docker for builds that need --secret or --ssh",
        ),
        None => BUILDKIT.unknown(TIMEOUT),
    });
    checks.push(match port {
        Some(Ok(())) => PORT.fine(format!("{} is free or used by this project", request.up_port)),
        Some(Err(error)) => PORT.missing(in_use(&error), "stop it, or choose another port with --port"),
        None => PORT.late(TIMEOUT),
    });
    if let Some(data) = data.filter(|_| engine.is_here()) {
        checks.extend(blocking(&disk::ENGINE, move || disk::engine(&data).into_iter().collect()).await);
    }
    let time = time.as_deref().and_then(time::parse);
    checks.extend(time.map(|time| clock::check("the engine", time)));
    checks
}

fn in_use(error: &up::Error) -> String {
    match error {
        up::Error::Port { port, holder, .. } => {
            format!("{port} is in use by {}", holder.as_deref().unwrap_or("another program"))
        }
        error => error.to_string(),
    }
}

/// The login of the registry of the base image.
async fn registry(request: &Request) -> Option<Check> {
    let image = &request.plan.as_ref()?.server.image;
    Some(match within(has_login(&request.engine, image)).await {
        Some((registry, Ok(true))) => REGISTRY.fine(format!("logged in to {registry}")),
        Some((registry, Ok(false))) => {
            REGISTRY.fine(format!("not logged in to {registry}, which public images do not need"))
        }
        Some((registry, Err(reason))) => REGISTRY
            .degraded(reason, format!("run `docker login {registry}`, or correct Docker's config.json")),
        None => REGISTRY.unknown(TIMEOUT),
    })
}

async fn within<T>(work: impl Future<Output = T>) -> Option<T> {
    timeout(TIMEOUT, work).await.ok()
}
