//! The command that starts the JavaScript server, and the features that it lacks.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use url::Url;

use super::{Launch, OPEN_CONNECTIONS, is_quiet, resolution};
use crate::child::Command;
use crate::compiler::back::plan::Variant;
use crate::compiler::server::local;
use crate::dev::guard::node_module;
use crate::dev::session::{Debugger, Options, Session};
use crate::dev::{HOME, standby, story};

/// Runs the server in Node.js.
const SERVE: &str = concat!(
    include_str!("standby.mjs"),
    include_str!("../../../javascript/server/agentcli_prompt.mjs"),
    include_str!("runs.mjs"),
    include_str!("serve.mjs")
);

/// The packages that the project's files imported, as the last server recorded them.
const MODULES: &str = "imported-javascript.json";

pub(super) fn command(launch: &Launch<'_>) -> Command {
    let Launch { session, options, runtime, address, rules, .. } = launch;
    let [typescript, preload, server] = local::JAVASCRIPT_FILES.map(|file| url(&runtime.home.join(file)));
    let own = json!({
        "server": server,
        "sockets": launch.descriptors(),
        "patience": OPEN_CONNECTIONS.as_millis(),
        "tells": { "mark": story::MARK, "isQuiet": is_quiet(options) },
        "tls": options.tls.as_ref().map(|tls| [&tls.certificate, &tls.key]),
        "standby": standby::is_possible(session, options).then(|| standby_options(launch)),
    });
    let command = Command::new(&runtime.program, &session.directory);
    let command = command.arguments(options.debugger.as_ref().map(inspect));
    let command =
        command.arguments(["--import", &node_module(rules), "--import", &typescript, "--import", &preload]);
    let command = command.arguments(["--input-type=module", "--eval", SERVE, "--"]);
    let command =
        command.argument(own.to_string()).argument(settings(session, options, address.port).to_string());
    let command = if launch.waits { command.with_input() } else { command };
    command.variable(local::LOG_LEVEL, log_level(&options.log_level))
}

/// What the server and its standby need to know of each other.
fn standby_options(launch: &Launch<'_>) -> Value {
    let directory = &launch.session.directory;
    let root = directory.join(&launch.session.plan.local.watch.root);
    json!({
        "waits": launch.waits,
        "roots": [directory, &root.canonicalize().unwrap_or(root)],
        "modules": directory.join(HOME).join(MODULES),
    })
}

/// The configuration of the project that a standby reads without reading its code.
pub(in crate::dev) fn resolution_files(session: &Session) -> Vec<PathBuf> {
    let graphs = session.plan.local.contract.values().filter_map(Value::as_object).flatten();
    let paths = graphs.filter_map(|(_, graph)| graph.as_str().or_else(|| graph["path"].as_str()));
    let files = paths.filter_map(|path| path.split(':').next());
    let directories = files.filter_map(|path| Some(session.directory.join(path).parent()?.to_owned()));
    let directories: Vec<PathBuf> = directories.chain([session.directory.clone()]).collect();
    resolution::files(&directories)
}

/// The server's own options.
fn settings(session: &Session, options: &Options, port: u16) -> Value {
    let plan = &session.plan.local;
    let value = |variable| plan.contract.get(variable).cloned().unwrap_or_default();
    let mut settings: Map<String, Value> =
        plan.settings.iter().map(|(word, variable)| (word.clone(), value(variable))).collect();
    settings.insert("port".to_owned(), json!(port));
    settings.insert("host".to_owned(), json!(options.host));
    settings.insert("nWorkers".to_owned(), json!(options.jobs));
    settings.insert("cwd".to_owned(), json!(session.directory));
    Value::Object(settings)
}

/// The option that lets a debugger attach.
fn inspect(debugger: &Debugger) -> String {
    let option = if debugger.waits { "--inspect-wait" } else { "--inspect" };
    let host = &debugger.host;
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    format!("{option}={host}:{}", debugger.port)
}

/// The server's name of a Python log level.
fn log_level(level: &str) -> String {
    match level {
        "WARNING" => "warn".to_owned(),
        "CRITICAL" => "error".to_owned(),
        level => level.to_lowercase(),
    }
}

/// A file's address, as Node.js wants it on its command line.
fn url(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from)
}

/// Warnings about options that the server does not support, as fragments.
pub(in crate::dev) fn unsupported(session: &Session, options: &Options) -> Vec<String> {
    if session.plan.server.variant != Variant::Javascript {
        return Vec::new();
    }
    let keys = session.plan.local.unknown.iter();
    let unknown = keys.map(|key| format!("the JavaScript server ignores `{key}` outside a container"));
    let options = [
        (options.selection.python.is_some(), "--python", "runs without Python"),
        (options.allow_blocking, "--allow-blocking", "never checks for blocking calls"),
    ];
    let without = options.into_iter().filter(|(is_asked, ..)| *is_asked);
    let without =
        without.map(|(_, option, why)| format!("{option} has no effect: the JavaScript server {why}"));
    without.chain(unknown).collect()
}
