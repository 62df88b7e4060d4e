//! `agent.lock` beside a configuration.

use std::path::Path;

use super::console::note;
use super::env::Env;
use crate::compiler::agent_lock::{AgentLock, NAME, Wanted};
use crate::compiler::front::source::Source;
use crate::compiler::manifests::Broken;
use crate::error::Error;
use crate::project::{self, with_slashes};

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
    let path = config.with_file_name(NAME);
    let shown = with_slashes(&path);
    let file = env.directory.join(&path);
    if file.symlink_metadata().is_err() {
        return Ok(None);
    }
    let unusable = |place: String, message: String, help: Option<String>| {
        let hint = help.unwrap_or_else(|| "correct it, or remove it and run `agentcli lock`".to_owned());
        Error::Lock { place, message, hint }
    };
    let Some(text) = project::regular_text(&file) else {
        return Err(unusable(shown, "it is not a text file that can be read".to_owned(), None));
    };
    AgentLock::parse(&text).map(Some).map_err(|Broken { message, span, help }| {
        let position = Source::new("", &*text).position(span.start);
        unusable(format!("{shown}:{}:{}", position.line, position.column), message, help)
    })
}

/// The file that decides the images: with `is_asked` and in jobs of CI services, if it is there.
///
/// # Errors
///
/// Those of [`read`], or it is asked for and is not there.
pub(super) fn to_use(env: &mut Env, config: &Path, is_asked: bool) -> Result<Option<AgentLock>, Error> {
    let job = ci_job(env);
    if !is_asked && job.is_none() {
        return Ok(None);
    }
    let lock = read(env, config)?;
    match (&lock, job) {
        (None, _) if is_asked => Err(Error::Stale { message: absent(config), command: "lock" }),
        (Some(_), Some(variable)) if !is_asked => {
            note(env, &format!("{NAME} decides the images because {variable} is set; --no-lock ignores it"));
            Ok(lock)
        }
        _ => Ok(lock),
    }
}

/// Fails with the differences if `lock` is not what the configuration `config` asks for.
pub(super) fn check(
    lock: &AgentLock,
    config: &Path,
    wanted: &Wanted,
    needs_services: bool,
) -> Result<(), Error> {
    let differences = lock.differences(wanted, needs_services);
    if differences.is_empty() {
        return Ok(());
    }
    let path = with_slashes(&config.with_file_name(NAME));
    let message = format!("`{path}` is out of date:\n  {}", differences.join("\n  "));
    Err(Error::Stale { message, command: "lock" })
}

/// The message that there is no file beside `config`.
pub(super) fn absent(config: &Path) -> String {
    format!("`{}` does not exist", with_slashes(&config.with_file_name(NAME)))
}
