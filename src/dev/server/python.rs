//! The command that starts the Python server.

use serde_json::{Map, Value, json};

use super::{Launch, OPEN_CONNECTIONS, is_quiet};
use crate::child::Command;
use crate::compiler::back::plan::Variant;
use crate::compiler::server::local;
use crate::dev::guard::node_module;
use crate::dev::{HOME, databases, provision, standby, story};

/// Runs the server in its interpreter.
const SERVE: &str = concat!(
    include_str!("guard.py"),
    include_str!("standby.py"),
    include_str!("prepare.py"),
    include_str!("../../../python/server/agentcli_prompt.py"),
    include_str!("runs.py"),
    include_str!("serve.py")
);

/// The modules that the last server imported, and their files.
const MODULES: &str = "imported.json";

pub(super) fn command(launch: &Launch<'_>) -> Command {
    let Launch { session, options, runtime, .. } = launch;
    let command = Command::new(&runtime.program, &session.directory).arguments(["-P", "-c", SERVE]);
    let command = command.argument(arguments(launch).to_string());
    let command = if launch.waits { command.with_input() } else { command };
    command.variable("PYTHONUNBUFFERED", "1").variable(local::LOG_LEVEL, &options.log_level)
}

fn arguments(launch: &Launch<'_>) -> Value {
    let Launch { session, options, runtime, address, rules, .. } = launch;
    let packages = session.plan.local.python.iter();
    let path =
        packages.flat_map(|it| &it.path).map(|path| session.directory.join(path).display().to_string());
    let installed = session.plan.server.product.with_databases();
    let debugger = options.debugger.as_ref().map(|it| json!([it.host, it.port, it.waits]));
    let mut server = json!({
        "app": installed.map_or(local::APPLICATION, |installation| installation.application),
        "host": options.host,
        "port": address.port,
        "access_log": false,
        "timeout_graceful_shutdown": OPEN_CONNECTIONS.as_secs(),
        "log_config": log_config(&options.log_level),
    });
    if let Some(tls) = &options.tls {
        server["ssl_certfile"] = json!(tls.certificate);
        server["ssl_keyfile"] = json!(tls.key);
    }
    let has_bridge = session.plan.server.variant == Variant::Mixed;
    json!({
        "path": path.collect::<Vec<_>>(),
        "tells": story::MARK,
        "is_quiet": is_quiet(options),
        "files": installed.map(|_| databases::files(&session.directory)),
        "writes_bytecode": provision::is_own(&runtime.program, &session.directory),
        "debugger": debugger,
        "guard": rules,
        "node_guard": has_bridge.then(|| node_module(rules)),
        "sockets": launch.descriptors(),
        "server": server,
        "standby": standby::is_possible(session, options).then(|| standby_options(launch)),
    })
}

/// What the server and its standby need to know of each other.
fn standby_options(launch: &Launch<'_>) -> Value {
    let Launch { session, waits, .. } = launch;
    let local = &session.plan.local;
    let outside = local.python.iter().flat_map(|packages| &packages.path).chain([&local.watch.root]);
    let roots: Vec<_> =
        outside.map(|path| session.directory.join(path)).chain([session.directory.clone()]).collect();
    json!({
        "roots": roots,
        "state": session.directory.join(&local.state),
        "modules": session.directory.join(HOME).join(MODULES),
        "without": [],
        "waits": waits,
    })
}

/// Everything is logged to the console, in the format of the server.
fn log_config(level: &str) -> Value {
    let loggers = local::LOGGERS.iter().map(|&name| (name.to_owned(), json!({ "level": level })));
    json!({
        "version": 1,
        "disable_existing_loggers": false,
        "formatters": { "own": { "class": local::LOG_FORMATTER } },
        "handlers": { "console": { "class": "logging.StreamHandler", "formatter": "own", "stream": "ext://sys.stdout" } },
        "loggers": loggers.collect::<Map<_, _>>(),
        "root": { "handlers": ["console"] },
    })
}
