//! The server's process and its URLs.

mod javascript;
mod python;
mod resolution;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::address::Address;
use super::error::Error;
use super::guard::{self, Configured};
use super::page;
use super::port;
use super::session::{Options, Session};
use crate::child::{Child, Command, descriptor};
use crate::compiler::back::plan::Variant;
use crate::compiler::front::keys;
use crate::compiler::server::{CORS_ORIGINS, CORS_SETTINGS, local};
use crate::live::{self, Urls};

pub(super) use javascript::{resolution_files, unsupported};

/// Grace period of the server, in which it finishes its runs and writes its state. It gives its runs five seconds, after those
/// of open connections.
const GRACE: Duration = Duration::from_secs(9);

/// Time for open connections to finish; less than the grace period.
const OPEN_CONNECTIONS: Duration = Duration::from_secs(3);

/// The programs that run the server, with all packages installed.
#[derive(Clone, Debug, Default)]
pub(super) struct Runtime {
    /// The interpreter: Python or Node.js.
    pub(super) program: PathBuf,
    /// The directory that the JavaScript server is installed into.
    pub(super) home: PathBuf,
    /// Directories that precede those of the PATH.
    pub(super) path: Vec<PathBuf>,
}

impl Runtime {
    /// The PATH of its children, if that of this process is `path`.
    pub(super) fn search_path(&self, path: &str) -> String {
        let all = self.path.iter().cloned().chain(std::env::split_paths(path));
        std::env::join_paths(all).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    }
}

/// Everything that determines how the server is started.
struct Launch<'a> {
    session: &'a Session,
    options: &'a Options,
    runtime: &'a Runtime,
    address: &'a Address,
    /// The rules of the guard.
    rules: Value,
    /// Whether it waits until it is told to serve.
    waits: bool,
}

impl Launch<'_> {
    /// The descriptors of the sockets.
    fn descriptors(&self) -> Vec<i32> {
        self.address.sockets.iter().map(|socket| descriptor(socket)).collect()
    }
}

/// Starts the server; if it `waits`, as a standby, which serves after a line on its stdin.
pub(super) fn start(
    session: &Session,
    options: &Options,
    runtime: &Runtime,
    address: &Address,
    waits: bool,
) -> Result<Child, Error> {
    let bridge = bridge_ports(session);
    let rules = guard_rules(session, options, address, &bridge);
    let launch = Launch { session, options, runtime, address, rules, waits };
    let command = match session.plan.server.variant {
        Variant::Javascript => javascript::command(&launch),
        Variant::Mixed | Variant::Python => python::command(&launch),
    };
    let command = environment(command, &launch).with_sockets(&address.sockets);
    let command =
        bridge.iter().fold(command, |command, (name, port)| command.variable(name, port.to_string()));
    Child::start(&command, GRACE)
        .map_err(|source| Error::Run { program: runtime.program.display().to_string(), source })
}

/// Sets the user's variables, then those of the contract. Variables of the contract that the configuration does not set are
/// removed.
fn environment(command: Command, launch: &Launch<'_>) -> Command {
    let Launch { session, options, runtime, address, .. } = launch;
    let plan = &session.plan.local;
    let unset = plan.unset();
    let command = unset.iter().fold(command, |command, name| command.without(name));
    let installed = session.plan.server.product.with_databases();
    let defaults = installed.map_or(&[][..], |installation| installation.defaults);
    let command = defaults.iter().fold(command, |command, (name, value)| command.variable(name, *value));
    let command = command.variable(local::LOG_COLOUR, options.colour.to_string());
    let users = session.env.iter().filter(|(name, _)| !unset.contains(&name.as_str()));
    let mut command = command.variables(users);
    for (name, value) in &plan.contract {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        command = command.variable(name, text);
    }
    for (name, value) in &plan.variables {
        command = command.variable(name, value);
    }
    if plan.javascript.is_some() {
        command = command.variable("PATH", runtime.search_path(&options.selection.surroundings.path));
    }
    let url = urls(session, options, address);
    command
        .variable(local::JOBS, options.jobs.to_string())
        .variable(local::ALLOW_BLOCKING, options.allow_blocking.to_string())
        .variable(local::URL, url.public.unwrap_or(url.api))
}

/// Variables with free ports between the Python and the JavaScript part, if the server has both.
fn bridge_ports(session: &Session) -> Vec<(&'static str, u16)> {
    let packages = session.plan.local.javascript.as_ref();
    if packages.is_none_or(|packages| packages.bridge.is_none()) {
        return Vec::new();
    }
    local::BRIDGE_PORTS.iter().copied().zip(port::free(local::BRIDGE_PORTS.len())).collect()
}

/// Whether what dev tells of runs and requests is enough: the user asked for no more.
fn is_quiet(options: &Options) -> bool {
    !options.selection.verbose && options.log_level == "WARNING"
}

/// The rules of the guard for all ports that the server listens on.
fn guard_rules(session: &Session, options: &Options, address: &Address, bridge: &[(&str, u16)]) -> Value {
    let ports: Vec<u16> = bridge.iter().map(|(_, port)| *port).chain([address.port]).collect();
    let settings =
        variable(session, options, CORS_SETTINGS).and_then(|text| serde_json::from_str(&text).ok());
    let http = session.plan.local.contract.get(keys::HTTP);
    let cors = settings.as_ref().or_else(|| http?.get("cors"));
    let listed = variable(session, options, CORS_ORIGINS);
    let page = json!({
        "path": format!("{}/", prefix(session, options)),
        "file": page::file(&session.directory),
        "headers": page::headers(),
        // An app of the project may have the same path.
        "shared": http.is_some_and(|http| http.get("app").is_some_and(|app| !app.is_null())),
    });
    guard::rules(options, address, &ports, Configured::new(cors, listed.as_deref()), page)
}

/// The URLs of the server.
pub(super) fn urls(session: &Session, options: &Options, address: &Address) -> Urls {
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let origin = format!("{scheme}://{}:{}", host_in_url(&options.host), address.port);
    let prefix = prefix(session, options);
    let urls = Urls::new(&session.plan, origin, &prefix, address.public.as_deref(), &options.studio);
    // Without a prefix, a browser adds the slash.
    let page = if prefix.is_empty() { urls.api.clone() } else { format!("{}/", urls.api) };
    Urls { page: Some(page), ..urls }
}

/// The prefix of all routes of the server.
fn prefix(session: &Session, options: &Options) -> String {
    let http = session.plan.local.contract.get(keys::HTTP);
    live::mount_prefix(&session.plan, http, |name| variable(session, options, name))
}

/// The host in URLs for a browser on this machine.
fn host_in_url(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "[::1]".to_owned(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

/// A variable of the server's environment: the user's `env` takes precedence over this process's.
fn variable(session: &Session, options: &Options, name: &str) -> Option<String> {
    match session.env.iter().find(|(known, _)| known == name) {
        Some((_, value)) => value.clone(),
        None => {
            let known = options.selection.surroundings.server.iter().find(|(known, _)| known == name);
            known.map(|(_, value)| value.clone())
        }
    }
}
