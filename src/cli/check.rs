//! Reads and checks configurations: the first step of every command.

use std::path::{Path, PathBuf};
use std::{panic, thread};

use super::console::note;
use super::env::Env;
use super::report::text;
use crate::compiler::back::plan::Plan;
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::config::Config;
use crate::compiler::front::document::{apply, disjoint};
use crate::compiler::server::product::Product;
use crate::compiler::{Compiled, Options, Unused, analyze_for};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::project::{self, Boundary, Project, Unreadable};

/// Number of files from which threads are worth starting.
const FEW: usize = 16;

/// Rules about files that do not exist.
const NOT_FOUND: &[&str] =
    &["dependency-not-found", "env-file-not-found", "named-file-not-found", "reference-not-found"];

/// Rule whose fix names the module of a file that imports its neighbours.
const BY_MODULE: &str = "relative-import";

/// The option of every command that reads one configuration.
#[derive(Debug, clap::Args)]
pub struct ConfigOption {
    /// Configuration file [default: agent.json, or langgraph.json if there is no agent.json]
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Directory whose files belong to the project [default: the Git repository, or else the workspace around the configuration]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    project_root: Option<PathBuf>,
}

impl ConfigOption {
    /// The path of the file, whose project is then that of the option. Prints a note if it is not the preferred name.
    pub fn path(&self, env: &mut Env) -> PathBuf {
        env.project_root = self.project_root.as_ref().map(|root| env.directory.join(root));
        if let Some(path) = &self.config {
            return path.clone();
        }
        let default = project::default_config(&env.directory);
        if default.is_second_choice {
            note(env, &format!("no agent.json here; reading {}", default.name));
        }
        default.name.into()
    }
}

/// Compiles the configuration at `path`. Findings are printed on stderr; errors about what the command uses end it.
pub(super) fn compile(
    env: &mut Env,
    path: &Path,
    options: &Options,
    unused: Unused<'_>,
) -> Result<(Project, Config, Plan), Error> {
    let loaded = Project::load(&env.directory, path, env.boundary());
    compile_loaded(env, path, loaded, options, unused)
}

/// The same for a configuration that was read.
pub(super) fn compile_loaded(
    env: &mut Env,
    path: &Path,
    loaded: Result<Project, Box<Unreadable>>,
    options: &Options,
    unused: Unused<'_>,
) -> Result<(Project, Config, Plan), Error> {
    let (project, Compiled { mut checked, config, plan, .. }) = compiled(env, path, loaded, options, unused);
    // A known warning is not repeated, wherever it has moved to; an error always is.
    checked
        .findings
        .retain(|finding| env.is_new(&format!("{:?}", finding.diagnostic)) || finding.diagnostic.is_error());
    let layout = text::Layout { is_coloured: env.err.is_coloured, width: env.width, is_brief: true };
    let report = text::render(std::slice::from_ref(&checked), layout);
    env.err.write(&report).ok();
    match (project, plan) {
        (Some(project), Some(plan)) => Ok((project, config, plan)),
        _ => Err(Error::Config),
    }
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

/// Checks the configuration at `path`, relative to `directory`, for `server`.
pub fn check(directory: &Path, path: &Path, server: &'static Product, boundary: Boundary<'_>) -> Checked {
    checked(Project::load(directory, path, boundary), server, directory, path)
}

/// Checks the configuration at `path` as if the file had this content.
pub fn check_content(directory: &Path, path: &Path, server: &'static Product, content: Vec<u8>) -> Checked {
    checked(Project::with_content(directory, path, content), server, directory, path)
}

fn checked(
    project: Result<Project, Box<Unreadable>>,
    server: &'static Product,
    directory: &Path,
    path: &Path,
) -> Checked {
    let Project { source, files, .. } = match project {
        Ok(project) => project,
        Err(unreadable) => return unreadable.checked(),
    };
    let options = Options { server, ..Options::default() };
    let (mut checked, config) = analyze_for(&options, &source.name, &source.text, &files).located(source);
    help_misplaced(&mut checked, &config, directory, path);
    checked
}

/// The configuration `text` at `path`, checked, with references by the name of the module where the server cannot load a
/// file alone.
pub(super) fn check_written(directory: &Path, path: &Path, text: String) -> Checked {
    let check = |text: String| check_content(directory, path, Default::default(), text.into_bytes());
    let first = check(text);
    let is_meant =
        |finding: &&Finding| finding.diagnostic.rule.code == BY_MODULE && !finding.edits.is_empty();
    let edits = first.findings.iter().filter(is_meant).map(|finding| finding.edits.as_slice());
    let (edits, number) = disjoint(edits);
    if number == 0 { first } else { check(apply(&first.source.text, edits)) }
}

/// Compiles the configuration at `path`. There is no project without a text.
pub(super) fn compiled(
    env: &Env,
    path: &Path,
    loaded: Result<Project, Box<Unreadable>>,
    options: &Options,
    unused: Unused<'_>,
) -> (Option<Project>, Compiled) {
    let (project, mut compiled) = Project::compile(loaded, options, unused);
    help_misplaced(&mut compiled.checked, &compiled.config, &env.directory, path);
    (project, compiled)
}

/// Says of missing files that are in the working directory that they are there.
fn help_misplaced(checked: &mut Checked, config: &Config, directory: &Path, path: &Path) {
    for Finding { diagnostic, .. } in &mut checked.findings {
        diagnostic.help = misplaced(diagnostic, config, directory, path).or(diagnostic.help.take());
    }
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
