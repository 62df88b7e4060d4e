//! The migrations of a deployment's database, for servers that do not run them when they start: a container that ends before
//! that of the server is created.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use agentcli::engine::{Container, ContainerSpec, Engine, State};

use super::labels::{self, label};
use super::{Failure, LAST_LINES, with_cause};

/// Time that they may take, and the pause between checks.
const LIMIT: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(200);

/// The label of their containers.
const MIGRATIONS: &str = "agentcli.migrations";

/// Runs `command` in a container like that of the server, and waits for its end. One that an earlier act started is waited
/// for, too. Commands of several replicas take turns by themselves.
pub(super) async fn run(
    engine: &Engine,
    deployment: &str,
    server: &ContainerSpec,
    command: &[&str],
) -> Result<(), Failure> {
    let name = format!("{}-migrations", server.name);
    let mut labels = server.labels.clone();
    labels.retain(|(label, _)| label != labels::REVISION && label != labels::REPLICA);
    labels.push(label(MIGRATIONS, deployment));
    let spec = ContainerSpec {
        name: name.clone(),
        command: Some(command.iter().map(|&word| word.to_owned()).collect()),
        labels,
        ports: Vec::new(),
        ..server.clone()
    };
    let deadline = Instant::now() + LIMIT;
    let mut state = state(engine, deployment, &name).await?;
    if !matches!(state, Some(State::Running(_))) {
        engine.remove(&name).await?;
        engine.create(&spec).await?;
        engine.start_container(&name, &[]).await?;
        state = Some(State::Running(None));
    }
    while matches!(state, Some(State::Running(_))) && Instant::now() < deadline {
        sleep(PAUSE).await;
        state = self::state(engine, deployment, &name).await?;
    }
    let lines = engine.last_lines(&name, LAST_LINES).await.unwrap_or_default();
    let failure = match state {
        Some(State::Exited) => match engine.failure(&name).await?.exit_code {
            0 => None,
            code => Some(format!("the migrations of the database ended with exit code {code}")),
        },
        Some(State::Running(_)) => {
            Some(format!("the migrations of the database did not end within {} s", LIMIT.as_secs()))
        }
        _ => return Err(Failure::Unavailable("the migrations of the database were interrupted".to_owned())),
    };
    engine.remove(&name).await?;
    failure.map_or(Ok(()), |reason| Err(Failure::Refused(with_cause(&reason, &lines))))
}

/// Removes what an interrupted act left of a deployment.
pub(super) async fn remove(engine: &Engine, deployment: &str) -> Result<(), Failure> {
    for container in engine.containers(MIGRATIONS, deployment).await? {
        engine.remove(&container.name).await?;
    }
    Ok(())
}

async fn state(engine: &Engine, deployment: &str, name: &str) -> Result<Option<State>, Failure> {
    let all = engine.containers(MIGRATIONS, deployment).await?;
    Ok(all.into_iter().find(|container: &Container| container.name == name).map(|found| found.state))
}
