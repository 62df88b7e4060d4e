//! What a command asks for.

use std::time::Duration;

use indexmap::IndexMap;

use super::Record;
use crate::api::wire::Redacted;

/// The name of the Secret of the containers, and its values by key.
pub type ContainerValues = (String, IndexMap<String, Redacted>);

/// A new revision. There is no `Debug`: it holds values of secrets.
pub struct Change {
    /// Name of the deployment.
    pub name: String,
    /// The inputs of the revision; its image is empty until it is built.
    pub record: Record,
    /// Secret variables to set, or to remove.
    pub secrets: IndexMap<String, Option<Redacted>>,
    /// The Secret with the values of variables of containers, if they are given.
    pub containers: Option<ContainerValues>,
    /// Whether a revision is made even if nothing changes.
    pub is_forced: bool,
    /// Whether the deployment goes back to the revision before if this one does not start.
    pub is_atomic: bool,
    /// Timeout for the revision to be deployed; without one, the run does not wait.
    pub wait: Option<Duration>,
    /// Whether to report the planned changes without applying them.
    pub is_dry_run: bool,
}

impl Change {
    /// A revision with this record, and nothing else.
    pub fn new(name: String, record: Record, wait: Option<Duration>) -> Self {
        Self {
            name,
            record,
            secrets: IndexMap::new(),
            containers: None,
            is_forced: false,
            is_atomic: false,
            wait,
            is_dry_run: false,
        }
    }
}
