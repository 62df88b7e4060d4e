//! The Python environment that the server runs in: the user's own where it has everything, else one of ours, made and
//! kept up to date by uv or pip. Nothing is ever installed into the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HOME;
use super::environment::{self, Environment, PYTHON};
use super::error::Error;
use super::interpreter::{self, Interpreter, Look, Wanted, look, on_path};
use super::session::{Consent, Hooks, Options, Session, Surroundings};
use crate::child::{Child, Command};
use crate::compiler::back::plan::PythonPackages;
use crate::live::Event;

/// How long an installer may take to end once it is told to.
const GRACE: Duration = Duration::from_secs(5);

/// What the words of an installer mean, most telling first.
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
        "corepack cannot fetch the package manager; install that yourself (`npm install -g yarn`, or pnpm)",
    ),
    (
        &["in sync", "ERR_PNPM_OUTDATED_LOCKFILE", "needs to be updated", "lockfile had changes"],
        "the lock file is older than package.json; bring it up to date with the package manager",
    ),
    (
        &["ERESOLVE", "ETARGET", "No matching version"],
        "some packages cannot be installed together; their versions stand in package.json",
    ),
    (
        &["No solution found", "ResolutionImpossible", "No matching distribution"],
        "some requirements cannot be met together; with `api_version` the configuration asks for another server",
    ),
    (&["ensurepip is not available", "No module named venv"], "install python3-venv, or uv"),
];

/// What installs.
enum Installer {
    Pip,
    Uv(PathBuf),
}

/// The interpreter to run the server with; everything that it needs is there.
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
    let wanted = Wanted::new(packages, debugger);
    let base = interpreter::find(session, packages, options, &wanted).await?;
    if let Some(warning) = &base.warning {
        hooks.warn(warning.clone());
    }
    let (program, foreign) = if base.look.missing.is_empty() && !packages.own {
        let changed = environment::changed_at(&base.look.packages);
        (base.path, changed.map(|changed| (base.look.packages, changed)))
    } else {
        agree_to_install(&base, options, hooks).await?;
        (install(session, packages, options, &base, &wanted, hooks).await?, None)
    };
    let foreign = foreign.into_iter().collect();
    Environment { key, program: program.clone(), foreign, debugger }.write(directory, PYTHON)?;
    Ok(program)
}

async fn agree_to_install(base: &Interpreter, options: &Options, hooks: &mut dyn Hooks) -> Result<(), Error> {
    let missing = base.look.missing.clone();
    let question = format!(
        "`{}` has not everything that the project needs. Install all of it into {HOME}/{PYTHON}?",
        base.path.display()
    );
    let hint = match options.consent {
        Consent::Never => format!("leave out --no-install, and they are installed into {HOME}/{PYTHON}"),
        _ => "install them into a virtual environment and activate it, or run again and agree".to_owned(),
    };
    agree(missing, &question, &hint, options, hooks).await
}

/// Whether `missing` may be installed.
pub(super) async fn agree(
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

/// Makes our environment, or brings it up to date; the answer is its interpreter.
async fn install(
    session: &Session,
    packages: &PythonPackages,
    options: &Options,
    base: &Interpreter,
    wanted: &Wanted,
    hooks: &mut dyn Hooks,
) -> Result<PathBuf, Error> {
    let directory = &session.directory;
    let home = directory.join(HOME).join(PYTHON);
    let python = home.join("bin/python");
    let installer = Installer::choose(packages, &options.surroundings);
    // Until it is complete, nothing may be known of it.
    Environment::forget(directory, PYTHON);
    let with = format!("installing the server and the project's packages with {}", installer.name());
    hooks.event(&Event::Provisioning { message: with, done: false });
    let has_version = |look: Look| look.version == base.look.version;
    if !look(&python, directory, wanted).await.is_ok_and(has_version) {
        fs::remove_dir_all(&home).ok();
        run(&installer.create(&base.path, &home, directory), hooks).await?;
    }
    run(&installer.install(&python, packages, wanted, directory), hooks).await?;
    hooks.event(&Event::Provisioning { message: format!("installed into {HOME}/{PYTHON}"), done: true });
    Ok(python)
}

/// Runs an installer, telling what it says.
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

    /// What makes an empty environment at `home` for the interpreter `base`.
    fn create(&self, base: &Path, home: &Path, directory: &Path) -> Command {
        let command = match self {
            Self::Pip => Command::new(base, directory).arguments(["-m", "venv"]),
            Self::Uv(uv) => {
                Command::new(uv, directory).arguments(["venv", "--quiet", "--python"]).argument(base)
            }
        };
        command.argument(home).without("VIRTUAL_ENV")
    }

    /// What installs everything that is wanted, in one go so that versions are chosen together.
    fn install(
        &self,
        python: &Path,
        packages: &PythonPackages,
        wanted: &Wanted,
        directory: &Path,
    ) -> Command {
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
        let files = packages.files.iter().flat_map(|path| ["-r", path]);
        let editable = packages.editable.iter().flat_map(|path| ["-e", path]);
        let command = command.arguments(&wanted.requirements).arguments(files).arguments(editable);
        command.without("VIRTUAL_ENV")
    }
}
