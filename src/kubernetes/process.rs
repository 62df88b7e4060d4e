//! The processes with the user's code: server, queue workers, orchestrator, executors, and the migrations of the database.

use serde::Serialize;

use super::compute::{Resources, Scale, resources};
use super::{Refused, Scope, secrets};
use crate::api::wire::{Tier, TierSpec};
use crate::compiler::server::product::{State, USER};
use crate::compiler::server::{self, cluster, files, local, setup};

/// Port of the Service of the server.
const SERVICE_PORT: u16 = 80;

/// The component of the server's objects.
const SERVER: &str = "server";

/// A workload of containers with the user's code.
#[derive(Serialize)]
pub(super) struct Process<'a> {
    /// The component, which is the name of the container, too.
    component: &'static str,
    /// Name of its objects.
    object: String,
    image: &'a str,
    /// Empty for that of the image.
    command: &'static [&'static str],
    /// The variables that take precedence over those of the Secret.
    variables: Vec<Variable>,
    port_name: &'static str,
    port: u16,
    /// The port of its Service, if it has one.
    service_port: Option<u16>,
    check: Check,
    resources: Option<Resources>,
    /// The volume with its state, if it keeps any.
    state: Option<Volume>,
    #[serde(flatten)]
    scale: Scale,
}

/// A volume for the state of a server.
#[derive(Serialize)]
struct Volume {
    volume: &'static str,
    path: &'static str,
    /// The group that owns its files.
    group: u32,
}

/// A health check: a command, or else a path on a port, or else the port.
#[derive(Serialize)]
pub(super) struct Check {
    command: &'static [&'static str],
    path: String,
    port: u16,
}

impl Check {
    pub(super) fn command(command: &'static [&'static str]) -> Self {
        Self { command, path: String::new(), port: 0 }
    }

    pub(super) fn http(path: impl Into<String>, port: u16) -> Self {
        Self { command: &[], path: path.into(), port }
    }

    /// That of the server. A request costs it little, where a command of its container has to start an interpreter, which may
    /// take too long on a busy node. Commands remain where the answer is not enough: the project may refuse the request, or
    /// a variable may move the route.
    fn of_server(scope: &Scope<'_>) -> Self {
        let request = scope.request;
        let references = request.references.iter().filter_map(|it| it.name.as_deref());
        let mut names = request.variables.keys().map(String::as_str).chain(references);
        let is_moved = names.any(|name| local::MOUNT_PREFIX.contains(&name));
        match &request.prefix {
            _ if request.is_javascript => Self::command(files::JAVASCRIPT_HEALTHCHECK),
            Some(prefix) if !is_moved => Self::http(format!("{prefix}{}", local::OK_ROUTE), server::PORT),
            _ => Self::command(server::HEALTHCHECK),
        }
    }

    pub(super) fn tcp(port: u16) -> Self {
        Self::http("", port)
    }
}

/// A variable with a text, or from a key of a Secret.
#[derive(Default, Serialize)]
pub(super) struct Variable {
    name: String,
    value: String,
    secret: String,
    key: String,
}

impl Variable {
    pub(super) fn text(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), value: value.into(), ..Self::default() }
    }

    pub(super) fn secret(name: &str, secret: &str, key: &str) -> Self {
        Self { name: name.to_owned(), secret: secret.to_owned(), key: key.to_owned(), ..Self::default() }
    }
}

/// The processes that run as long as the deployment.
pub(super) fn processes<'a>(scope: &Scope<'a>, notes: &mut Vec<String>) -> Result<Vec<Process<'a>>, Refused> {
    let request = scope.request;
    let own = request.resources.tier(Tier::Server);
    if let State::Directory { volume, path } = request.server.state {
        let (min, max) = own.scale;
        let is_scaled = [min, max].into_iter().flatten().any(|scale| scale > 1);
        if is_scaled || scope.has_queue || scope.is_distributed {
            let message =
                format!("the server `{}` runs as one replica, without queue workers", request.server.name);
            return Err(Refused::new(
                message,
                "change the resources, or choose another server with --server",
            ));
        }
        let state = Some(Volume { volume, path, group: USER });
        return Ok(vec![Process { state, ..main(scope)? }]);
    }
    let mut processes = vec![Process { scale: Scale::new(Tier::Server, own, notes)?, ..main(scope)? }];
    if scope.has_queue {
        let spec = request.resources.tier(Tier::Queue).or(own);
        processes.push(Process {
            component: "queue",
            object: request.object("queue"),
            command: cluster::QUEUE_COMMAND,
            variables: variables(scope, &[])?,
            service_port: None,
            check: Check::http(local::OK_ROUTE, server::PORT),
            resources: resources(Tier::Queue, spec)?,
            scale: Scale::new(Tier::Queue, spec, notes)?,
            ..main(scope)?
        });
    }
    if scope.is_distributed {
        processes.extend(distributed(scope, notes)?);
    }
    Ok(processes)
}

