//! The runner: does on the container engine what the reconciler decides.

pub(crate) mod allowed_images;
mod archive;
mod build;
pub(crate) mod code_host;
mod confined;
mod databases;
mod dockerfile;
mod down;
mod engine;
mod images;
mod labels;
mod lines;
mod migrations;
mod networks;
mod repository;
pub(crate) mod templates;
mod tree;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use agentcli::api::wire::LogLevel;
use agentcli::compiler::server;
use agentcli::compiler::server::product::Product;
use agentcli::dev;
use agentcli::engine::{EngineEnv, Login};

pub use allowed_images::AllowedImages;
pub use build::unpack;
pub use code_host::RepositoryAccess;
pub use databases::{CONNECTIONS, Databases};
pub use down::{Extent, Removed, down};
pub use engine::EngineRunner;
pub use labels::{container_name, image_tag};

/// The result of an act, which the runner's tests can replace.
pub type Act<'a, T> = BoxFuture<'a, Result<T, Failure>>;

/// Receives the lines of a build or a pull.
pub type LogSink = Arc<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Receives the lines of a container, each with its time in nanoseconds since 1970.
pub type LineSink = Box<dyn Fn(i64, String) + Send + Sync>;

/// Does single acts. Each is idempotent, and may be cancelled by dropping it.
pub trait Runner: Send + Sync + 'static {
    /// All containers of this host.
    fn observe(&self) -> Act<'_, Vec<ContainerStatus>>;
    /// The tags of all images of this host.
    fn images(&self) -> Act<'_, Vec<String>>;
    /// Builds the image of a revision, and names it.
    fn build(&self, job: BuildJob, log: LogSink) -> Act<'_, ()>;
    /// Whether the engine has an image of this name.
    fn has_image<'a>(&'a self, image: &'a str) -> Act<'a, bool>;
    /// The name by which the engine finds what a tenant means by the image of a job, and no other image.
    fn resolve<'a>(&'a self, job: &'a PullJob) -> Act<'a, String> {
        Box::pin(async { Ok(job.image.clone()) })
    }
    /// Pulls an image with a resolved name, or uses one that is there, and names it.
    fn pull(&self, job: PullJob, log: LogSink) -> Act<'_, ()>;
    /// Creates a container, with the databases that it needs.
    fn create(&self, launch: Launch) -> Act<'_, ()>;
    /// Starts a container.
    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()>;
    /// Requests the health check of a server, and returns whether it succeeds.
    fn probe<'a>(&'a self, seen: &'a ContainerStatus) -> BoxFuture<'a, bool>;
    /// The version that a server names, if it does.
    fn version<'a>(&'a self, seen: &'a ContainerStatus) -> BoxFuture<'a, Option<String>>;
    /// Stops a container, and kills it after `grace`.
    fn stop<'a>(&'a self, container: &'a str, grace: Duration) -> Act<'a, ()>;
    /// Removes a container.
    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()>;
    /// Removes the name of an image, and the image with its last name.
    fn remove_image<'a>(&'a self, tag: &'a str) -> Act<'a, ()>;
    /// Removes the database and the keys of a deployment.
    fn forget<'a>(&'a self, deployment: &'a str) -> Act<'a, ()>;
    /// The last lines of a container, at most `count`.
    fn last_lines<'a>(&'a self, container: &'a str, count: usize) -> Act<'a, Vec<String>>;
    /// Passes the lines of a container after a time to `line`, with their times, until it ends. Times are in nanoseconds
    /// since 1970.
    fn follow<'a>(&'a self, container: &'a str, after: i64, line: LineSink) -> Act<'a, ()>;
}

/// A failed act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It cannot succeed as it is; the reason is a fragment.
    #[error("{0}")]
    Refused(String),
    /// The engine does not respond, so that it is done again later; the reason is a fragment.
    #[error("{0}")]
    Unavailable(String),
}

/// A container on the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerStatus {
    /// Its name.
    pub name: String,
    /// ID of its deployment.
    pub deployment: String,
    /// ID of its revision.
    pub revision: String,
    /// Number of the replica.
    pub replica: u32,
    /// Its state.
    pub state: ContainerState,
    /// The address of its server on this machine, if it runs.
    pub address: Option<SocketAddr>,
    /// Path of its health check.
    pub health_check: String,
}

/// The state of a container on the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// It was never started.
    Created,
    /// It runs.
    Running,
    /// It ended with this exit code after this time.
    Exited {
        /// The exit code.
        code: i64,
        /// How long it ran.
        ran: Duration,
    },
    /// It can only be removed.
    Broken,
}

/// Number of last lines of a container among which the cause of its end is searched.
pub(crate) const LAST_LINES: usize = 200;

/// A reason with the cause that the last lines of a container name, or else with the last one. It is one line.
pub(crate) fn with_cause(reason: &str, lines: &[String]) -> String {
    let last =
        || lines.iter().rev().find(|line| !line.trim().is_empty()).map(|line| untimed(line).to_owned());
    match dev::crash_cause(lines, Path::new(server::PROJECT)).or_else(last) {
        Some(cause) => format!("{reason}: {cause}"),
        None => reason.to_owned(),
    }
}

