//! The end of a run: its containers are stopped.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::error::Error;
use super::labels;
use super::run::Run;
use super::stop::{GRACE, is_running, service, stop};
use crate::engine::{Container, Engine, State};
use crate::live::{Change, Event, Stop};

/// Time for changes that are under way to finish before containers are killed.
const LAST_CHANGES: Duration = Duration::from_secs(2);

/// Number of times that containers are killed: some may be started meanwhile.
const KILL_ROUNDS: usize = 20;

/// Pause between two such times.
const BETWEEN_KILLS: Duration = Duration::from_millis(100);

/// Time within which the engine has to respond while containers are stopped, and the interval between these checks.
const RESPONSE: Duration = Duration::from_secs(7);
const CHECK: Duration = Duration::from_millis(500);

impl Run<'_> {
    /// Stops all containers if this run owns the project, otherwise those that it started. Kills them once forced to, or after
    /// the grace period: they are stopped one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::NotStopped`] if the engine stops responding; the engine refuses or disconnects.
    pub(super) async fn end(&mut self, stop: &Stop) -> Result<(), Error> {
        let (engine, project) = (self.engine.clone(), self.session.setup.name.clone());
        let ending = async {
            match stop.unless_forced(timeout(GRACE, self.stop())).await {
                Ok(Ok(stopped)) => stopped,
                _ => self.kill().await,
            }
        };
        while_responsive(&engine, &project, ending).await??;
        self.hooks.event(&Event::Stopped);
        Ok(())
    }

    async fn stop(&mut self) -> Result<(), Error> {
        self.changes.finished(GRACE).await;
        let ours = self.to_stop().await?;
        Ok(stop(&self.engine, &ours, self.hooks).await?)
    }

    async fn kill(&mut self) -> Result<(), Error> {
        for _ in 0..KILL_ROUNDS {
            // The engine still starts what it was asked to start before.
            self.changes.finished(LAST_CHANGES).await;
            let running: Vec<Container> = self.to_stop().await?.into_iter().filter(is_running).collect();
            if running.is_empty() {
                break;
            }
            for container in running {
                self.engine.kill(&container.id).await?;
                self.hooks.service(service(&container), Change::Stopped);
            }
        }
        Ok(())
    }

    async fn to_stop(&self) -> Result<Vec<Container>, Error> {
        if !self.owns_all && self.started.is_empty() {
            return Ok(Vec::new());
        }
        let directory = self.session.directory.display().to_string();
        let is_ours = |it: &Container| {
            it.labels.contains_key(labels::OURS) && it.labels.get(labels::DIRECTORY) == Some(&directory)
        };
        let counts = |it: &Container| self.owns_all || self.started.contains(service(it));
        Ok(self.containers().await?.into_iter().filter(|it| is_ours(it) && counts(it)).collect())
    }
}

/// Kills the containers of a project, whoever started them.
///
/// # Errors
///
/// The engine refuses or disconnects.
pub async fn kill(engine: &Engine, project: &str) -> Result<(), Error> {
    for round in 0..KILL_ROUNDS {
        let containers = engine.containers(labels::PROJECT, project).await?;
        // The engine still starts what it was asked to start before.
        if round > 0 && !containers.iter().any(|it| is_running(it) || it.state == State::Created) {
            break;
        }
        for container in containers.iter().filter(|it| is_running(it)) {
            engine.kill(&container.id).await?;
        }
        sleep(BETWEEN_KILLS).await;
    }
    Ok(())
}

/// Waits for `work`, in which containers are stopped, as long as the engine responds.
///
/// # Errors
///
/// [`Error::NotStopped`] if it no longer does; `work` is dropped.
pub async fn while_responsive<T>(
    engine: &Engine,
    project: &str,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let unresponsive = async {
        while timeout(RESPONSE, engine.containers(labels::PROJECT, project)).await.is_ok() {
            sleep(CHECK).await;
        }
    };
    tokio::select! {
        done = work => Ok(done),
        () = unresponsive => Err(Error::NotStopped { after: RESPONSE }),
    }
}
