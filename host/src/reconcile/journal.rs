//! The record that the reconciler reads and writes.

use futures_util::future::BoxFuture;

use agentcli::api::wire::LogLevel;

use super::state::{Desired, Phase};
use crate::runner::{BuildJob, Launch, PullJob};

/// A reading or writing of the record; the error is a fragment.
pub type Recorded<'a, T> = BoxFuture<'a, Result<T, String>>;

/// A durable record. Each writing is one transaction, and may be repeated.
pub trait Journal: Send + Sync + 'static {
    /// All deployments, deleted ones included until they are forgotten.
    fn desired(&self) -> Recorded<'_, Vec<Desired>>;
    /// Changes the phase of a revision if it is `from`; returns whether it was.
    fn advance(&self, change: PhaseChange) -> Recorded<'_, bool>;
    /// Makes `to` the active revision if `from` is and `to` is `DEPLOYING`; it becomes `DEPLOYED`, with no attempts and no
    /// error, and its server has this version. Returns whether they were.
    fn switch<'a>(
        &'a self,
        deployment: &'a str,
        from: Option<&'a str>,
        to: &'a str,
        version: Option<String>,
    ) -> Recorded<'a, bool>;
    /// Records the tag of the image of a revision, or that it is gone.
    fn set_image<'a>(&'a self, revision: &'a str, image: Option<String>) -> Recorded<'a, ()>;
    /// Records the number of failed attempts of a revision and, if there is one, the last error.
    fn set_attempts<'a>(
        &'a self,
        revision: &'a str,
        attempts: u32,
        error: Option<String>,
    ) -> Recorded<'a, ()>;
    /// Records that the image of the revision that this one repeats is gone.
    fn forget_kept<'a>(&'a self, revision: &'a str) -> Recorded<'a, ()>;
    /// Removes a deleted deployment.
    fn forget<'a>(&'a self, deployment: &'a str) -> Recorded<'a, ()>;
    /// The build of a revision.
    fn build_job<'a>(&'a self, revision: &'a str) -> Recorded<'a, BuildJob>;
    /// The pull of the image of a revision.
    fn pull_job<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, PullJob>;
    /// Records the name by which the image of a revision is about to be pulled.
    fn set_pulled<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, ()>;
    /// The names by which images of a deployment were pulled and pushed, and which no revision needs any more.
    fn unused_names<'a>(&'a self, deployment: &'a str) -> Recorded<'a, Vec<String>>;
    /// Records that one of these names is removed.
    fn forget_name<'a>(&'a self, deployment: &'a str, name: &'a str) -> Recorded<'a, ()>;
    /// The container of a replica of a revision.
    fn launch<'a>(&'a self, revision: &'a str, replica: u32) -> Recorded<'a, Launch>;
    /// Adds a line to the log of a revision. It must not block.
    fn log(&self, revision: &str, stage: Stage, level: LogLevel, line: &str);
    /// Adds a line of a container to the log of its revision, unless a line of that time or a later one was added and the
    /// clock was not set back. It must not block.
    fn log_output(&self, revision: &str, container: &str, output: Output);
    /// The time of the last line of a container, in nanoseconds since 1970; 0 without any.
    fn logged_until<'a>(&'a self, revision: &'a str, container: &'a str) -> Recorded<'a, i64>;
    /// Tells the operator of the host something, a fragment.
    fn notice(&self, message: &str);
}

/// A line of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The time at which the engine received it, in nanoseconds since 1970.
    pub time: i64,
    /// The line.
    pub text: String,
    /// Whether it is older than the line before it, since the clock was set back.
    pub is_set_back: bool,
}

/// A change of the phase of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseChange {
    /// ID of the revision.
    pub revision: String,
    /// Its present phase.
    pub from: Phase,
    /// Its next phase.
    pub to: Phase,
    /// The reason of a failure.
    pub reason: Option<String>,
}

/// The log of a revision that a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its build.
    Build,
    /// Its deployment and its containers.
    Deploy,
}
