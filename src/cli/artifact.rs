//! Generated files: written where nothing of the user's is lost, or compared with what is there.

use std::path::{Path, PathBuf};

use super::compile::Planned;
use super::env::Env;
use crate::compiler::back::emit::heading::{self, MARK};
use crate::compiler::back::plan::Plan;
use crate::error::Error;
use crate::project;

/// One file to be written.
pub(super) struct Artifact {
    /// As the user named it, or beside that.
    pub(super) path: PathBuf,
    /// The whole of it.
    pub(super) text: String,
}

/// Writes all of them or, where one is there that agentcli did not write, none; `force` overwrites it. The configuration
/// that they are made from is never overwritten.
pub(super) fn write(
    env: &mut Env,
    planned: &Planned,
    artifacts: &[Artifact],
    force: bool,
) -> Result<(), Error> {
    for artifact in artifacts {
        refuse_source(env, planned, artifact)?;
    }
    for artifact in artifacts.iter().filter(|_| !force) {
        refuse_foreign(env, artifact)?;
    }
    for artifact in artifacts {
        project::write_atomically(&env.directory.join(&artifact.path), artifact.text.as_bytes())?;
        env.print(&format!("wrote {}", artifact.path.display()));
    }
    Ok(())
}

fn refuse_source(env: &Env, planned: &Planned, artifact: &Artifact) -> Result<(), Error> {
    let real = |path: &Path| path.canonicalize().ok();
    let source = real(&env.directory.join(&planned.project.path));
    if source.is_none() || real(&env.directory.join(&artifact.path)) != source {
        return Ok(());
    }
    Err(Error::Usage {
        message: format!("`{}` is the configuration itself", artifact.path.display()),
        hint: Some("name another path to write to".to_owned()),
    })
}

/// Refuses `--check` where what is compared goes to stdout and no file is there to compare it with.
pub(super) fn refuse_check_of_stdout(check: bool, save_path: &Path) -> Result<(), Error> {
    if !check || save_path != Path::new("-") {
        return Ok(());
    }
    Err(Error::Usage {
        message: "`-` is no file that --check could compare with".to_owned(),
        hint: Some("name the file that was written, or leave out --check to print it".to_owned()),
    })
}

fn refuse_foreign(env: &Env, artifact: &Artifact) -> Result<(), Error> {
    let path = env.directory.join(&artifact.path);
    let is_foreign = path.exists() && !project::text(&path).is_some_and(|text| text.starts_with(MARK));
    if !is_foreign {
        return Ok(());
    }
    Err(Error::Usage {
        message: format!("`{}` is there and was not written by agentcli", artifact.path.display()),
        hint: Some("name another path, or add --force to overwrite it".to_owned()),
    })
}

/// Says why a file is not what `agentcli COMMAND` would write now: what else but the configuration may have changed is
/// `others`.
pub(super) fn check(
    env: &Env,
    plan: &Plan,
    artifacts: &[Artifact],
    command: &'static str,
    others: &str,
) -> Result<(), Error> {
    for artifact in artifacts {
        let path = artifact.path.display();
        let message = match project::text(&env.directory.join(&artifact.path)) {
            None => format!("`{path}` does not exist"),
            Some(text) if text == artifact.text => continue,
            Some(text) if !text.starts_with(MARK) => format!("`{path}` was not written by agentcli"),
            Some(text) if heading::is_made_from(&text, plan) => {
                format!("`{path}` is out of date: {others} changed")
            }
            Some(_) => format!("`{path}` is out of date: {} changed", plan.config.name),
        };
        return Err(Error::Stale { message, command });
    }
    Ok(())
}
