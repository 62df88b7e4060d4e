//! The server on this machine: interpreters, installers and the port.

use std::time::Duration;

use tokio::time::timeout;

use super::check::{Check, Group, Subject, Task};
use super::{Request, SEARCH, blocking};
use crate::compiler::back::plan::{JavascriptPackages, PythonPackages};
use crate::compiler::server::local;
use crate::dev;
use crate::dev::prerequisites::{self, Found};

/// Deadline of a program, an engine or a service that is asked once.
pub const TIMEOUT: Duration = Duration::from_secs(4);

const fn subject(id: &'static str, name: &'static str) -> Subject {
    Subject { id, name, group: Group::Local, needed_by: &[Task::Dev] }
}

static PYTHON: Subject = subject("python", "Python");
static VENV: Subject = subject("venv", "venv module");
static UV: Subject = subject("uv", "uv");
static NODE: Subject = subject("node", "Node.js");
static MANAGER: Subject = subject("package-manager", "Package manager");
static PORT: Subject = subject("dev-port", "Port of dev");

pub(super) async fn checks(request: &Request) -> Vec<Check> {
    let (python, javascript) = packages(request);
    let (host, port) = ("127.0.0.1", request.dev_port);
    let (python, javascript, port) = tokio::join!(
        async {
            match &python {
                Some(packages) => self::python(request, packages).await,
                None => Vec::new(),
            }
        },
        async {
            match &javascript {
                Some(packages) => node(request, packages).await,
                None => Vec::new(),
            }
        },
        blocking(&PORT, move || vec![self::port(&dev::bind(host, port), port.number())]),
    );
    [python, javascript, port].into_iter().flatten().collect()
}

/// The packages of the plan; without a plan, those of any project.
fn packages(request: &Request) -> (Option<PythonPackages>, Option<JavascriptPackages>) {
    if let Some(plan) = &request.plan {
        return (plan.local.python.clone(), plan.local.javascript.clone());
    }
    let server = local::SERVER.iter().map(|(name, _)| (*name).to_owned()).collect();
    let python = PythonPackages { requirements: server, ..PythonPackages::default() };
    let packages = [(local::TSX.0.to_owned(), local::TSX.1.to_owned())].into_iter().collect();
    (Some(python), Some(JavascriptPackages { server: packages, ..JavascriptPackages::default() }))
}

async fn python(request: &Request, packages: &PythonPackages) -> Vec<Check> {
    let (directory, selection) = (&request.directory, &request.selection);
    let search = timeout(SEARCH, prerequisites::python(directory, packages, selection));
    let (found, uv) = tokio::join!(search, prerequisites::uv(directory, packages, selection));
    let found = found.ok();
    let usable = found.as_ref().and_then(|found| found.as_ref().ok());
    if usable.is_some_and(|found| found.is_complete) {
        return found.map(|found| interpreter(&PYTHON, found)).into_iter().collect();
    }
    let python = usable.map(|found| found.path.clone());
    let mut checks = vec![found.map_or_else(|| PYTHON.late(SEARCH), |found| interpreter(&PYTHON, found))];
    let has_uv = matches!(uv, Some(Ok(_)));
    checks.extend(match uv {
        Some(Ok((path, version))) => Some(UV.fine(format!("{version} (`{}`)", path.display()))),
        Some(Err(reason)) => Some(UV.missing(reason, "install it again, or remove it from the PATH")),
        None if packages.uses_pip => None,
        None => Some(UV.degraded(
            "not on the PATH; pip installs it into .agentcli first, which takes longer",
            "install it (`curl -LsSf https://astral.sh/uv/install.sh | sh`)",
        )),
    });
    if let Some(python) = python.filter(|_| !has_uv) {
        let shown = format!("`{}`", python.display());
        checks.push(if prerequisites::has_venv(directory, &python, selection).await {
            VENV.fine(format!("in {shown}"))
        } else {
            VENV.missing(
                format!("{shown} cannot create virtual environments with pip"),
                "install it (`sudo apt install python3-venv` on Debian and Ubuntu), or install uv",
            )
        });
    }
    checks
}

async fn node(request: &Request, packages: &JavascriptPackages) -> Vec<Check> {
    let (directory, selection) = (&request.directory, &request.selection);
    let Ok(found) = timeout(SEARCH, prerequisites::node(directory, packages, selection)).await else {
        return vec![NODE.late(SEARCH)];
    };
    let node = found.as_ref().map(|found| found.path.clone()).unwrap_or_default();
    let managers = prerequisites::package_managers(directory, packages, node, selection);
    let manager = |(name, found): (String, Result<std::path::PathBuf, dev::Error>)| {
        let check = match found {
            Ok(program) => MANAGER.fine(format!("`{}`", program.display())),
            Err(error) => MANAGER.missing(error.to_string(), error.hint().unwrap_or_default()),
        };
        check.named(name)
    };
    [interpreter(&NODE, found)].into_iter().chain(managers.into_iter().map(manager)).collect()
}

fn interpreter(subject: &Subject, found: Result<Found, dev::Error>) -> Check {
    match found {
        Err(error) => subject.missing(error.to_string(), error.hint().unwrap_or_default()),
        Ok(Found { path, version, origin, warnings, advice, .. }) => match &warnings[..] {
            [] => subject.fine(format!("{version}, {origin} (`{}`)", path.display())),
            warnings => subject.degraded(warnings.join("; "), advice),
        },
    }
}

fn port(bound: &Result<dev::Bound, dev::Error>, wanted: u16) -> Check {
    match bound {
        Ok(dev::Bound { port, holder: None, .. }) => PORT.fine(format!("{port} is free")),
        Ok(dev::Bound { port, holder: Some(holder), .. }) => PORT.degraded(
            format!("{wanted} is in use by {holder}; dev would use {port}"),
            "stop it, or choose another port with --port",
        ),
        Err(error) => PORT.missing(error.to_string(), error.hint().unwrap_or_default()),
    }
}
