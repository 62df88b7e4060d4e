//! The commands of uv and pip.

use std::fs;
use std::path::{Path, PathBuf};

use super::interpreter::{on_path, others};
use super::session::Surroundings;
use crate::child::Command;
use crate::compiler::back::plan::PythonPackages;

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
    /// The commands that install everything: all at once, so that the versions are compatible, unless the local packages
    /// are installed without their requirements.
    pub(super) fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        debugger: bool,
        directory: &Path,
    ) -> Vec<Command> {
        let command = || self.command(python, packages, directory);
        let server = packages.server.iter().map(|package| package.installed(self.is_pip()));
        let files = packages.files.iter().flat_map(|path| ["-r", path]);
        let editable = packages.editable.iter().flat_map(|path| ["-e", path]);
        let all = command().arguments(server).arguments(others(packages, debugger)).arguments(files);
        let all = packages.indexes.iter().fold(all, |all, index| all.arguments(self.index(index)));
        if !packages.without_requirements {
            return vec![all.arguments(editable)];
        }
        let alone =
            (!packages.editable.is_empty()).then(|| command().argument("--no-deps").arguments(editable));
        [all].into_iter().chain(alone).collect()
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
