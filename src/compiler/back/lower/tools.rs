//! What installs Python packages, what it needs around it, and what is left of it in the image.

use indexmap::IndexMap;

use crate::compiler::back::lower::{Build, Input};
use crate::compiler::back::plan::{Action, Command, Mount, Variant};
use crate::compiler::front::config::{Config, KeepPkgTools};
use crate::compiler::manifests::package::Package;
use crate::compiler::paths;
use crate::compiler::server;

/// Where the pip configuration is mounted while packages are installed.
const PIP_CONFIG: &str = "/run/agentcli/pip.conf";

/// The stage that holds the pip configuration, and its place there.
const PIP_STAGE: (&str, &str) = ("pip", "/pip.conf");

/// The pip configuration, normalised, where something reads it.
pub(super) fn pip_config(config: &Config, variant: Variant) -> Option<String> {
    let is_read = variant != Variant::Javascript && config.uses_pip();
    config.pip_config_file.as_deref().filter(|_| is_read).map(paths::normalize)
}

/// What installs packages, and what it needs around it.
pub(super) struct Tools {
    uses_pip: bool,
    has_config: bool,
    /// The program, uv or pip.
    program: Vec<String>,
}

impl Tools {
    pub(super) fn new(input: &Input<'_>) -> Self {
        let uses_pip = input.config.uses_pip();
        let program: &[&str] = if uses_pip { &["python3", "-m", "pip"] } else { &["uv", "pip"] };
        Self {
            uses_pip,
            has_config: pip_config(input.config, input.variant).is_some(),
            program: program.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    /// Copies the program into `directory`.
    pub(super) fn copy(&self, directory: &str) -> Command {
        let pip = "$(python3 -c 'import pip; print(*pip.__path__)')";
        let program = if self.uses_pip { pip } else { "$(command -v uv)" };
        Command::Shell(format!("cp -a \"{program}\" {directory}/"))
    }

    /// The same, by the copy of the program in `directory`.
    pub(super) fn copied_to(&self, directory: &str) -> Self {
        let program = if self.uses_pip {
            vec!["python3".to_owned(), format!("{directory}/pip")]
        } else {
            vec![format!("{directory}/uv"), "pip".to_owned()]
        };
        Self { program, ..*self }
    }

    /// A stage that holds the pip configuration: from there it can be mounted, whatever it is called.
    pub(super) fn stage(&self, input: &Input<'_>, build: &mut Build) {
        let Some(config) = pip_config(input.config, input.variant) else { return };
        let (stage, target) = PIP_STAGE;
        let from = Action::From { image: "scratch".to_owned(), stage: Some(stage.to_owned()) };
        build.step("/pip_config_file", "the pip configuration, for installations alone", from);
        let sources = vec![input.layout.in_context(&config)];
        let copy = Action::Copy { from: None, sources, target: target.to_owned() };
        build.step("/pip_config_file", "the pip configuration, for installations alone", copy);
    }

    pub(super) fn install(&self, arguments: Vec<String>) -> Command {
        self.install_in(None, arguments)
    }

    /// The same with the settings that uv finds in `directory`.
    pub(super) fn install_in(&self, directory: Option<String>, arguments: Vec<String>) -> Command {
        let directory = directory.into_iter().flat_map(|it| ["--directory".to_owned(), it]);
        let constraints = ["-c".to_owned(), server::CONSTRAINTS.to_owned()];
        self.unconstrained(directory.chain(constraints).chain(arguments).collect())
    }

    pub(super) fn unconstrained(&self, arguments: Vec<String>) -> Command {
        let target = (!self.uses_pip).then(|| "--system".to_owned());
        self.command(["install".to_owned()].into_iter().chain(target).chain(arguments))
    }

    /// Installs packages into an environment other than the image's own, ready to be started.
    pub(super) fn install_into(&self, environment: &str, packages: &[String]) -> Command {
        let packages = packages.iter().cloned();
        let words: &[&str] = if self.uses_pip {
            &["--python", environment, "install"]
        } else {
            &["install", "--python", environment, "--compile-bytecode"]
        };
        self.command(words.iter().map(|&word| word.to_owned()).chain(packages))
    }

    fn command(&self, arguments: impl Iterator<Item = String>) -> Command {
        let mut variables = IndexMap::from([("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())]);
        if self.uses_pip {
            variables.extend(self.has_config.then(|| ("PIP_CONFIG_FILE".to_owned(), PIP_CONFIG.to_owned())));
        } else {
            // The cache is on a file system of its own, which links cannot cross.
            variables.insert("UV_LINK_MODE".to_owned(), "copy".to_owned());
        }
        Command::Words { variables, words: self.program.iter().cloned().chain(arguments).collect() }
    }

    /// Whether the sources of these packages count: only uv reads them, and it has to be kept from it where some
    /// lead to directories, since those packages are installed in place.
    pub(super) fn reads_sources<'a>(&self, packages: impl IntoIterator<Item = &'a Package>) -> bool {
        !self.uses_pip && !packages.into_iter().any(|package| package.sources.has_paths)
    }

    /// The option that keeps uv from reading them.
    pub(super) fn without_sources<'a>(
        &self,
        packages: impl IntoIterator<Item = &'a Package>,
    ) -> Option<String> {
        (!self.uses_pip && !self.reads_sources(packages)).then(|| "--no-sources".to_owned())
    }

    pub(super) fn run(&self, commands: Vec<Command>) -> Action {
        self.run_with(Vec::new(), commands)
    }

    /// Runs commands with more mounted than they always need.
    pub(super) fn run_with(&self, mut mounts: Vec<Mount>, commands: Vec<Command>) -> Action {
        let cache = if self.uses_pip { "/root/.cache/pip" } else { "/root/.cache/uv" };
        mounts.push(Mount::Cache { target: cache.to_owned() });
        if self.has_config {
            let (from, source) = PIP_STAGE;
            let (from, source, target) = (from.to_owned(), source.to_owned(), PIP_CONFIG.to_owned());
            mounts.push(Mount::Bind { from, source, target });
        }
        Action::Run { mounts, commands }
    }
}

pub(super) fn removed_tools(config: &Config) -> Vec<&'static str> {
    let all = server::PACKAGE_TOOLS.iter().copied();
    match &config.keep_pkg_tools {
        None | Some(KeepPkgTools::All(false)) => all.collect(),
        Some(KeepPkgTools::All(true)) => Vec::new(),
        Some(KeepPkgTools::Some(kept)) => all.filter(|tool| !kept.iter().any(|it| it == tool)).collect(),
    }
}

/// Removes tools wherever the image has them: as packages, as what the distribution left of them, as commands.
pub(super) fn removal(tools: &[&str]) -> Vec<Command> {
    if tools.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = tools.iter().map(|&tool| tool.to_owned()).collect();
    let uninstall = Command::Shell(format!("(uv pip uninstall --system {} || true)", tools.join(" ")));
    let leftovers = server::TOOL_LEFTOVERS.iter().filter(|(tool, _)| tools.contains(tool));
    let leftovers = leftovers.flat_map(|(_, names)| names.iter().map(|&name| name.to_owned()));
    let folders = names.iter().flat_map(|tool| [tool.clone(), format!("{tool}-*-info")]).chain(leftovers);
    // Not every distribution has both, and find fails where one is absent.
    let libraries = words(["mkdir", "-p", "/usr/lib", "/usr/local/lib"]);
    let mut find = ["find", "/usr/lib", "/usr/local/lib", "-maxdepth", "3", "-path", "*-packages/*", "("]
        .map(str::to_owned)
        .to_vec();
    for (index, name) in folders.enumerate() {
        find.extend((index > 0).then(|| "-o".to_owned()));
        find.extend(["-name".to_owned(), name]);
    }
    find.extend([")", "-prune", "-exec", "rm", "-rf", "{}", "+"].map(str::to_owned));
    let mut programs = names;
    programs.retain(|tool| tool != "setuptools");
    let mut files: Vec<String> =
        programs.iter().flat_map(|it| [format!("/usr/bin/{it}*"), format!("/usr/local/bin/{it}*")]).collect();
    if tools.len() == server::PACKAGE_TOOLS.len() {
        files.extend(
            ["/usr/bin/uv", "/usr/bin/uvx", "/usr/local/bin/uv", "/usr/local/bin/uvx"].map(str::to_owned),
        );
    }
    let mut commands = vec![uninstall, libraries, prefixed(&[], find)];
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