/// The server that migrates the database, where that is in PostgreSQL.
pub(super) fn migrations<'a>(scope: &Scope<'a>) -> Result<Option<Process<'a>>, Refused> {
    let State::Databases { migrations } = scope.request.server.state else { return Ok(None) };
    let own = [(cluster::JOBS_VARIABLE, "0".to_owned()), (cluster::CRONS_VARIABLE, "false".to_owned())];
    let command = migrations.unwrap_or_default();
    Ok(Some(Process { command, variables: variables(scope, &own)?, ..main(scope)? }))
}

/// The server. It executes runs unless other processes do.
fn main<'a>(scope: &Scope<'a>) -> Result<Process<'a>, Refused> {
    let leaves_runs = scope.has_queue || scope.is_distributed;
    let own: &[_] = if leaves_runs { &[(cluster::JOBS_VARIABLE, "0".to_owned())] } else { &[] };
    Ok(Process {
        component: SERVER,
        object: scope.request.name.clone(),
        image: &scope.request.image,
        command: &[],
        variables: variables(scope, own)?,
        port_name: "http",
        port: server::PORT,
        service_port: Some(SERVICE_PORT),
        check: Check::of_server(scope),
        resources: resources(Tier::Server, scope.request.resources.tier(Tier::Server))?,
        state: None,
        scale: Scale { min: 1, max: 1 },
    })
}

/// The orchestrator, and the executors with the user's code.
fn distributed<'a>(scope: &Scope<'a>, notes: &mut Vec<String>) -> Result<[Process<'a>; 2], Refused> {
    let (orchestrator, executor) = (scope.request.object("orchestrator"), scope.request.object("executor"));
    let address = |name: &str, port: u16| format!("{name}:{port}");
    let image = scope.request.executor_image.as_deref().ok_or_else(|| {
        Refused::new(
            "the orchestrator and the executors need an image of the executors",
            format!(
                "build it with `agentcli build --base-image {} -t IMAGE`, and pass --executor-image IMAGE",
                cluster::EXECUTOR_IMAGE
            ),
        )
    })?;
    let mut process = |tier, component, port| -> Result<Process<'a>, Refused> {
        let spec: TierSpec = scope.request.resources.tier(tier);
        Ok(Process {
            component,
            object: scope.request.object(component),
            port_name: "grpc",
            port,
            service_port: Some(port),
            check: Check::tcp(port),
            resources: resources(tier, spec)?,
            scale: Scale::new(tier, spec, notes)?,
            ..main(scope)?
        })
    };
    let target = [(cluster::EXECUTOR_TARGET, address(&executor, cluster::EXECUTOR_PORT))];
    let mut own = vec![
        (cluster::EXECUTOR_PORT_VARIABLE, cluster::EXECUTOR_PORT.to_string()),
        (cluster::ORCHESTRATOR_TARGET, address(&orchestrator, cluster::ORCHESTRATOR_PORT)),
    ];
    own.extend(cluster::EXECUTOR_VARIABLES.iter().map(|&(name, value)| (name, value.to_owned())));
    Ok([
        Process {
            image: cluster::ORCHESTRATOR_IMAGE,
            variables: variables(scope, &target)?,
            ..process(Tier::Orchestrator, "orchestrator", cluster::ORCHESTRATOR_PORT)?
        },
        Process {
            image,
            command: cluster::EXECUTOR_COMMAND,
            variables: variables(scope, &own)?,
            ..process(Tier::Executor, "executor", cluster::EXECUTOR_PORT)?
        },
    ])
}

/// The password and the URLs of the database, those of a process, and references to secrets of the cluster.
fn variables(scope: &Scope<'_>, own: &[(&str, String)]) -> Result<Vec<Variable>, Refused> {
    let mut variables = Vec::new();
    if scope.has_database {
        let secret = scope.request.object(secrets::PASSWORD);
        variables.push(Variable::secret(cluster::PASSWORD_VARIABLE, &secret, secrets::PASSWORD_KEY));
        let uri = cluster::database_uri(&scope.request.object("postgres"));
        variables.extend(setup::DATABASE_VARIABLES.map(|name| Variable::text(name, &*uri)));
    }
    variables.extend(own.iter().map(|(name, value)| Variable::text(name, &**value)));
    for reference in &scope.request.references {
        match (&reference.name, &reference.secret_name, &reference.secret_key) {
            (Some(name), Some(secret), Some(key)) => variables.push(Variable::secret(name, secret, key)),
            _ => {
                let hint = "add its name, secret_name and secret_key";
                return Err(Refused::new("a secret reference is incomplete", hint));
            }
        }
    }
    Ok(variables)
}
