//! The end of a run: what it is to stop is stopped.

use std::time::Duration;

use super::error::Error;
use super::labels;
use super::stop::{GRACE, is_running, service, stop};
use super::supervise::Run;
use crate::engine::Container;
use crate::live::Stop;
use crate::live::{Change, Event};

/// How long what is being started may take before it is ended, when all is to end at once.
const LAST_CHANGES: Duration = Duration::from_secs(2);

/// How often it is looked whether something started meanwhile, when all is to end at once.
const LAST_LOOKS: usize = 5;

impl Run<'_> {
    /// Stops all containers if this run owns the project, otherwise those that it started. Kills them once forced to.
    pub(super) async fn end(&mut self, stop: &Stop) -> Result<(), Error> {
        let done = match stop.unless_forced(self.stop()).await {
            Ok(stopped) => stopped,
            Err(_) => self.kill().await,
        };
        if done.is_ok() {
            self.hooks.event(&Event::Stopped);
        }
        done
    }

    async fn stop(&mut self) -> Result<(), Error> {
        self.changes.settled(GRACE).await;
        let ours = self.to_stop().await?;
        let tell = |service: &str| self.hooks.event(&stopped(service));
        Ok(stop(&self.engine, &ours, tell).await?)
    }

    async fn kill(&mut self) -> Result<(), Error> {
        for _ in 0..LAST_LOOKS {
            // What the engine was asked to start before is started still.
            self.changes.settled(LAST_CHANGES).await;
            let running: Vec<Container> = self.to_stop().await?.into_iter().filter(is_running).collect();
            if running.is_empty() {
                break;
            }
            for container in running {
                self.engine.kill(&container.id).await?;
                self.hooks.event(&stopped(service(&container)));
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
        Ok(self.there().await?.into_iter().filter(|it| is_ours(it) && counts(it)).collect())
    }
}

fn stopped(service: &str) -> Event {
    Event::Service { service: service.to_owned(), change: Change::Stopped }
}
