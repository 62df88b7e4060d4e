//! The events of a deployment, and the interface to its caller.

use super::shipment::NewRevision;
use crate::api::wire::{Deployment, LogEntry};
use crate::engine::BuildReporter;
use crate::live::Event;

/// The caller of a deployment: it shows events and answers questions.
pub trait Hooks: BuildReporter {
    /// Asks the user whether to go on.
    fn confirm(&mut self, question: &str) -> impl Future<Output = bool>;
}

pub(super) fn found(deployment: &Deployment) -> Event {
    Event::Found { deployment_id: deployment.id.clone(), name: deployment.name.clone() }
}

pub(super) fn log_entry(entry: LogEntry) -> Event {
    Event::Entry {
        time: entry.timestamp.as_ref().map(ToString::to_string),
        level: entry.level.map(|level| level.word().to_owned()),
        message: entry.message.unwrap_or_default(),
    }
}

pub(super) fn result(status: &'static str, new: &NewRevision, url: Option<String>) -> Event {
    Event::Result {
        status,
        name: new.deployment.name.clone(),
        deployment_id: new.deployment.id.clone(),
        revision_id: new.id.clone(),
        url,
    }
}
