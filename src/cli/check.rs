//! Reads and checks configurations: the first step of every command.

use std::path::{Path, PathBuf};
use std::{panic, thread};

use super::console::note;
use super::env::Env;
use super::report::text;
use crate::compiler;
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::config::Config;
use crate::compiler::product::Product;
use crate::diagnostic::{Diagnostic, Pointer, Severity};
use crate::error::Error;
use crate::project::{self, Boundary, Project, Unreadable};

/// Number of files from which threads are worth starting.
const FEW: usize = 16;

/// Rules about files that do not exist.
const NOT_FOUND: &[&str] =
    &["dependency-not-found", "env-file-not-found", "pip-config-not-found", "reference-not-found"];

/// The parts of a configuration that a command does not use.
#[derive(Clone, Copy, Default)]
pub(super) struct Unused<'a> {
    /// Rules whose findings do not apply to it.
    pub(super) rules: &'a [&'a str],
    /// Rules whose errors may not apply to it, and are warnings.
    pub(super) warned: &'a [&'a str],
    /// Pointers to the keys that it does not read: errors about their values are warnings.
    pub(super) keys: &'a [&'a str],
}

impl Unused<'_> {
    /// Whether the command loses nothing by what an error is about.
    fn is_dispensable(&self, diagnostic: &Diagnostic) -> bool {
        let pointer = diagnostic.place.pointer();
        diagnostic.is_dispensable
            || self.warned.contains(&diagnostic.rule.code)
            || self.keys.iter().any(|key| pointer.is_within(&Pointer::parse(key)))
    }
}

/// The option of every command that reads one configuration.
#[derive(Debug, clap::Args)]
pub struct ConfigOption {
    /// Configuration file [default: agent.json, or langgraph.json if there is no agent.json]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ConfigOption {
    /// The path of the file. Prints a note if it is not the preferred name.
    pub fn path(&self, env: &mut Env) -> PathBuf {
        if let Some(path) = &self.config {
            return path.clone();
        }
        let default = project::default_config(&env.directory);
        if default.is_second_choice {
            note(env, &format!("no agent.json here; reading {}", default.name));
        }
        default.name.into()
    }

    /// Loads the configuration and checks it for `server`. Findings are printed on stderr; errors about what the command
    /// uses end it.
    pub(super) fn load(
        &self,
        env: &mut Env,
        server: &'static Product,
        unused: Unused<'_>,
    ) -> Result<(Project, Config), Error> {
        let path = self.path(env);
        let Reading { mut checked, usable, .. } = read_for(env, &path, server, unused);
        // A known warning is not repeated, wherever it has moved to; an error always is.
        checked.findings.retain(|finding| {
            env.is_new(&format!("{:?}", finding.diagnostic)) || finding.diagnostic.is_error()
        });
        let layout = text::Layout { is_coloured: env.err.is_coloured, width: env.width };
        let report = text::render(std::slice::from_ref(&checked), layout);
        env.err.write(&report).ok();
        usable.ok_or(Error::Config)
    }
}

/// A configuration that was checked for one command.
pub(super) struct Reading {
    pub(super) checked: Checked,
    /// Absent if there are errors.
    pub(super) usable: Option<(Project, Config)>,
    /// Number of errors that do not stop the command.
    pub(super) left_out: usize,
}

/// Reads and checks the configuration at `path` for `server` and a command that does not use all of it. Errors about what
/// it can do without are warnings.
pub(super) fn read_for(env: &Env, path: &Path, server: &'static Product, unused: Unused<'_>) -> Reading {
    let project = Project::load(&env.directory, path, Boundary::Project);
    let (mut checked, usable) = read(project, server, &env.directory, path);
    let all = checked.errors();
    for Finding { diagnostic, .. } in &mut checked.findings {
        if diagnostic.is_error() && unused.is_dispensable(diagnostic) {
            diagnostic.severity = Severity::Warning;
        }
    }
    checked.findings.retain(|finding| !unused.rules.contains(&finding.diagnostic.rule.code));
    let errors = checked.errors();
    Reading { usable: usable.filter(|_| errors == 0), left_out: all - errors, checked }
}

/// Calls `check` for all `paths`, on all cores; the result has their order.
pub fn check_all<T: Send>(paths: &[PathBuf], check: impl Fn(&Path) -> T + Sync) -> Vec<T> {
    let check = |paths: &[PathBuf]| paths.iter().map(|path| check(path)).collect::<Vec<_>>();
    if paths.len() < FEW {
        return check(paths);
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let chunks = paths.chunks(paths.len().div_ceil(workers));
        let check = &check;
        let workers: Vec<_> = chunks.map(|chunk| scope.spawn(move || check(chunk))).collect();
        let joined =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|bug| panic::resume_unwind(bug)));
        joined.flatten().collect()
    })
}

/// Reads and checks the configuration at `path`, relative to `directory`, for `server`.
pub fn check(directory: &Path, path: &Path, server: &'static Product, boundary: Boundary<'_>) -> Checked {
    read(Project::load(directory, path, boundary), server, directory, path).0
}

/// Checks the configuration at `path` as if the file had this content.
pub fn check_content(directory: &Path, path: &Path, server: &'static Product, content: Vec<u8>) -> Checked {
    read(Project::with_content(directory, path, content), server, directory, path).0
}

/// Checks one configuration; the second half is absent where there is no text to compile.
fn read(
    project: Result<Project, Box<Unreadable>>,
    server: &'static Product,
    directory: &Path,
    path: &Path,
) -> (Checked, Option<(Project, Config)>) {
    let mut project = match project {
        Ok(project) => project,
        Err(unreadable) => return (unreadable.checked(), None),
    };
    let analysis = compiler::analyze_for(server, &project.source.name, &project.source.text, &project.files);
    let (mut checked, config) = analysis.located(project.source.clone());
    project.source.clone_from(&checked.source);
    for Finding { diagnostic, .. } in &mut checked.findings {
        diagnostic.help = misplaced(diagnostic, &config, directory, path).or(diagnostic.help.take());
    }
    (checked, Some((project, config)))
}

/// The help where a missing file is in the working directory `directory`, in which the existing tool looks for it.
fn misplaced(diagnostic: &Diagnostic, config: &Config, directory: &Path, path: &Path) -> Option<String> {
    let text = config.str_at(diagnostic.place.pointer().as_str())?;
    let (file, name) = text.rsplit_once(':').map_or((text, ""), |(file, _)| (file, &text[file.len()..]));
    let own = directory.join(path.parent()?);
    let is_there = |folder: &Path| folder.join(file).exists();
    if !NOT_FOUND.contains(&diagnostic.rule.code) || is_there(&own) || !is_there(directory) {
        return None;
    }
    let correct = project::relative(&own, &directory.join(file));
    let correct = if correct.starts_with("..") { correct } else { format!("./{correct}") };
    Some(format!(
        "it is in the working directory, but paths start at the configuration's directory: move the configuration \
         to the working directory, or write `{correct}{name}`"
    ))
}
