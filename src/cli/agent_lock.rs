//! `agent.lock` beside a configuration.

use std::path::Path;

use super::console::note;
use super::env::Env;
pub(super) use crate::compiler::agent_lock::NAME;
use crate::compiler::agent_lock::{AgentLock, Wanted};
use crate::error::Error;
use crate::project::{self, UnusableLock, with_slashes};

/// Variables that CI services set in their jobs.
const CI: &[&str] = &["CI", "GITHUB_ACTIONS", "GITLAB_CI"];

/// The variable by which this is a job of a CI service, if it is one.
pub(super) fn ci_job(env: &Env) -> Option<&'static str> {
    let is_set = |name: &&str| env.variable(name).is_some_and(|value| value != "false" && value != "0");
    CI.iter().copied().find(is_set)
}

/// The file beside the configuration `config`; `None` if there is none.
///
/// # Errors
///
/// The file is unreadable, broken or of another version.
pub(super) fn read(env: &Env, config: &Path) -> Result<Option<AgentLock>, Error> {
    project::agent_lock(&env.directory, config).map_err(|UnusableLock { place, message, help }| {
        let hint = help.unwrap_or_else(|| "correct it, or remove it and run `agentcli lock`".to_owned());
        Error::Lock { place, message, hint }
    })
}

/// When the file decides the images without --locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByDefault {
    /// In jobs of CI services, if it is there: for what makes or starts an image.
    InCi,
    /// Never: for files that are the same on every machine.
    Never,
}

/// The file that decides the images of the configuration `config`, if `is_asked` or by `default`.
///
/// # Errors
///
/// Those of [`read`].
pub(super) fn to_use(
    env: &mut Env,
    config: &Path,
    is_asked: bool,
    default: ByDefault,
) -> Result<Option<AgentLock>, Error> {
    let job = ci_job(env).filter(|_| !is_asked && default == ByDefault::InCi);
    if !is_asked && job.is_none() {
        return Ok(None);
    }
    let lock = read(env, config)?;
    if let (Some(_), Some(variable)) = (&lock, job) {
        note(
            env,
            &format!("using the images of {NAME} because {variable} is set; pass --no-lock to ignore it"),
        );
    }
    Ok(lock)
}

/// Fails with the differences if `lock` is not what the configuration `config` asks for; `hint` is how to mend it.
pub(super) fn check(
    lock: Option<&AgentLock>,
    config: &Path,
    wanted: &Wanted,
    is_needed: impl Fn(&str) -> bool,
    hint: impl FnOnce() -> String,
) -> Result<(), Error> {
    let path = with_slashes(&config.with_file_name(NAME));
    let Some(lock) = lock else {
        return Err(Error::Stale { message: format!("`{path}` does not exist"), hint: hint() });
    };
    let differences = lock.differences(wanted, is_needed);
    if differences.is_empty() {
        return Ok(());
    }
    let message = format!("`{path}` is out of date:\n  {}", differences.join("\n  "));
    Err(Error::Stale { message, hint: hint() })
}
