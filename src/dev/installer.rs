//! The commands of uv and pip.

use std::path::{Path, PathBuf};

use super::HOME;
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

/// The path of the requirements that replace others, in the project in `directory`: the runtime of a server can require
/// another version of it.
pub(super) fn overrides(directory: &Path) -> PathBuf {
    directory.join(HOME).join("server/overrides.txt")
}

/// The uv that creates the environment and installs into it, if there is one and the project allows it: that of the PATH, or
/// one that was installed for the project.
pub(super) fn uv(
    packages: &PythonPackages,
    surroundings: &Surroundings,
    directory: &Path,
) -> Option<PathBuf> {
    if packages.uses_pip {
        return None;
    }
    on_path("uv", surroundings).or_else(|| Some(uv_in(&own(directory))).filter(|uv| uv.is_file()))
}

/// The directory that uv is installed into where the PATH has none. It stays when our environment is created again.
pub(super) fn own(directory: &Path) -> PathBuf {
    directory.join(HOME).join("uv")
}

/// The uv that is installed into `home`.
pub(super) fn uv_in(home: &Path) -> PathBuf {
    home.join("bin/uv")
}

/// The command that creates an environment at `home` with the interpreter `base`: empty with uv, else with pip, which takes
/// Python seconds to install.
pub(super) fn create(uv: Option<&Path>, base: &Path, home: &Path, directory: &Path) -> Command {
    let command = match uv {
        None => Command::new(base, directory).arguments(["-I", "-m", "venv", "--clear"]),
        Some(uv) => Command::new(uv, directory).arguments(["venv", "--quiet", "--python"]).argument(base),
    };
    command.argument(home).without("VIRTUAL_ENV")
}

/// The command that installs uv into `home` with the pip of `python`. Building it from source would take minutes.
pub(super) fn get_uv(python: &Path, home: &Path, directory: &Path) -> Command {
    let command =
        pip(python, directory).arguments(["--only-binary", ":all:", "--upgrade", "--target"]).argument(home);
    // Settings of users that a directory contradicts.
    command.argument("uv").variable("PIP_REQUIRE_VIRTUALENV", "0").variable("PIP_USER", "0")
}

/// `-I` keeps a module of the project, such as `pip.py`, from being taken for the one that `-m` names.
fn pip(python: &Path, directory: &Path) -> Command {
    let install =
        ["-I", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", "--no-input"];
    Command::new(python, directory).arguments(install).without("VIRTUAL_ENV")
}

impl Installer {
    /// The command that installs the project's packages with the versions of its lock files, which `constraints` has,
    /// without the server.
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
    /// installed without their requirements. With `has_server`, the rest is there already.
    pub(super) fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        debugger: bool,
        has_server: bool,
        directory: &Path,
    ) -> Vec<Command> {
        let command = || self.command(python, packages, directory);
        let server = packages.server.iter().map(|package| package.installed(self.is_pip()));
        let all = self.project(command().arguments(server), packages, debugger, directory);
        let hashed = packages.hashed.iter().filter(|_| self.is_pip());
        let hashed = hashed.map(|path| command().arguments(["-r", path]));
        let is_alone = packages.without_requirements && !packages.editable.is_empty();
        let alone = is_alone.then(|| command().argument("--no-deps").arguments(editable(packages)));
        hashed.chain((!has_server).then_some(all)).chain(alone).collect()
    }

    /// The command that installs the newest server with the project's packages, and fails if these exclude it. The project
    /// comes first, so that the resolver keeps its versions rather than those that the server is released with.
    pub(super) fn install_newest(
        &self,
        python: &Path,
        packages: &PythonPackages,
        debugger: bool,
        constraints: Option<&Path>,
        directory: &Path,
    ) -> Command {
        let command = self.command(python, packages, directory);
        let constrain = |command: Command, path| command.argument("-c").argument(path);
        let command = constraints.into_iter().fold(command, constrain);
        let server = packages.server.iter().map(ServerPackage::tested);
        self.project(command, packages, debugger, directory).arguments(server)
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
        let option = if self.is_pip() { "--extra-index-url" } else { "--index" };
        let all = all.arguments(packages.other_indexes.iter().flat_map(|index| [option, index]));
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
                let overrides = (!packages.overrides.is_empty()).then(|| overrides(directory));
                let command =
                    command.arguments(overrides.iter().flat_map(|path| [Path::new("--override"), path]));
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
