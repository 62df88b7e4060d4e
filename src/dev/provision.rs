//! The Python environment of the server: the user's if it has all packages, else one of ours, which uv or pip creates and
//! updates. Nothing is installed into the user's.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::HOME;
use super::environment::{self, Environment, PYTHON};
use super::error::Error;
use super::installer::{self, Installer};
use super::interpreter::{Inspection, Required, inspect};
use super::search::{self, Choice, Interpreter};
use super::session::{Hooks, Options, Session};
use crate::child::{Child, Command, Next, Status};
use crate::compiler::back::plan::{PythonPackages, ServerPackage};
use crate::compiler::server::local::SERVER;
use crate::compiler::words::listed;
use crate::live::Event;
use crate::project;

/// The versions of lock files, while the environment has them.
const CONSTRAINTS: &str = "constraints.txt";

/// Grace period of an installer.
const GRACE: Duration = Duration::from_secs(5);

/// Interval at which the last lines of an installer are shown.
const SILENCE: Duration = Duration::from_secs(10);

/// Number of lines that are shown then.
const SHOWN_LINES: usize = 5;

/// The message of an interpreter without pip.
const NO_PIP: &str = "No module named pip";

/// Messages of uv and pip about requirements that no versions meet. Others are more specific.
const INCOMPATIBLE: &[&str] = &["No solution found", "ResolutionImpossible", "No matching distribution"];

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
        &["does not satisfy Python", "requires a different Python"],
        "a package needs another Python; select one with `python_version` or --python",
    ),
    (&["ensurepip is not available", "No module named venv"], "install python3-venv, or uv"),
];

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
    let Choice { interpreter, is_complete, environments } =
        search::choose(directory, packages, &options.selection, &required, hooks).await?;
    let program = if is_complete {
        interpreter.path
    } else {
        may_install(options, interpreter.inspection.missing.clone())?;
        install(session, packages, options, &interpreter, &required, hooks).await?
    };
    // Other installations may complete an environment of the user, or remove something from it.
    let own = is_complete.then_some(interpreter.inspection.packages);
    let foreign = environments.into_iter().chain(own);
    let foreign =
        foreign.filter_map(|path| environment::changed_at(&path).map(|changed| (path, changed))).collect();
    Environment { key, program: program.clone(), foreign, debugger }.write(directory, PYTHON)?;
    Ok(program)
}

/// Fails if `missing` may not be installed.
pub(super) fn may_install(options: &Options, missing: Vec<String>) -> Result<(), Error> {
    if options.installs { Ok(()) } else { Err(Error::Missing { missing }) }
}

/// Our environment.
fn home(directory: &Path) -> PathBuf {
    directory.join(HOME).join(PYTHON)
}

/// Whether `program` is the interpreter of our environment, not of one of the user's.
pub(super) fn is_own(program: &Path, directory: &Path) -> bool {
    program.starts_with(home(directory))
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
    let home = home(directory);
    let python = home.join("bin/python");
    // It is recorded again when it is complete.
    Environment::forget(directory, PYTHON);
    let with = if packages.uses_pip { "pip" } else { "uv" };
    let what = format!("server and packages into {HOME}/{PYTHON} (ignored by git)");
    let message = format!("{what} with {with}");
    hooks.event(&Event::Provisioning { message, done: false });
    let constraints = home.with_file_name(CONSTRAINTS);
    let is_locked = !packages.constraints.is_empty();
    let has_version = |inspection: Inspection| inspection.version == base.inspection.version;
    let is_usable =
        inspect(&python, directory, required, options.selection.timeout).await.is_ok_and(has_version);
    // An installer keeps the versions that it finds, also those of a lock file.
    let was_locked = !is_locked && constraints.exists();
    let uv = match installer::uv(packages, &options.selection.surroundings, directory) {
        None if !packages.uses_pip => get_uv(&base.path, directory, hooks).await?,
        uv => uv,
    };
    let lacks_installer = uv.is_none() && !home.join("bin/pip").is_file();
    if !is_usable || was_locked || lacks_installer {
        fs::remove_dir_all(&home).ok();
        run(&installer::create(uv.as_deref(), &base.path, &home, directory), hooks).await?;
    }
    let installer = uv.map_or(Installer::Pip, Installer::Uv);
    let debugger = options.debugger.is_some();
    let mut has_server = false;
    if is_locked {
        has_server =
            install_locked(&installer, &python, packages, debugger, &constraints, directory, hooks).await?;
    } else {
        fs::remove_file(&constraints).ok();
    }
    for command in installer.install(&python, packages, debugger, has_server, directory) {
        run(&command, hooks).await?;
    }
    let library = home.join("lib").join(base.inspection.library()).join("site-packages");
    if let Some((package, version)) = held_back(packages, &library) {
        let check = installer.install_newest(&python, packages, false, None, directory).argument("--dry-run");
        warn_of_old_server(package, &version, &check, hooks).await?;
    }
    hooks.event(&Event::Provisioning { message: what, done: true });
    Ok(python)
}

