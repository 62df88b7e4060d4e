//! What a command asks for.

use std::time::Duration;

use indexmap::IndexMap;

use super::Record;
use crate::api::wire::Redacted;

/// A new revision. There is no `Debug`: it holds values of secrets.
pub struct Change {
    /// Name of the deployment.
    pub name: String,
    /// What the revision is made from; its image is empty until it is built.
    pub record: Record,
    /// Secret variables to set, or to remove.
    pub secrets: IndexMap<String, Option<Redacted>>,
    /// The Secret with the values of variables of containers, if they are given.
    pub containers: Option<(String, IndexMap<String, Redacted>)>,
    /// Whether a revision is made even if nothing changes.
    pub is_forced: bool,
    /// Whether the deployment goes back to the revision before if this one does not start.
    pub is_atomic: bool,
    /// Timeout for the revision to be deployed; without one, the run does not wait.
    pub wait: Option<Duration>,
    /// Whether to report the planned changes without applying them.
    pub is_dry_run: bool,
}
