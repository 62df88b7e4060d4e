//! The Python environment of the server: the user's if it has all packages, else one of ours, which uv or pip creates and
//! updates. Nothing is installed into the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HOME;
use super::environment::{self, Environment, PYTHON};
use super::error::Error;
use super::interpreter::{self, Inspection, Interpreter, Required, inspect, on_path};
use super::session::{Consent, Hooks, Options, Session, Surroundings};
use crate::child::{Child, Command};
use crate::compiler::back::plan::PythonPackages;
use crate::live::Event;

/// Grace period of an installer.
const GRACE: Duration = Duration::from_secs(5);

/// Hints for texts in the output of installers, the most specific first.
const REASONS: &[(&[&str], &str)] = &[
    (
        &[
            "dns error",
            "name resolution",
            "Connection refused",
            "ConnectionError",
            "error sending request",
            "timed out",
            "ENOTFOUND",
            "EAI_AGAIN",
            "ECONNREFUSED",
            "ETIMEDOUT",
        ],
        "the package index cannot be reached; check the network, or the proxy and index settings of the installer",
    ),
    (
        &["verifySignature"],
        "corepack cannot download the package manager; install it yourself (`npm install -g yarn`, or pnpm)",
    ),
    (
        &["in sync", "ERR_PNPM_OUTDATED_LOCKFILE", "needs to be updated", "lockfile had changes"],
        "the lock file is outdated; update it with the package manager",
    ),
    (
        &["ERESOLVE", "ETARGET", "No matching version"],
        "some versions in package.json are incompatible; change them",
    ),
    (
        &["No solution found", "ResolutionImpossible", "No matching distribution"],
        "some requirements are incompatible; change them, or select another server with `api_version`",
    ),
    (&["ensurepip is not available", "No module named venv"], "install python3-venv, or uv"),
];

/// The program that installs packages.
enum Installer {
    Pip,
    Uv(PathBuf),
}

