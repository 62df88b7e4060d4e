//! The Python package installer in the image: its commands, its pip configuration, and its removal.

use indexmap::IndexMap;

use crate::back::lower::{Build, Input};
use crate::back::plan::{Action, Command, Mount};
use crate::back::resolve::{Installer, Resolved};
use crate::front::config::{Config, KeepPkgTools};
use crate::server::product::{Installation, Product};
use crate::{paths, server};

/// Where the pip configuration is mounted during installation.
const PIP_CONFIG: &str = "/run/agentcli/pip.conf";

/// The stage that holds the pip configuration, and its path there.
const PIP_STAGE: (&str, &str) = ("pip", "/pip.conf");

/// The secret with the credentials of package indexes, and its path during installation, where uv and pip look for it.
const NETRC: (&str, &str) = ("netrc", "/root/.netrc");

/// Builds installation commands.
pub(super) struct Tools {
    installer: Installer,
    has_config: bool,
    has_index: bool,
    /// Whether Python writes the bytecode of what it runs, which makes build backends faster.
    writes_bytecode: bool,
}

impl Tools {
    pub(super) fn new(resolved: &Resolved) -> Self {
        let has_config = resolved.pip_config.is_some();
        let Resolved { installer, has_index, .. } = *resolved;
        Self { installer, has_config, has_index, writes_bytecode: false }
    }

    /// The tools for packages that are installed once for many edits.
    pub(super) fn for_requirements(resolved: &Resolved) -> Self {
        Self { writes_bytecode: true, ..Self::new(resolved) }
    }

    /// The tools for packages that every edit builds again. A build runs its backend several times.
    pub(super) fn for_builds(resolved: &Resolved) -> Self {
        Self { writes_bytecode: resolved.installer == Installer::Uv, ..Self::new(resolved) }
    }

    /// pip for the packages of the server, in an image that has no uv yet.
    pub(super) fn for_server(resolved: &Resolved) -> Self {
        Self { installer: Installer::Pip, ..Self::for_requirements(resolved) }
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
        let constraints = ["-c".to_owned(), server::CONSTRAINTS.to_owned()];
        self.unconstrained(directory, constraints.into_iter().chain(arguments))
    }

    /// Installs exactly the wheels of a requirements file with hashes.
    pub(super) fn locked(&self, file: &str) -> Command {
        let options = ["--require-hashes", "--only-binary", ":all:", "-r", file].map(str::to_owned);
        self.alone(None, options.to_vec())
    }

    /// Installs `arguments`, without their requirements.
    pub(super) fn alone(&self, directory: Option<String>, arguments: Vec<String>) -> Command {
        self.unconstrained(directory, ["--no-deps".to_owned()].into_iter().chain(arguments))
    }

    /// Writes a requirements file with the server of the image at its version.
    pub(super) fn write_server(&self, file: &str) -> Command {
        let (list, name) = (self.list(), server::DISTRIBUTION);
        Command::Shell(format!("{list} | sed -n '/^{name}==/p' > {file}"))
    }

    /// Writes a requirements file with all packages of the image at their versions.
    pub(super) fn write_installed(&self, file: &str) -> Command {
        Command::Shell(format!("{} > {file}", self.list()))
    }