/// Installs the versions of the lock files, of which the newest server replaces those that it does not work with. Returns
/// false if it is not installed, since the requirements exclude it.
async fn install_locked(
    installer: &Installer,
    python: &Path,
    packages: &PythonPackages,
    debugger: bool,
    constraints: &Path,
    directory: &Path,
    hooks: &mut dyn Hooks,
) -> Result<bool, Error> {
    let locks = listed(packages.locks.iter().map(String::as_str));
    hooks.note(format!("the versions of {locks} are installed; --no-lock installs the newest ones"));
    project::write_atomically(constraints, packages.constraints.join("\n").as_bytes())?;
    let newest = |constraints| installer.install_newest(python, packages, debugger, constraints, directory);
    if attempt(&newest(Some(constraints)), hooks).await?.0.is_success() {
        return Ok(true);
    }
    let command = installer.install_locked(python, packages, constraints, directory);
    let advice = "update the lock file, or install the newest versions with --no-lock";
    run_or(&command, Some(advice), hooks).await?;
    Ok(attempt(&newest(None), hooks).await?.0.is_success())
}

/// The package of the server that is older than the newest one, and its version in the directory `library`.
fn held_back<'a>(packages: &'a PythonPackages, library: &Path) -> Option<(&'a ServerPackage, String)> {
    let entries: Vec<_> = fs::read_dir(library).ok()?.flatten().map(|entry| entry.file_name()).collect();
    packages.server.iter().find_map(|package| {
        let start = format!("{}-", package.name.replace('-', "_"));
        let version = |name: &str| Some(name.strip_prefix(&start)?.strip_suffix(".dist-info")?.to_owned());
        let version = entries.iter().find_map(|name| version(name.to_str()?))?;
        (package.newest.as_ref()? != &version).then_some((package, version))
    })
}

/// Warns that an older server is installed. The failure of `check` says why.
async fn warn_of_old_server(
    package: &ServerPackage,
    version: &str,
    check: &Command,
    hooks: &mut dyn Hooks,
) -> Result<(), Error> {
    let (status, last) = attempt(check, hooks).await?;
    let text = last.join(" ");
    let cause = text.find("Because ").filter(|_| !status.is_success());
    let cause = cause.map(|at| text[at..].split_whitespace().collect::<Vec<_>>().join(" "));
    let cause = cause.unwrap_or_else(|| "The project's requirements exclude it.".to_owned());
    let ServerPackage { name, newest, .. } = package;
    hooks.warn(format!(
        "installed {name} {version} instead of {}. {cause} Change these requirements, or select the server with `api_version`.",
        newest.as_deref().unwrap_or_default()
    ));
    Ok(())
}

