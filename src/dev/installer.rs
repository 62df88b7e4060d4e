//! The commands of uv and pip.

use std::fs;
use std::path::{Path, PathBuf};

use super::interpreter::others;
use crate::child::Command;
use crate::compiler::back::plan::PythonPackages;

/// The program that installs packages.
pub(super) enum Installer {
    Pip,
    Uv(PathBuf),
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
    /// The command that installs all packages at once, so that their versions are compatible.
    pub(super) fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        debugger: bool,
        directory: &Path,
    ) -> Command {
        let (uses_pip, command) = match self {
            Self::Pip => {
                let config =
                    packages.pip_config.as_ref().map(|path| directory.join(path).display().to_string());
                let command = pip(python, directory);
                let set = |command: Command, path| command.variable("PIP_CONFIG_FILE", path);
                (true, config.into_iter().fold(command, set))
            }
            Self::Uv(uv) => {
                let command = Command::new(uv, directory).arguments(["pip", "install", "--python"]);
                let command = command.argument(python);
                (false, command.arguments(packages.without_sources.then_some("--no-sources")))
            }
        };
        let server = packages.server.iter().map(|package| package.installed(uses_pip));
        let files = packages.files.iter().flat_map(|path| ["-r", path]);
        let editable = packages.editable.iter().flat_map(|path| ["-e", path]);
        let command = command.arguments(server).arguments(others(packages, debugger));
        command.arguments(files).arguments(editable).without("VIRTUAL_ENV")
    }
}
