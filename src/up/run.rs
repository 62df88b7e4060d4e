//! One project that is run, and what this run has done.

use std::collections::HashSet;

use super::change::Changes;
use super::logs::Logs;
use super::rebuild::Rebuild;
use super::replaced::Replaced;
use super::session::{Hooks, Options, Session};
use super::turn::Turn;
use crate::engine::Engine;
use crate::live::Sources;

/// One project that is run.
pub(super) struct Run<'a> {
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) options: &'a Options,
    pub(super) hooks: &'a mut dyn Hooks,
    pub(super) changes: Changes,
    /// The services that did not run before this run started them.
    pub(super) started: HashSet<String>,
    /// The services whose containers this run created.
    pub(super) renewed: HashSet<String>,
    pub(super) replaced: Replaced,
    /// Whether everything runs on behalf of this run, and so ends with it.
    pub(super) owns_all: bool,
    /// Held while something is changed.
    pub(super) turn: Option<Turn>,
    pub(super) logs: Logs,
    pub(super) rebuild: Option<Rebuild>,
    /// A changed project whose build failed.
    pub(super) kept: Option<Session>,
    /// Whether the server exited, and a change is awaited.
    pub(super) is_server_down: bool,
    pub(super) is_ready: bool,
    pub(super) sources: Sources,
}
