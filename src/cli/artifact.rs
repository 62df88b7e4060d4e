//! Generated files: written where nothing of the user's is lost, or compared with what is there.

use std::path::{Path, PathBuf};

use super::compile::Planned;
use super::console::visible_line;
use super::env::Env;
use crate::compiler::back::emit::heading::MARK;
use crate::error::Error;
use crate::project;

/// One file to be written.
pub(super) struct Artifact {
    /// As the user named it, or beside that.
    pub(super) path: PathBuf,
    /// The whole of it.
    pub(super) text: String,
    /// The README of its directory, which has the heading of a generated file for all of them; none if this file has it.
    pub(super) readme: Option<PathBuf>,
    /// Whether values of `env` are in it, which are never shown.
    pub(super) has_values: bool,
}

impl Artifact {
    /// A file with a heading.
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        Self { path, text, readme: None, has_values: false }
    }

    /// Whether agentcli wrote the file that is there.
    fn is_ours(&self, env: &Env) -> bool {
        let marked = env.directory.join(self.readme.as_ref().unwrap_or(&self.path));
        project::regular_text(&marked).is_some_and(|text| text.starts_with(MARK))
    }

    /// Itself, or the directory that belongs to agentcli as a whole.
    fn claimed(&self) -> &Path {
        self.readme.as_ref().and_then(|readme| readme.parent()).unwrap_or(&self.path)
    }

    fn write(&self, env: &Env) -> Result<(), project::Error> {
        let path = env.directory.join(&self.path);
        match self.readme {
            None => project::write_atomically(&path, self.text.as_bytes()),
            Some(_) => project::write_in_directory(&path, self.text.as_bytes()),
        }
    }
}

/// The options of the commands that write files.
#[derive(Debug, clap::Args)]
pub(super) struct SaveOptions {
    /// Path of the file; `-` writes to stdout
    #[arg(value_name = "SAVE_PATH")]
    save_path: PathBuf,

    /// Write nothing, and exit with 1 if the files are not up to date
    #[arg(long, conflicts_with = "force")]
    check: bool,

    /// Overwrite files that agentcli did not write
    #[arg(long)]
    force: bool,
}

impl SaveOptions {
    /// The path of the file, which is called `name` in a directory; none for stdout.
    pub(super) fn path(&self, env: &Env, name: &str) -> Result<Option<PathBuf>, Error> {
        match self.save_path == Path::new("-") {
            true if self.check => {
                let hint = "name the file that was written, or leave out --check to print it";
                Err(Error::usage("`-` is no file that --check could compare with", hint))
            }
            true => Ok(None),
            false if env.directory.join(&self.save_path).is_dir() => Ok(Some(self.save_path.join(name))),
            false => Ok(Some(self.save_path.clone())),
        }
    }

    /// Writes generated files and prints the `next` command, or compares them. Writes none if
    /// agentcli did not write one that exists, unless that is forced, and never overwrites the configuration.
    pub(super) fn save(
        &self,
        env: &mut Env,
        planned: &Planned,
        artifacts: &[Artifact],
        next: &str,
    ) -> Result<(), Error> {
        if self.check {
            return artifacts.iter().try_for_each(|artifact| check(env, artifact));
        }
        for artifact in artifacts {
            check_path(env, planned, artifact, self.force)?;
        }
        for written in artifacts.chunk_by(|one, other| one.claimed() == other.claimed()) {
            written.iter().try_for_each(|artifact| artifact.write(env))?;
            env.print(&format!("wrote {}", visible_line(&written[0].claimed().to_string_lossy())));
        }
        Ok(env.out.line(next)?)
    }
}

/// Refuses to overwrite the configuration, and unless it is forced, files that agentcli did not write.
fn check_path(env: &Env, planned: &Planned, artifact: &Artifact, is_forced: bool) -> Result<(), Error> {
    let (path, shown) = (env.directory.join(artifact.claimed()), artifact.claimed().display());
    let real = |path: &Path| path.canonicalize().ok();
    let source = real(&env.directory.join(&planned.project.path));
    if source.is_some() && real(&path) == source {
        let message = format!("`{shown}` is the configuration itself");
        return Err(Error::usage(message, "name another path to write to"));
    }
    // A link may lead to a place where nothing is yet.
    if !is_forced && path.symlink_metadata().is_ok() && !artifact.is_ours(env) {
        let message = format!("`{shown}` is there and was not written by agentcli");
        return Err(Error::usage(message, "name another path, or add --force to overwrite it"));
    }
    Ok(())
}

/// Fails unless the file is what would be written now.
fn check(env: &Env, artifact: &Artifact) -> Result<(), Error> {
    let path = artifact.path.display();
    let message = match project::regular_text(&env.directory.join(&artifact.path)) {
        None => format!("`{path}` does not exist"),
        Some(text) if text == artifact.text => return Ok(()),
        Some(_) if !artifact.is_ours(env) => format!("`{path}` was not written by agentcli"),
        Some(text) => format!("`{path}` is out of date at {}", difference(&text, artifact)),
    };
    Err(Error::Stale { message, hint: "run the same command without --check".to_owned() })
}

/// The first line that differs, as it would be. What is there is not shown: a value that somebody wrote into a generated file
/// can be a secret.
fn difference(text: &str, artifact: &Artifact) -> String {
    let (mut found, mut wanted) = (text.split_inclusive('\n'), artifact.text.split_inclusive('\n'));
    let mut number = 1;
    loop {
        match (found.next(), wanted.next()) {
            (Some(found), Some(wanted)) if found == wanted => number += 1,
            (_, Some(wanted)) if !artifact.has_values => {
                return format!("line {number}:\n  + {}", visible_line(wanted.trim_end()));
            }
            (_, Some(_)) => return format!("line {number}"),
            (_, None) => return format!("line {number}, where it would end"),
        }
    }
}
