//! The values of the template.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::compute::{Resources, check_amount, resources, storage};
use super::container::{Containers, json};
use super::process::{Check, Process, Variable, migrations, processes};
use super::secrets::{self, Secret};
use super::{Refused, Request, Scope, metadata};
use crate::api::wire::Tier;
use crate::compiler::server::{self, cluster, setup};

/// Time between the end of the drain and the kill of a server, in seconds. It covers the `preStop` hook.
const MARGIN: u64 = 30;

/// All of them.
#[derive(Serialize)]
pub(super) struct Values<'a> {
    name: &'a str,
    namespace: Option<&'a str>,
    /// The user's labels.
    own_labels: Map<String, Value>,
    /// The user's annotations.
    annotations: Map<String, Value>,
    pod_annotations: Map<String, Value>,
    /// Whether the image has a user that is not root.
    is_own_user: bool,
    /// Whether a volume for temporary files is mounted, since the root is read-only.
    has_tmp: bool,
    /// The host of the Ingress, if there is one.
    host: Option<&'a str>,
    /// The revision of the pods.
    revision: Option<u32>,
    /// The settings that are no secrets.
    settings: IndexMap<&'static str, String>,
    secrets: Vec<Secret>,
    /// Whether variables of the server are known that are keys of its Secret. Otherwise the Secret may be absent.
    has_variables: bool,
    service_account: Option<&'a str>,
    pull_secrets: Value,
    volumes: Value,
    /// Mounts of containers with the user's code.
    mounts: Value,
    /// The user's containers.
    #[serde(flatten)]
    containers: Containers,
    /// Time until a stopping server is killed, in seconds.
    grace_period: u64,
    /// Storage of the state, in Gi.
    storage: u64,
    postgres: Option<Database>,
    redis: Option<Database>,
    migrations: Option<Process<'a>>,
    processes: Vec<Process<'a>>,
    times: Times,
}

/// Times of probes in seconds, and numbers of failures.
#[derive(Serialize)]
struct Times {
    interval: u32,
    timeout: u32,
    retries: u32,
    /// Failures of a starting server.
    start: u32,
    /// Interval of the checks before a running server is restarted: rarer than those before it gets no requests.
    liveness: u32,
    /// Time between the request to stop a pod and SIGTERM.
    pre_stop: u32,
}

/// A database that the manifests run.
#[derive(Serialize)]
struct Database {
    component: &'static str,
    image: String,
    arguments: Vec<String>,
    variables: Vec<Variable>,
    port: u16,
    check: Check,
    /// Failures while it starts.
    start: u32,
    resources: Option<Resources>,
    /// The directory of its state; empty if it keeps none.
    directory: &'static str,
}

impl<'a> Values<'a> {
    pub(super) fn new(
        scope: &Scope<'a>,
        secrets: Vec<Secret>,
        notes: &mut Vec<String>,
    ) -> Result<Self, Refused> {
        let request = scope.request;
        let own = &request.resources;
        let annotations = metadata::annotations(request)?;
        let settings = settings(scope);
        let mut pod_annotations = annotations.clone();
        let checksum = digest(&json(&(&settings, request.configuration))?);
        pod_annotations.insert("checksum/config".to_owned(), checksum.into());
        let is_own_user = request.server.installation.is_some();
        let mounts = own.volume_mounts.as_deref().unwrap_or_default();
        Ok(Self {
            name: &request.name,
            namespace: request.namespace.as_deref(),
            own_labels: metadata::labels(request)?,
            annotations,
            pod_annotations,
            is_own_user,
            has_tmp: is_own_user && mounts.iter().all(|mount| mount.mount_path.as_deref() != Some("/tmp")),
            host: request.host.as_deref(),
            revision: request.revision,
            settings,
            secrets,
            has_variables: !scope.variables.is_empty(),
            service_account: own.service_account_name.as_deref(),
            pull_secrets: json(&own.image_pull_secrets)?,
            volumes: json(&own.volumes)?,
            mounts: json(mounts)?,
            containers: Containers::new(request)?,
            grace_period: scope.drain.saturating_add(MARGIN),
            storage: storage(own.db_storage_gi)?,
            postgres: scope.has_database.then(|| postgres(request)).transpose()?,
            redis: scope.has_redis.then(|| redis(request)).transpose()?,
            migrations: migrations(scope)?,
            processes: processes(scope, notes)?,
            times: Times {
                interval: setup::INTERVAL,
                timeout: setup::TIMEOUT,
                retries: setup::RETRIES,
                start: failures(setup::SERVER_START_PERIOD),
                liveness: setup::INTERVAL * 4,
                pre_stop: 5,
            },
        })
    }
}

fn settings(scope: &Scope<'_>) -> IndexMap<&'static str, String> {
    let mut settings = IndexMap::from([
        (setup::PORT_VARIABLE, server::PORT.to_string()),
        (cluster::DRAIN_VARIABLE, scope.drain.to_string()),
    ]);
    if scope.has_redis {
        settings.insert(setup::REDIS_URI.0, cluster::redis_uri(&scope.request.object("redis")));
    }
    settings
}

/// PostgreSQL with the password of its Secret.
fn postgres(request: &Request<'_>) -> Result<Database, Refused> {
    let (_, directory) = setup::DATA;
    let password = Variable::secret(
        cluster::PASSWORD_VARIABLE,
        &request.object(secrets::PASSWORD),
        secrets::PASSWORD_KEY,
    );
    let data = Variable::text(cluster::DATA_VARIABLE, format!("{directory}/pgdata"));
    let arguments = match request.resources.db_max_connections {
        Some(connections) => {
            check_amount("db_max_connections", connections.into())?;
            vec!["postgres".to_owned(), "-c".to_owned(), format!("{}={connections}", cluster::CONNECTIONS)]
        }
        None => Vec::new(),
    };
    let database = database(request, &setup::POSTGRES, ("postgres", cluster::POSTGRES_PORT), Tier::Database)?;
    Ok(Database { arguments, variables: vec![password, data], directory, ..database })
}

/// Redis, which keeps nothing.
fn redis(request: &Request<'_>) -> Result<Database, Refused> {
    database(request, &setup::REDIS, ("redis", cluster::REDIS_PORT), Tier::Redis)
}

fn database(
    request: &Request<'_>,
    service: &setup::Service,
    (component, port): (&'static str, u16),
    tier: Tier,
) -> Result<Database, Refused> {
    Ok(Database {
        component,
        image: request.images.get(service.image).map_or(service.image, String::as_str).to_owned(),
        arguments: Vec::new(),
        variables: Vec::new(),
        port,
        check: Check::command(service.health),
        start: failures(service.start_period),
        resources: resources(tier, request.resources.tier(tier))?,
        directory: "",
    })
}

/// Failed checks in a time to start, in seconds.
fn failures(start_period: u32) -> u32 {
    start_period / setup::INTERVAL + setup::RETRIES
}

/// The first digits of the SHA-256 of a value.
fn digest(value: &Value) -> String {
    hex::encode(&Sha256::digest(value.to_string())[..4])
}
