//! The state of the service: deployments, revisions and logs, in memory. `impl Store` is the interface that a durable store
//! would have.

use std::sync::Mutex;

use agentcli::api::wire::{
    Deployment, DeploymentStatus, LogEntry, LogLevel, Object, Revision, RevisionStatus, Timestamp,
};

use super::lock;
use agentcli::api::time;

/// Maximum number of entries of a log; the oldest are removed.
const LOG_LENGTH: usize = 10_000;

/// Deployments, oldest first.
#[derive(Default)]
pub(super) struct Store(Mutex<State>);

#[derive(Default)]
struct State {
    deployments: Vec<Record>,
    /// Number of log entries ever written.
    entries: u64,
}

/// A deployment with its revisions and logs.
pub(super) struct Record {
    pub(super) deployment: Deployment,
    /// UUIDs of its tag values, which responses omit.
    pub(super) tags: Vec<String>,
    /// Oldest first.
    revisions: Vec<Made>,
}

struct Made {
    revision: Revision,
    build: Vec<Line>,
    deploy: Vec<Line>,
}

/// The type of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogKind {
    Build,
    Deploy,
}

/// A log entry. Numbers increase over all logs.
#[derive(Clone)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) milliseconds: i64,
    pub(super) level: LogLevel,
    pub(super) message: String,
}

impl Line {
    /// The entry in responses.
    pub(super) fn entry(self) -> LogEntry {
        LogEntry {
            id: Some(format!("{:016x}", self.number)),
            timestamp: Some(Timestamp::Milliseconds(self.milliseconds)),
            level: Some(self.level),
            message: Some(self.message),
            other: Object::new(),
        }
    }
}

/// The reason to refuse a deployment.
pub(super) enum Taken {
    /// Its name is in use.
    Name,
    /// Its agent has a deployment in its environment.
    Agent,
}

impl Store {
    /// Adds a deployment unless its name or agent is in use.
    pub(super) fn create(&self, deployment: Deployment, tags: Vec<String>) -> Result<(), Taken> {
        let mut state = lock(&self.0);
        let agent = deployment.other.get("agent");
        for Record { deployment: known, .. } in &state.deployments {
            if known.name == deployment.name {
                return Err(Taken::Name);
            }
            if agent.is_some() && agent == known.other.get("agent") {
                return Err(Taken::Agent);
            }
        }
        state.deployments.push(Record { deployment, tags, revisions: Vec::new() });
        Ok(())
    }

    /// A deployment.
    pub(super) fn get(&self, id: &str) -> Option<Deployment> {
        lock(&self.0).record(id).map(|record| record.deployment.clone())
    }

    /// The deployments that `wanted` selects, newest first.
    pub(super) fn list(
        &self,
        wanted: impl Fn(&Record) -> bool,
        offset: usize,
        limit: usize,
    ) -> Vec<Deployment> {
        let state = lock(&self.0);
        let found = state.deployments.iter().rev().filter(|record| wanted(record)).skip(offset).take(limit);
        found.map(|record| record.deployment.clone()).collect()
    }

    /// Changes a deployment, unless `change` fails.
    pub(super) fn change<T, E>(
        &self,
        id: &str,
        change: impl FnOnce(&mut Deployment) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut state = lock(&self.0);
        let record = state.record_mut(id)?;
        let mut changed = record.deployment.clone();
        let done = change(&mut changed);
        if done.is_ok() {
            changed.updated_at = time::now_as_text();
            record.deployment = changed;
        }
        Some(done)
    }

    /// Removes a deployment, and returns whether it existed.
    pub(super) fn delete(&self, id: &str) -> bool {
        let mut state = lock(&self.0);
        let before = state.deployments.len();
        state.deployments.retain(|record| record.deployment.id != id);
        state.deployments.len() < before
    }

    /// Adds a revision as the latest, and returns its number in its deployment, from 1.
    pub(super) fn add_revision(&self, deployment: &str, revision: Revision) -> Option<u64> {
        let mut state = lock(&self.0);
        let record = state.record_mut(deployment)?;
        record.deployment.latest_revision_id = Some(revision.id.clone());
        record.deployment.source_revision_config = revision.source_revision_config.clone();
        record.revisions.push(Made { revision, build: Vec::new(), deploy: Vec::new() });
        Some(record.revisions.len() as u64)
    }

