//! The commands of uv and pip.

use std::fs;
use std::path::{Path, PathBuf};

use super::interpreter::{on_path, others};
use super::session::Surroundings;
use crate::child::Command;
use crate::compiler::back::plan::{PythonPackages, ServerPackage};
use crate::compiler::manifests::requirement::file_url;

/// The program that installs packages.
pub(super) enum Installer {
    Pip,
    Uv(PathBuf),
}

/// The uv that creates the environment and installs into it, if there is one and the project allows it.
pub(super) fn uv(packages: &PythonPackages, surroundings: &Surroundings) -> Option<PathBuf> {
    on_path("uv", surroundings).filter(|_| !packages.uses_pip)
}

/// The command that creates an empty environment at `home` with the interpreter `base`. Without uv, it contains pip.
pub(super) fn create(uv: Option<&Path>, base: &Path, home: &Path, directory: &Path) -> Command {
    let command = match uv {
        None => Command::new(base, directory).arguments(["-m", "venv"]),
        Some(uv) => Command::new(uv, directory).arguments(["venv", "--quiet", "--python"]).argument(base),
    };
    command.argument(home).without("VIRTUAL_ENV")
}

/// Whether the environment at `home` contains pip: uv, which notes its version there, creates those without.
pub(super) fn has_pip(home: &Path) -> bool {
    let settings = fs::read_to_string(home.join("pyvenv.cfg")).unwrap_or_default();
    !settings.lines().any(|line| line.starts_with("uv ="))
}

/// The command that installs uv into the environment at `home`. Building it from source would take minutes.
pub(super) fn get_uv(home: &Path, directory: &Path) -> Command {
    pip(&home.join("bin/python"), directory).arguments(["--only-binary", ":all:", "uv"])
}

fn pip(python: &Path, directory: &Path) -> Command {
    let quiet = ["--disable-pip-version-check", "--progress-bar", "off", "--no-input"];
    Command::new(python, directory)
        .arguments(["-m", "pip", "install"])
        .arguments(quiet)
        .without("VIRTUAL_ENV")
}

impl Installer {
    /// The command that installs the project's packages with the versions of its lock files, which `constraints` has. The
    /// server is installed afterwards: it replaces what it does not work with, and no older server is chosen.
    pub(super) fn install_locked(
        &self,
        python: &Path,
        packages: &PythonPackages,
        constraints: &Path,
        directory: &Path,
    ) -> Command {
        let command = self.command(python, packages, directory).argument("-c").argument(constraints);
        self.project(command, packages, false, directory)
    }

    /// The commands that install everything: all at once, so that the versions are compatible. Apart from the others are
    /// files with hashes, since pip checks those of all packages of a command or of none, and local packages that are
    /// installed without their requirements.
    pub(super) fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        debugger: bool,
        directory: &Path,
    ) -> Vec<Command> {
        let command = || self.command(python, packages, directory);
        let server = packages.server.iter().map(|package| package.installed(self.is_pip()));
        let all = self.project(command().arguments(server), packages, debugger, directory);
        let hashed = packages.hashed.iter().filter(|_| self.is_pip());
        let hashed = hashed.map(|path| command().arguments(["-r", path]));
        let is_alone = packages.without_requirements && !packages.editable.is_empty();
        let alone = is_alone.then(|| command().argument("--no-deps").arguments(editable(packages)));
        hashed.chain([all]).chain(alone).collect()
    }

    /// The command that fails if the project's packages exclude the newest server, and installs nothing.
    pub(super) fn check_newest(&self, python: &Path, packages: &PythonPackages, directory: &Path) -> Command {
        let server = packages.server.iter().map(ServerPackage::tested);
        let command = self.command(python, packages, directory).argument("--dry-run").arguments(server);
        self.project(command, packages, false, directory)
    }

    /// `command` with the project's requirements, and its local packages unless they are installed without theirs.
    fn project(
        &self,
        command: Command,
        packages: &PythonPackages,
        debugger: bool,
        directory: &Path,
    ) -> Command {
        let others = others(packages, debugger).map(|it| with_absolute_path(&it, directory));
        let is_apart = |path: &&String| self.is_pip() && packages.hashed.contains(path);
        let files = packages.files.iter().filter(|path| !is_apart(path)).flat_map(|path| ["-r", path]);
        let all = command.arguments(others).arguments(files);
        let all = packages.indexes.iter().fold(all, |all, index| all.arguments(self.index(index)));
        if packages.without_requirements { all } else { all.arguments(editable(packages)) }
    }

    /// The start of an installation.
    fn command(&self, python: &Path, packages: &PythonPackages, directory: &Path) -> Command {
        match self {
            Self::Pip => {
                let config =
                    packages.pip_config.as_ref().map(|path| directory.join(path).display().to_string());
                let set = |command: Command, path| command.variable("PIP_CONFIG_FILE", path);
                config.into_iter().fold(pip(python, directory), set)
            }
            Self::Uv(uv) => {
                let command = Command::new(uv, directory).arguments(["pip", "install", "--python"]);
                let command = command.argument(python).without("VIRTUAL_ENV");
                command.arguments(packages.without_sources.then_some("--no-sources"))
            }
        }
    }

    /// The options for another index. uv looks a package up in the first index that has it, unless it compares all.
    fn index<'a>(&self, url: &'a str) -> Vec<&'a str> {
        match self {
            Self::Pip => vec!["--extra-index-url", url],
            Self::Uv(_) => vec!["--index", url, "--index-strategy", "unsafe-best-match"],
        }
    }

    fn is_pip(&self) -> bool {
        matches!(self, Self::Pip)
    }
}

/// The requirement, whose archive is relative to `directory`. pip refuses relative URLs.
fn with_absolute_path(requirement: &str, directory: &Path) -> String {
    let (name, path) = requirement.split_once(" @ file:").unwrap_or((requirement, ""));
    if path.is_empty() || path.starts_with('/') {
        return requirement.to_owned();
    }
    format!("{name} @ {}/{path}", file_url(&directory.display().to_string()))
}

/// The options that install the local packages as editable.
fn editable(packages: &PythonPackages) -> impl Iterator<Item = &str> {
    packages.editable.iter().flat_map(|path| ["-e", path])
}