    fn list(&self) -> &'static str {
        match self.installer {
            Installer::Pip => "python3 -m pip list --format=freeze",
            Installer::Uv => "uv pip list --system --format=freeze",
        }
    }

    /// The command that resolves the requirements of a file with the constraints of the server and of another file. `resolved`
    /// has the versions to prefer, with their hashes, and gets the result. Only uv does this.
    pub(super) fn resolve(requirements: &str, constraints: &str, resolved: &str) -> String {
        let options = format!("-c {} -c {constraints} -o {resolved}", server::CONSTRAINTS);
        format!("uv pip compile --system --quiet --generate-hashes {options} {requirements}")
    }

    /// Restores the server's own packages if an installation replaced them.
    pub(super) fn restore_server(&self, server: &Product) -> Command {
        if let Some(installation) = &server.installation {
            return self.restore_packages(installation);
        }
        let (list, url) = match self.installer {
            Installer::Pip => ("python3 -m pip freeze", ""),
            Installer::Uv => ("uv pip freeze --system", "file://"),
        };
        let project = server::OWN_PROJECT;
        let check = format!("{list} | grep -qx -e '-e {url}{project}'");
        // The server's own project is built from files that not every image has.
        let files = server::OWN_PACKAGES.iter().map(|&file| file.to_owned()).collect::<Vec<_>>();
        let directories = files.iter().map(|file| paths::parent(file).to_owned()).collect();
        let tools = Self { writes_bytecode: false, ..*self };
        let install = tools.alone(None, ["-e", project].map(str::to_owned).to_vec());
        let commands = vec![prefixed(&["mkdir", "-p"], directories), prefixed(&["touch"], files), install];
        Command::Unless { check, commands }
    }

    /// Removes what an installation of local packages and archives leaves that differs with every build: uv's times of files,
    /// and its locks.
    pub(super) fn tidying(&self) -> Option<Command> {
        let find = "find /usr -maxdepth 6 -path '*.dist-info/uv_cache.json' -execdir sed -i /uv_cache.json/d RECORD ';' -delete";
        let tidying = || Command::Shell(format!("{find} && rm -f /tmp/uv-*.lock"));
        (self.installer == Installer::Uv).then(tidying)
    }

    /// Installs the server's own packages again unless they have their versions.
    fn restore_packages(&self, installation: &Installation) -> Command {
        let own = installation.own.iter().map(|&own| own.to_owned()).collect::<Vec<_>>();
        let list = match self.installer {
            Installer::Pip => "python3 -m pip freeze",
            Installer::Uv => "uv pip freeze --system",
        };
        let patterns = own.iter().map(|own| format!("-e {own}")).collect::<Vec<_>>().join(" ");
        let check = format!("[ \"$({list} | grep -cxF {patterns})\" = {} ]", own.len());
        Command::Unless { check, commands: vec![self.alone(None, own)] }
    }

    fn unconstrained(&self, directory: Option<String>, arguments: impl Iterator<Item = String>) -> Command {
        let directory = directory.into_iter().flat_map(|it| ["--directory".to_owned(), it]);
        let mut variables = IndexMap::new();
        if !self.writes_bytecode {
            variables.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
        }
        let program: &[&str] = match self.installer {
            Installer::Pip => &["python3", "-m", "pip", "install", "--no-compile"],
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
        let words = program.iter().map(|&word| word.to_owned()).chain(directory).chain(arguments).collect();
        Command::Words { variables, words }
    }

    /// Runs installation commands, with the installer's cache and the pip configuration mounted.
    pub(super) fn run(&self, commands: Vec<Command>) -> Action {
        self.run_with(commands, Vec::new())
    }

    /// The same with `more` mounts.
    pub(super) fn run_with(&self, commands: Vec<Command>, more: Vec<Mount>) -> Action {
        let cache = match self.installer {
            Installer::Pip => "/root/.cache/pip",
            Installer::Uv => "/root/.cache/uv",
        };
        let mut mounts = vec![Mount::Cache { target: cache.to_owned() }];
        if self.has_config {
            let (from, source) = PIP_STAGE;
            let from = from.to_owned();
            let source = source.to_owned();
            let target = PIP_CONFIG.to_owned();
            mounts.push(Mount::Bind { from, source, target, is_writable: false });
        }
        if self.has_index {
            let (id, target) = NETRC;
            mounts.push(Mount::Secret { id: id.to_owned(), target: target.to_owned() });
        }
        mounts.extend(more);
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

/// Removes uv, unless a package tool is kept.
pub(super) fn uv_removal(config: &Config) -> Vec<Command> {
    let is_removed = removed_tools(config).len() == server::PACKAGE_TOOLS.len();
    if is_removed { vec![programs_removal(&server::UV_PROGRAMS)] } else { Vec::new() }
}

/// Removes package tools other than uv: as installed packages, as files that the distribution left, and as programs. The cache
/// of uv is only mounted if it is the installer.
pub(super) fn removal(config: &Config, installer: Installer) -> Vec<Command> {
    let tools = removed_tools(config);
    if tools.is_empty() {
        return Vec::new();
    }
    let cache = if installer == Installer::Uv { "" } else { " --no-cache" };
    let uninstall = format!("(uv pip uninstall --system{cache} {} || true)", tools.join(" "));
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
    let programs = server::TOOL_PROGRAMS.iter().filter(|(tool, _)| tools.contains(tool));
    let programs: Vec<&str> = programs.flat_map(|(_, programs)| programs.iter().copied()).collect();
    let programs = (!programs.is_empty()).then(|| programs_removal(&programs));
    [Command::Shell(uninstall), libraries, prefixed(&[], find)].into_iter().chain(programs).collect()
}

fn programs_removal(programs: &[&str]) -> Command {
    let files =
        programs.iter().flat_map(|it| ["/usr/bin", "/usr/local/bin"].map(|bin| format!("{bin}/{it}")));
    Command::Shell(format!("rm -f {}", files.collect::<Vec<_>>().join(" ")))
}

pub(super) fn words<const N: usize>(words: [&str; N]) -> Command {
    prefixed(&words, Vec::new())
}

pub(super) fn prefixed(first: &[&str], rest: Vec<String>) -> Command {
    let words = first.iter().map(|&word| word.to_owned()).chain(rest).collect();
    Command::Words { variables: IndexMap::new(), words }
}
