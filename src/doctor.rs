//! Checks this machine for the requirements of `dev`, `build`, `up` and `deploy`.
//!
//! Each check asks the function that the command itself asks. Nothing is installed or changed, every check has a deadline,
//! and no text contains a secret.

mod certificates;
mod check;
mod clock;
mod containers;
mod deployment;
mod disk;
mod local;
mod proxy;

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::api::Account;
use crate::compiler::back::plan::Plan;
use crate::dev::{Port, Selection};
use crate::engine::EngineEnv;

pub use check::{Check, Group, Status, Task};
pub use local::TIMEOUT;

use check::Subject;

/// Deadline of a check that asks several programs.
const SEARCH: Duration = Duration::from_secs(6);

/// The input of the checks. There is no `Debug`: proxies can have passwords.
pub struct Request {
    /// The configuration's directory, absolute.
    pub directory: PathBuf,
    /// The plan of the configuration, if there is one.
    pub plan: Option<Plan>,
    /// How `dev` finds interpreters.
    pub selection: Selection,
    /// The port of `dev`.
    pub dev_port: Port,
    /// The port of `up`.
    pub up_port: u16,
    /// The compose project of `up`.
    pub project: String,
    /// The variables that select the engine.
    pub engine: EngineEnv,
    /// The deployment service.
    pub service: Result<Service, Problem>,
    /// The variables that set proxies.
    pub proxies: Vec<(String, String)>,
    /// The variables that name files or directories of certificates.
    pub certificates: Vec<(String, PathBuf)>,
    /// The commands to check for.
    pub tasks: Vec<Task>,
}

/// A deployment service.
pub struct Service {
    /// Its address.
    pub host: String,
    /// The place where it is set, in words.
    pub origin: String,
    /// The account and where its key is set, if there is a key that may be sent there.
    pub account: Result<(Account, String), Problem>,
}

/// A setting that is missing.
pub struct Problem {
    /// The reason.
    pub reason: String,
    /// The next step.
    pub help: String,
}

/// Makes all checks that concern the tasks, in the order of their groups.
pub async fn examine(request: &Request) -> Vec<Check> {
    let asked = |group: &[Task]| group.iter().any(|task| request.tasks.contains(task));
    let local = async { if asked(&[Task::Dev]) { local::checks(request).await } else { Vec::new() } };
    let containers =
        async { if asked(containers::TASKS) { containers::checks(request).await } else { Vec::new() } };
    let deployment =
        async { if asked(&[Task::Deploy]) { deployment::checks(request).await } else { Vec::new() } };
    let (directory, certificates) = (request.directory.clone(), request.certificates.clone());
    let disk = blocking(&disk::PROJECT, move || vec![disk::project(&directory)]);
    let certificates = blocking(&certificates::CERTIFICATES, move || certificates::checks(&certificates));
    let (local, containers, deployment, disk, certificates) =
        tokio::join!(local, containers, deployment, disk, certificates);
    let all = [local, containers, deployment, disk, vec![proxy::check(&request.proxies)], certificates];
    let mut checks: Vec<Check> = all.into_iter().flatten().collect();
    checks.retain(|check| check.is_for(&request.tasks));
    checks.sort_by_key(|check| check.group);
    checks
}

/// Runs `work`, which blocks, for a limited time.
async fn blocking(
    subject: &'static Subject,
    work: impl FnOnce() -> Vec<Check> + Send + 'static,
) -> Vec<Check> {
    match timeout(TIMEOUT, spawn_blocking(work)).await {
        Ok(Ok(checks)) => checks,
        _ => vec![subject.late(TIMEOUT)],
    }
}