    /// A revision of a deployment.
    pub(super) fn revision(&self, deployment: &str, id: &str) -> Option<Revision> {
        let mut state = lock(&self.0);
        state.made(deployment, id).map(|made| made.revision.clone())
    }

    /// The revisions of a deployment that `wanted` selects, newest first.
    pub(super) fn revisions(
        &self,
        deployment: &str,
        wanted: impl Fn(&Revision) -> bool,
        offset: usize,
        limit: usize,
    ) -> Vec<Revision> {
        let state = lock(&self.0);
        let made = state.record(deployment).map_or(&[][..], |record| &record.revisions);
        let found = made.iter().rev().map(|made| &made.revision).filter(|revision| wanted(revision));
        found.skip(offset).take(limit).cloned().collect()
    }

    /// Paths of the archives of the latest and the active revision of a deployment.
    pub(super) fn archives(&self, deployment: &Deployment) -> Vec<String> {
        let ids = [&deployment.latest_revision_id, &deployment.active_revision_id];
        let revisions = ids.into_iter().flatten().filter_map(|id| self.revision(&deployment.id, id));
        revisions.filter_map(|revision| revision.source_revision_config.source_tarball_path).collect()
    }

    /// Changes the status of a revision unless it is final or the revision was removed; returns whether it changed.
    pub(super) fn advance(&self, deployment: &str, id: &str, status: RevisionStatus) -> bool {
        let mut state = lock(&self.0);
        let Some(made) = state.made(deployment, id).filter(|made| !made.revision.status.is_final()) else {
            return false;
        };
        made.revision.status = status.clone();
        made.revision.updated_at = time::now_as_text();
        if let (RevisionStatus::Deployed, Some(record)) = (status, state.record_mut(deployment)) {
            record.deployment.active_revision_id = Some(id.to_owned());
            record.deployment.status = DeploymentStatus::Ready;
            record.deployment.updated_at = time::now_as_text();
        }
        true
    }

    /// Adds a log entry.
    pub(super) fn log(&self, deployment: &str, id: &str, kind: LogKind, level: LogLevel, message: &str) {
        let mut state = lock(&self.0);
        state.entries += 1;
        let number = state.entries;
        let Some(made) = state.made(deployment, id) else { return };
        let log = match kind {
            LogKind::Build => &mut made.build,
            LogKind::Deploy => &mut made.deploy,
        };
        if log.len() == LOG_LENGTH {
            log.remove(0);
        }
        log.push(Line { number, milliseconds: time::now(), level, message: message.to_owned() });
    }

    /// The entries of a revision, or of all revisions of a deployment, that `wanted` selects, oldest first.
    pub(super) fn read_log(
        &self,
        deployment: &str,
        revision: Option<&str>,
        kind: LogKind,
        wanted: impl Fn(&Line) -> bool,
    ) -> Vec<Line> {
        let state = lock(&self.0);
        let made = state.record(deployment).map_or(&[][..], |record| &record.revisions);
        let made = made.iter().filter(|made| revision.is_none_or(|id| made.revision.id == id));
        let lines = made.flat_map(|made| match kind {
            LogKind::Build => &made.build,
            LogKind::Deploy => &made.deploy,
        });
        let mut lines: Vec<Line> = lines.filter(|line| wanted(line)).cloned().collect();
        lines.sort_by_key(|line| line.number);
        lines
    }
}

impl State {
    fn record(&self, id: &str) -> Option<&Record> {
        self.deployments.iter().find(|record| record.deployment.id == id)
    }

    fn record_mut(&mut self, id: &str) -> Option<&mut Record> {
        self.deployments.iter_mut().find(|record| record.deployment.id == id)
    }

    fn made(&mut self, deployment: &str, id: &str) -> Option<&mut Made> {
        self.record_mut(deployment)?.revisions.iter_mut().find(|made| made.revision.id == id)
    }
}