/// A line without the date and the time at its start.
fn untimed(line: &str) -> &str {
    let is_time = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains([':', '-']);
    let mut rest = line.trim();
    while let Some((_, left)) = rest.split_once(' ').filter(|(word, _)| is_time(word)) {
        rest = left.trim_start();
    }
    rest
}

/// What an image is built from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// An uploaded archive, a tar.gz that was checked. It is the open file, so that what was checked is built.
    Archive(Arc<File>),
    /// The directory of a template.
    Template(PathBuf),
    /// A branch or a tag of a git repository.
    Repository {
        /// URL of the repository.
        url: String,
        /// The branch or tag.
        reference: String,
        /// The commit of it, if it need not be the newest.
        commit: Option<String>,
        /// How it is fetched.
        access: RepositoryAccess,
    },
}

/// An image to build.
#[derive(Clone, Debug)]
pub struct BuildJob {
    /// Name of the image.
    pub tag: String,
    /// Namespace of the cache mounts, which only the tenant's own builds have.
    pub cache: String,
    /// What it is built from.
    pub origin: Origin,
    /// Path of the configuration in it.
    pub config: String,
    /// Command that installs the packages of a JavaScript project.
    pub install_command: Option<String>,
    /// Command that builds a JavaScript project.
    pub build_command: Option<String>,
}

/// An image to pull. There is no `Debug`: the password is secret.
#[derive(Clone)]
pub struct PullJob {
    /// Its reference.
    pub image: String,
    /// Its name for the revision.
    pub tag: String,
    /// Where it comes from.
    pub from: PullFrom,
}

/// Where an image comes from.
#[derive(Clone)]
pub enum PullFrom {
    /// The engine, which has it from an earlier revision of the deployment.
    Engine,
    /// The registry of this host, with credentials for the repository of the deployment.
    Host(Login),
    /// The registry that is used instead, with the credentials of the operator.
    Replacement,
    /// Any registry. The tenant chose the name, and the engine may have an image of this name that is not the tenant's.
    Elsewhere,
}

impl PullFrom {
    /// Whether the name of the image belongs to this host, so that nobody else needs it.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Host(_) | Self::Replacement)
    }
}

/// Limits of each container.
#[derive(Clone, Copy, Debug)]
pub struct ContainerLimits {
    /// Memory in bytes, unless the deployment sets it.
    pub memory: u64,
    /// Number of processes and threads.
    pub pids: u64,
}

impl Default for ContainerLimits {
    fn default() -> Self {
        Self { memory: 2 << 30, pids: 1024 }
    }
}

/// A container to create. There is no `Debug`: values of its environment are secret.
#[derive(Clone)]
pub struct Launch {
    /// ID of the deployment.
    pub deployment: String,
    /// Name of the deployment.
    pub name: String,
    /// ID of the revision.
    pub revision: String,
    /// Number of the revision.
    pub number: u64,
    /// Number of the replica.
    pub replica: u32,
    /// The image.
    pub image: String,
    /// The secrets of the deployment. The variables that the host sets take precedence.
    pub environment: Vec<(String, String)>,
    /// Limit of CPUs.
    pub cpus: Option<f64>,
    /// Limit of memory in bytes.
    pub memory: Option<u64>,
    /// Time that the server has to stop.
    pub grace: Duration,
}

/// Settings of the runner. There is no `Debug`: values of the environment may be secret.
pub struct Options {
    /// The engine.
    pub engine: EngineEnv,
    /// ID of this host, which tells its containers from those of others.
    pub host: String,
    /// Whether base images are pulled before a build, and images although they are there.
    pub pull: bool,
    /// The images that tenants may use although they are not public.
    pub allowed_images: AllowedImages,
    /// Variables for all servers, such as the keys of the user.
    pub environment: Vec<(String, String)>,
    /// Directory for the trees of builds.
    pub builds: PathBuf,
    /// Maximum size of a fetched repository, in bytes.
    pub repository_limit: u64,
    /// The databases that the servers share.
    pub databases: Databases,
    /// Limits of a container.
    pub limits: ContainerLimits,
    /// The server of the images that it builds.
    pub server: &'static Product,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_has_one_line() {
        let reason =
            |text: &str| with_cause("it exited", &text.lines().map(str::to_owned).collect::<Vec<_>>());
        let traceback = "  File \"/deps/app/a.py\", line 3, in <module>\nKeyError: 'A'\nend";
        assert_eq!(reason(traceback), "it exited: a.py:3: KeyError: 'A'");
        assert_eq!(
            reason("first\n2026-11-28T10:00:00.123Z [info] last one\n \n"),
            "it exited: [info] last one"
        );
        assert_eq!(reason("2026-11-28 10:00:00,1"), "it exited: 10:00:00,1");
        assert_eq!(reason(""), "it exited");
    }
}