/// Installs missing packages, and returns the interpreter that has everything.
pub(super) async fn provide(
    session: &Session,
    packages: &PythonPackages,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<PathBuf, Error> {
    let directory = &session.directory;
    let key = environment::key(session, packages, options);
    let debugger = options.debugger.is_some();
    if let Some(known) = Environment::read(directory, PYTHON, &key, debugger) {
        return Ok(known.program);
    }
    let required = Required::new(packages, debugger);
    let base = interpreter::find(session, packages, options, &required).await?;
    if let Some(warning) = &base.warning {
        hooks.warn(warning.clone());
    }
    let (program, foreign) = if base.inspection.missing.is_empty() && !packages.own {
        let changed = environment::changed_at(&base.inspection.packages);
        (base.path, changed.map(|changed| (base.inspection.packages, changed)))
    } else {
        confirm_installation(&base, options, hooks).await?;
        (install(session, packages, options, &base, &required, hooks).await?, None)
    };
    let foreign = foreign.into_iter().collect();
    Environment { key, program: program.clone(), foreign, debugger }.write(directory, PYTHON)?;
    Ok(program)
}

async fn confirm_installation(
    base: &Interpreter,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<(), Error> {
    let missing = base.inspection.missing.clone();
    let question = format!(
        "`{}` lacks packages that the project needs. Install all packages into {HOME}/{PYTHON}?",
        base.path.display()
    );
    let hint = match options.consent {
        Consent::Never => format!("omit --no-install to install them into {HOME}/{PYTHON}"),
        _ => "install them into a virtual environment and activate it, or run again and confirm".to_owned(),
    };
    confirm(missing, &question, &hint, options, hooks).await
}

/// Fails unless `missing` may be installed.
pub(super) async fn confirm(
    missing: Vec<String>,
    question: &str,
    hint: &str,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<(), Error> {
    let agreed = match options.consent {
        Consent::Given => true,
        Consent::Never => false,
        Consent::Ask => hooks.confirm(question).await,
    };
    if agreed { Ok(()) } else { Err(Error::Missing { missing, hint: hint.to_owned() }) }
}

/// Creates or updates our environment, and returns its interpreter.
async fn install(
    session: &Session,
    packages: &PythonPackages,
    options: &Options,
    base: &Interpreter,
    required: &Required,
    hooks: &mut dyn Hooks,
) -> Result<PathBuf, Error> {
    let directory = &session.directory;
    let home = directory.join(HOME).join(PYTHON);
    let python = home.join("bin/python");
    let installer = Installer::choose(packages, &options.surroundings);
    // It is recorded again when it is complete.
    Environment::forget(directory, PYTHON);
    let with = format!("installing the server and the project's packages with {}", installer.name());
    hooks.event(&Event::Provisioning { message: with, done: false });
    let has_version = |inspection: Inspection| inspection.version == base.inspection.version;
    if !inspect(&python, directory, required).await.is_ok_and(has_version) {
        fs::remove_dir_all(&home).ok();
        run(&installer.create(&base.path, &home, directory), hooks).await?;
    }
    for command in installer.install(&python, packages, required, directory) {
        run(&command, hooks).await?;
    }
    hooks.event(&Event::Provisioning { message: format!("installed into {HOME}/{PYTHON}"), done: true });
    Ok(python)
}

/// Runs an installer, and reports its output as progress.
pub(super) async fn run(command: &Command, hooks: &mut dyn Hooks) -> Result<(), Error> {
    let failed = |source| Error::Run { program: command.shown(), source };
    let mut child = Child::start(command, GRACE).map_err(failed)?;
    let show = |lines: Vec<String>| {
        let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        lines.for_each(|line| hooks.event(&Event::Provisioning { message: line.to_owned(), done: false }));
    };
    let status = child.finish(show).await.map_err(failed)?;
    if status.is_success() {
        return Ok(());
    }
    let last = child.last_lines();
    let hint = REASONS
        .iter()
        .find(|(words, _)| last.iter().any(|line| words.iter().any(|word| line.contains(word))));
    let hint = hint.map(|(_, hint)| (*hint).to_owned());
    hooks.lines(last);
    let command = command.shown();
    let short = command.split(" --").next().unwrap_or(&command).to_owned();
    Err(Error::Install { command: short, status: status.to_string(), hint })
}

impl Installer {
    fn choose(packages: &PythonPackages, surroundings: &Surroundings) -> Self {
        let uv = || on_path("uv", surroundings).map_or(Self::Pip, Self::Uv);
        if packages.uses_pip { Self::Pip } else { uv() }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Uv(_) => "uv",
        }
    }

    /// The command that creates an empty environment at `home` with the interpreter `base`.
    fn create(&self, base: &Path, home: &Path, directory: &Path) -> Command {
        let command = match self {
            Self::Pip => Command::new(base, directory).arguments(["-m", "venv"]),
            Self::Uv(uv) => {
                Command::new(uv, directory).arguments(["venv", "--quiet", "--python"]).argument(base)
            }
        };
        command.argument(home).without("VIRTUAL_ENV")
    }

    /// The commands that install everything: all at once, so that the versions are compatible, unless the local packages
    /// are installed without their requirements.
    fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        required: &Required,
        directory: &Path,
    ) -> Vec<Command> {
        let editable = || packages.editable.iter().flat_map(|path| ["-e", path]);
        let alone = packages.without_requirements.then(|| {
            self.installing(python, packages, directory).argument("--no-deps").arguments(editable())
        });
        let files = packages.files.iter().flat_map(|path| ["-r", path]);
        let all =
            self.installing(python, packages, directory).arguments(&required.requirements).arguments(files);
        let all = if alone.is_none() { all.arguments(editable()) } else { all };
        [Some(all), alone].into_iter().flatten().collect()
    }

    fn installing(&self, python: &Path, packages: &PythonPackages, directory: &Path) -> Command {
        let command = match self {
            Self::Pip => {
                let quiet = [
                    "-m",
                    "pip",
                    "install",
                    "--disable-pip-version-check",
                    "--progress-bar",
                    "off",
                    "--no-input",
                ];
                let config =
                    packages.pip_config.as_ref().map(|path| directory.join(path).display().to_string());
                let command = Command::new(python, directory).arguments(quiet);
                config.into_iter().fold(command, |command, path| command.variable("PIP_CONFIG_FILE", path))
            }
            Self::Uv(uv) => {
                let command = Command::new(uv, directory).arguments(["pip", "install", "--python"]);
                command.argument(python).arguments(packages.without_sources.then_some("--no-sources"))
            }
        };
        command.without("VIRTUAL_ENV")
    }
}
