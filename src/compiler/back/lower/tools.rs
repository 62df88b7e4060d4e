//! The Python package installer in the image: its commands, its pip configuration, and its removal.

use indexmap::IndexMap;

use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command, Mount};
use crate::compiler::back::resolve::{Installer, Resolved};
use crate::compiler::front::config::{Config, KeepPkgTools};
use crate::compiler::server;

/// Where the pip configuration is mounted during installation.
const PIP_CONFIG: &str = "/run/agentcli/pip.conf";

/// The stage that holds the pip configuration, and its path there.
const PIP_STAGE: (&str, &str) = ("pip", "/pip.conf");

/// Builds installation commands.
pub(super) struct Tools {
    installer: Installer,
    has_config: bool,
}

impl Tools {
    pub(super) fn new(resolved: &Resolved) -> Self {
        Self { installer: resolved.installer, has_config: resolved.pip_config.is_some() }
    }

    /// A stage that holds the pip configuration, to mount it from there under a name without special characters.
    pub(super) fn stage(input: &Input<'_>, build: &mut Build) {
        let Some(config) = &input.resolved.pip_config else { return };
        let (stage, target) = PIP_STAGE;
        let (key, why) = ("/pip_config_file", "pip configuration, mounted during installation only");
        build.step(key, why, Action::From { image: "scratch".to_owned(), stage: Some(stage.to_owned()) });
        let sources = vec![input.layout.in_context(config)];
        build.step(key, why, Action::Copy { from: None, sources, target: target.to_owned() });
    }

    /// Installs `arguments` with the server's constraints. uv reads its settings in `directory`.
    pub(super) fn install(&self, directory: Option<String>, arguments: Vec<String>) -> Command {
        let directory = directory.into_iter().flat_map(|it| ["--directory".to_owned(), it]);
        let constraints = ["-c".to_owned(), server::CONSTRAINTS.to_owned()];
        self.unconstrained(directory.chain(constraints).chain(arguments))
    }

    /// Installs `arguments`.
    pub(super) fn unconstrained(&self, arguments: impl IntoIterator<Item = String>) -> Command {
        let mut variables = IndexMap::from([("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())]);
        let program: &[&str] = match self.installer {
            Installer::Pip => &["python3", "-m", "pip", "install"],
            Installer::Uv => &["uv", "pip", "install", "--system"],
        };
        match self.installer {
            Installer::Pip if self.has_config => {
                variables.insert("PIP_CONFIG_FILE".to_owned(), PIP_CONFIG.to_owned());
            }
            Installer::Pip => {}
            // The cache is on another file system, so uv cannot link files from it.
            Installer::Uv => {
                variables.insert("UV_LINK_MODE".to_owned(), "copy".to_owned());
            }
        }
        let words = program.iter().map(|&word| word.to_owned()).chain(arguments).collect();
        Command::Words { variables, words }
    }

    /// Runs installation commands, with the installer's cache and the pip configuration mounted.
    pub(super) fn run(&self, commands: Vec<Command>) -> Action {
        let cache = match self.installer {
            Installer::Pip => "/root/.cache/pip",
            Installer::Uv => "/root/.cache/uv",
        };
        let mut mounts = vec![Mount::Cache { target: cache.to_owned() }];
        if self.has_config {
            let (from, source) = PIP_STAGE;
            let (from, source, target) = (from.to_owned(), source.to_owned(), PIP_CONFIG.to_owned());
            mounts.push(Mount::Bind { from, source, target });
        }
        Action::Run { mounts, commands }
    }
}

/// The package tools that the image does not keep.
fn removed_tools(config: &Config) -> Vec<&'static str> {
    let all = server::PACKAGE_TOOLS.iter().copied();
    match &config.keep_pkg_tools {
        None | Some(KeepPkgTools::All(false)) => all.collect(),
        Some(KeepPkgTools::All(true)) => Vec::new(),
        Some(KeepPkgTools::Some(kept)) => all.filter(|tool| !kept.iter().any(|it| it == tool)).collect(),
    }
}

/// Removes package tools: as installed packages, as files that the distribution left, and as programs.
pub(super) fn removal(config: &Config) -> Vec<Command> {
    let tools = removed_tools(config);
    if tools.is_empty() {
        return Vec::new();
    }
    let uninstall = Command::Shell(format!("(uv pip uninstall --system {} || true)", tools.join(" ")));
    // `find` fails if a directory does not exist, and not every distribution has both.
    let libraries = words(["mkdir", "-p", "/usr/lib", "/usr/local/lib"]);
    let mut find = ["find", "/usr/lib", "/usr/local/lib", "-maxdepth", "3", "-path", "*-packages/*", "("]
        .map(str::to_owned)
        .to_vec();
    let leftovers = server::TOOL_LEFTOVERS.iter().filter(|(tool, _)| tools.contains(tool));
    let leftovers = leftovers.flat_map(|(_, names)| names.iter().map(|&name| name.to_owned()));
    let folders =
        tools.iter().flat_map(|tool| [(*tool).to_owned(), format!("{tool}-*-info")]).chain(leftovers);
    for (index, name) in folders.enumerate() {
        find.extend((index > 0).then(|| "-o".to_owned()));
        find.extend(["-name".to_owned(), name]);
    }
    find.extend([")", "-prune", "-exec", "rm", "-rf", "{}", "+"].map(str::to_owned));
    let mut commands = vec![uninstall, libraries, prefixed(&[], find)];
    let programs = server::TOOL_PROGRAMS.iter().filter(|(tool, _)| tools.contains(tool));
    let mut programs: Vec<&str> = programs.flat_map(|(_, programs)| programs.iter().copied()).collect();
    if tools.len() == server::PACKAGE_TOOLS.len() {
        programs.extend(server::UV_PROGRAMS);
    }
    let files =
        programs.iter().flat_map(|it| ["/usr/bin", "/usr/local/bin"].map(|bin| format!("{bin}/{it}")));
    let files: Vec<String> = files.collect();
    commands.extend((!files.is_empty()).then(|| Command::Shell(format!("rm -f {}", files.join(" ")))));
    commands
}

pub(super) fn words<const N: usize>(words: [&str; N]) -> Command {
    prefixed(&words, Vec::new())
}

pub(super) fn prefixed(first: &[&str], rest: Vec<String>) -> Command {
    let words = first.iter().map(|&word| word.to_owned()).chain(rest).collect();
    Command::Words { variables: IndexMap::new(), words }
}
