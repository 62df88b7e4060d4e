//! The server's process: how it is started, and when it is ready.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::child::Child;
use super::command::Command;
use super::error::Error;
use super::event::Urls;
use super::session::{Options, Session};
use crate::compiler::server::{local, variables};

/// Runs the server in its interpreter.
const SERVE: &str = include_str!("serve.py");

/// How long the server may take to finish what it does and to write its state.
const GRACE: Duration = Duration::from_secs(10);

/// How long it lets open connections finish, in seconds; less than its grace.
const OPEN_CONNECTIONS: u32 = 3;

/// Where a server listens.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    /// The tunnel's, where there is one.
    pub(super) public: Option<String>,
}

/// Starts the Python server.
pub(super) fn start(
    session: &Session,
    options: &Options,
    python: &Path,
    address: &Address,
) -> Result<Child, Error> {
    let command = Command::new(python, &session.directory).arguments(["-P", "-c", SERVE]);
    let command = command.argument(arguments(session, options, address.port).to_string());
    let command = environment(command, session, options, address);
    Child::start(&command, GRACE)
        .map_err(|source| Error::Run { program: python.display().to_string(), source })
}

fn arguments(session: &Session, options: &Options, port: u16) -> Value {
    let packages = session.plan.local.python.iter();
    let path =
        packages.flat_map(|it| &it.path).map(|path| session.directory.join(path).display().to_string());
    let debugger = options.debugger.map(|it| json!([options.host, it.port, it.waits]));
    let mut server = json!({
        "app": local::APPLICATION,
        "host": options.host,
        "port": port,
        "access_log": false,
        "timeout_graceful_shutdown": OPEN_CONNECTIONS,
        "log_config": log_config(options.log_level),
    });
    if let Some(tls) = &options.tls {
        server["ssl_certfile"] = json!(tls.certificate);
        server["ssl_keyfile"] = json!(tls.key);
    }
    json!({ "path": path.collect::<Vec<_>>(), "debugger": debugger, "server": server })
}

/// All that is logged goes to the console, in the server's own form.
fn log_config(level: &str) -> Value {
    let loggers = local::LOGGERS.iter().map(|&name| (name.to_owned(), json!({ "level": level })));
    json!({
        "version": 1,
        "disable_existing_loggers": false,
        "formatters": { "own": { "class": local::LOG_FORMATTER } },
        "handlers": { "console": { "class": "logging.StreamHandler", "formatter": "own", "stream": "ext://sys.stdout" } },
        "loggers": loggers.collect::<serde_json::Map<_, _>>(),
        "root": { "handlers": ["console"] },
    })
}

/// The user's variables, and over them the contract: what a part of the configuration does not set must not come from
/// elsewhere.
fn environment(command: Command, session: &Session, options: &Options, address: &Address) -> Command {
    let plan = &session.plan.local;
    let mut command = plan.unset.iter().fold(command, |command, name| command.without(name));
    command = command.variable("PYTHONUNBUFFERED", "1").variable(local::LOG_LEVEL, options.log_level);
    command = command.variable(local::LOG_COLOUR, options.colour.to_string());
    let users = session.env.iter().filter(|(name, _)| !plan.unset.contains(name));
    for (name, value) in users {
        command = match value {
            Some(value) => command.variable(name, value),
            None => command.without(name),
        };
    }
    for (name, value) in &plan.contract {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        command = command.variable(name, text);
    }
    for (name, value) in &plan.variables {
        command = command.variable(name, value);
    }
    let url = urls(session, options, address);
    command
        .variable(local::JOBS, options.jobs.to_string())
        .variable(local::ALLOW_BLOCKING, options.allow_blocking.to_string())
        .variable(local::URL, url.public.unwrap_or(url.api))
}

/// Where the server is reached.
pub(super) fn urls(session: &Session, options: &Options, address: &Address) -> Urls {
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let prefix = mount_prefix(session);
    let origin = format!("{scheme}://{}:{}", host_in_url(&options.host), address.port);
    let api = format!("{origin}{prefix}");
    let public = address.public.as_ref().map(|url| format!("{url}{prefix}"));
    let (_, connect) = local::STUDIO;
    let studio = format!("{}{connect}{}", options.studio, public.as_ref().unwrap_or(&api));
    let (ok, docs) = (format!("{api}{}", local::OK_ROUTE), format!("{api}{}", local::DOCS_ROUTE));
    Urls { origin, ok, docs, api, studio, public }
}

/// The address as a browser on this machine needs it.
fn host_in_url(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(IpAddr::V6(address)) if address.is_unspecified() => "[::1]".to_owned(),
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}

/// What all routes begin with: a variable wins over the configuration, as in the server.
fn mount_prefix(session: &Session) -> String {
    let variable = |name: &&str| session.env.iter().find(|(known, _)| known == name)?.1.clone();
    let variables = local::MOUNT_PREFIX.iter().find_map(variable);
    let http = session.plan.local.contract.get(variables::HTTP);
    let configured = http.and_then(|http| http["mount_prefix"].as_str()).map(str::to_owned);
    variables.or(configured).unwrap_or_default()
}