/// Installs uv with the pip of the interpreter `base`, or with one that is installed first. Returns none, after a note, if it
/// cannot be had.
async fn get_uv(base: &Path, directory: &Path, hooks: &mut dyn Hooks) -> Result<Option<PathBuf>, Error> {
    let home = installer::own(directory);
    let message = "uv".to_owned();
    hooks.event(&Event::Provisioning { message, done: false });
    let (mut status, mut last) = attempt(&installer::get_uv(base, &home, directory), hooks).await?;
    if last.iter().any(|line| line.contains(NO_PIP)) {
        run(&installer::create(None, base, &home, directory), hooks).await?;
        let python = home.join("bin/python");
        (status, last) = attempt(&installer::get_uv(&python, &home, directory), hooks).await?;
    }
    let uv = installer::uv_in(&home);
    if status.is_success() && uv.is_file() {
        return Ok(Some(uv));
    }
    let cause = last.iter().rfind(|line| line.starts_with("ERROR: "));
    let cause = cause.map_or_else(String::new, |line| line.replacen("ERROR", "", 1));
    hooks.note(format!("cannot install uv, installing with pip instead{cause}"));
    Ok(None)
}

/// Runs an installer, and reports its output as progress.
pub(super) async fn run(command: &Command, hooks: &mut dyn Hooks) -> Result<(), Error> {
    run_or(command, None, hooks).await
}

/// The same. `advice` is the next step after a failure that has no other one.
async fn run_or(command: &Command, advice: Option<&str>, hooks: &mut dyn Hooks) -> Result<(), Error> {
    let (status, last) = attempt(command, hooks).await?;
    if status.is_success() {
        return Ok(());
    }
    let hint = hint(&last, advice);
    hooks.lines(last);
    Err(Error::Install { command: short(command), status: status.to_string(), hint })
}

/// Runs an installer to its end; returns its status and its last lines. Its output is progress, of which the last lines are
/// shown if it takes long.
pub(super) async fn attempt(
    command: &Command,
    hooks: &mut dyn Hooks,
) -> Result<(Status, Vec<String>), Error> {
    let failed = |source| Error::Run { program: command.shown(), source };
    let mut child = Child::start(command, GRACE).map_err(failed)?;
    let mut unseen: Vec<String> = Vec::new();
    let mut due = Instant::now() + SILENCE;
    loop {
        tokio::select! {
            next = child.next() => match next.map_err(failed)? {
                Next::Lines(lines) => {
                    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
                    for line in lines {
                        hooks.event(&Event::Provisioning { message: line.to_owned(), done: false });
                        unseen.push(line.to_owned());
                    }
                    unseen.drain(..unseen.len().saturating_sub(SHOWN_LINES));
                }
                Next::Ended(status) => return Ok((status, child.last_lines())),
            },
            () = sleep_until(due) => {
                due += SILENCE;
                if unseen.is_empty() { hooks.note(format!("{} is still running", short(command))) } else { hooks.lines(std::mem::take(&mut unseen)) }
            }
        }
    }
}

/// The program and its subcommand.
fn short(command: &Command) -> String {
    let command = command.shown();
    command.split(" --").next().unwrap_or(&command).to_owned()
}

/// The next step after an installer failed with these last lines; `advice` if they say nothing specific.
fn hint(last: &[String], advice: Option<&str>) -> Option<String> {
    let names = |words: &[&str]| last.iter().any(|line| words.iter().any(|word| line.contains(word)));
    let known = REASONS.iter().find(|(words, _)| names(words)).map(|(_, hint)| (*hint).to_owned());
    let incompatible = || {
        let server: Vec<&str> = SERVER.iter().map(|(name, _)| *name).collect();
        let other = if names(&server) { ", or select another server with `api_version`" } else { "" };
        format!("some requirements are incompatible; change them{other}")
    };
    known.or_else(|| advice.map(str::to_owned)).or_else(|| names(INCOMPATIBLE).then(incompatible))
}
