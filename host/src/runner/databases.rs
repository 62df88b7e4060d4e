//! PostgreSQL and Redis, shared by all servers of the host: a database and a role, and a prefix of keys, for each
//! deployment.

mod commands;
mod helper;
mod postgres;
mod redis;
mod text;

use std::collections::BTreeSet;
use std::sync::Mutex as Locked;
use std::time::Duration;

use ring::hmac;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use agentcli::compiler::server::setup;
use agentcli::engine::{Container, Engine, Error, State};

use self::helper::{Helper, ROLE};
use self::text::{decoded, printed};
use super::labels::{self, label};
use super::{Failure, LAST_LINES, networks, with_cause};
use crate::lock::lock;

/// Default maximum number of connections of a deployment to PostgreSQL: what a whole server permits by default.
pub const CONNECTIONS: u32 = 100;

/// Number of servers that the connections of a deployment are for: two replicas of the active and of the next revision.
const SERVERS: u32 = 4;

/// Time for which one act waits for the databases, and the pause between checks. The act is then tried again.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(300);

/// Time after which a database that does not become healthy is reported with its last lines.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time for which a successful check counts.
const FRESH: Duration = Duration::from_secs(5);

/// Timeout for a command of a database.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The databases that the servers share. There is no `Debug`: addresses and the key are secret.
pub struct Databases {
    postgres: Option<Url>,
    redis: Option<Url>,
    /// The key that all passwords are derived with.
    key: hmac::Key,
    /// Maximum number of connections of a deployment to PostgreSQL.
    connections: u32,
    /// Whether deployments use the user of the host in Redis.
    shares_redis_user: bool,
    /// Held while containers are started.
    starting: Mutex<()>,
    /// Held while a network is created: engines permit several of one name.
    connecting: Mutex<()>,
    /// The result of the last check.
    checked: Locked<Checked>,
    /// Whether they are ready for the deployments.
    preparation: Locked<Preparation>,
}

/// The result of the last check of the databases.
#[derive(Default)]
enum Checked {
    #[default]
    Never,
    Healthy(Instant),
    /// Since when they are not, and the report of that.
    Unhealthy(Instant, Option<String>),
}

/// Whether the databases know the deployments.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Preparation {
    /// This process does not know what happened before it.
    #[default]
    Unknown,
    /// One of them was started, and may be new.
    Outdated,
    Done,
}

/// A script of psql, with the database that it runs in [default: that of the host], and its values.
#[derive(Clone, Copy, Default)]
struct Script<'a> {
    text: &'a str,
    database: Option<&'a str>,
    name: &'a str,
    verifier: &'a str,
}

impl Databases {
    /// The databases at these addresses; containers of the host without them. `key` is a secret of the host; with another
    /// one, roles get another password.
    ///
    /// # Errors
    ///
    /// An address is not a URL, as a fragment without the address.
    pub fn new(postgres: Option<&str>, redis: Option<&str>, key: &[u8]) -> Result<Self, String> {
        let url = |name: &str, text: Option<&str>| {
            text.map(Url::parse)
                .transpose()
                .map_err(|error| format!("the address of {name} is not a URL: {error}"))
        };
        Ok(Self {
            postgres: url("PostgreSQL", postgres)?,
            redis: url("Redis", redis)?,
            key: hmac::Key::new(hmac::HMAC_SHA256, key),
            connections: CONNECTIONS,
            shares_redis_user: false,
            starting: Mutex::default(),
            connecting: Mutex::default(),
            checked: Locked::default(),
            preparation: Locked::default(),
        })
    }

    /// The same with another maximum number of connections of a deployment to PostgreSQL.
    #[must_use]
    pub fn with_connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// The same with one user of all deployments in Redis, for servers that do not permit others: deployments then reach each
    /// other's keys.
    #[must_use]
    pub fn with_shared_redis_user(mut self) -> Self {
        self.shares_redis_user = self.redis.is_some();
        self
    }

    fn postgres(&self) -> Helper {
        Helper { service: &setup::POSTGRES, is_client: self.postgres.is_some() }
    }

    fn redis(&self) -> Helper {
        Helper { service: &setup::REDIS, is_client: self.redis.is_some() }
    }

    /// Starts the containers, and waits a moment until they are healthy.
    pub(super) async fn start(&self, engine: &Engine, host: &str) -> Result<(), Failure> {
        if self.is_fresh() {
            return Ok(());
        }
        let Ok(_starting) = timeout(PATIENCE, self.starting.lock()).await else {
            return Err(Failure::Unavailable("PostgreSQL and Redis are being started".to_owned()));
        };
        if self.is_fresh() {
            return Ok(());
        }
        let known = engine.containers(labels::HOST, host).await?;
        networks::provide_shared(engine, host).await?;
        for helper in [self.redis(), self.postgres()] {
            self.run_helper(engine, host, &helper, &known).await?;
        }
        let deadline = Instant::now() + PATIENCE;
        for helper in [self.redis(), self.postgres()].iter().filter(|helper| !helper.is_client) {
            self.wait(engine, host, helper, deadline).await?;
        }
        self.prepare(engine, host, &known).await?;
        *lock(&self.checked) = Checked::Healthy(Instant::now());
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        matches!(*lock(&self.checked), Checked::Healthy(at) if at.elapsed() < FRESH)
    }

    /// Starts a container unless it runs.
    async fn run_helper(
        &self,
        engine: &Engine,
        host: &str,
        helper: &Helper,
        known: &[Container],
    ) -> Result<(), Failure> {
        let name = helper.container(host);
        match known.iter().find(|container| container.name == name) {
            Some(found) if !labels::is_current(found) || found.state == State::Gone => {
                engine.remove(&name).await?;
                self.create(engine, host, helper).await?;
            }
            Some(Container { state: State::Running(_), .. }) => return Ok(()),
            Some(_) => {}
            None => self.create(engine, host, helper).await?,
        }
        {
            let mut preparation = lock(&self.preparation);
            if *preparation == Preparation::Done {
                *preparation = Preparation::Outdated;
            }
        }
        Ok(engine.start_container(&name, &[]).await?)
    }

    async fn create(&self, engine: &Engine, host: &str, helper: &Helper) -> Result<(), Failure> {
        if engine.image(helper.service.image).await?.is_none() {
            engine.pull(helper.service.image, |_| ()).await?;
        }
        if let Some(volume) = helper.volume(host) {
            engine.create_volume(&volume, &[label(labels::HOST, host)]).await?;
        }
        match engine.create(&helper.spec(host, &self.host_password(helper, host))).await {
            Err(Error::NameTaken { .. }) => Ok(()),
            created => Ok(created.map(drop)?),
        }
    }

    async fn wait(
        &self,
        engine: &Engine,
        host: &str,
        helper: &Helper,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let (name, command) = (helper.container(host), helper.health());
        let environment = redis::variables(Some(self.host_password(helper, host)));
        let is_healthy = async || {
            let ended = engine.run_in(&name, &command, &environment, COMMAND_LIMIT).await;
            ended.is_ok_and(|ended| ended.code == 0)
        };
        while !is_healthy().await {
            if Instant::now() >= deadline {
                return Err(Failure::Unavailable(self.report(engine, &name, helper.service.name).await));
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Makes the databases ready for the deployments that have containers: a new container knows no users and no networks, and
    /// a Redis elsewhere may have lost its users in a restart.
    async fn prepare(&self, engine: &Engine, host: &str, known: &[Container]) -> Result<(), Failure> {
        let preparation = *lock(&self.preparation);
        if preparation == Preparation::Done && self.redis.is_none() {
            return Ok(());
        }
        let deployment = |container: &Container| container.labels.get(labels::DEPLOYMENT).cloned();
        let deployments: BTreeSet<String> = known.iter().filter_map(deployment).collect();
        self.set_redis_users(engine, host, deployments.iter().map(String::as_str)).await?;
        if preparation == Preparation::Done {
            return Ok(());
        }
        self.protect(engine, host).await?;
        for (network, deployment) in networks::of_deployments(engine, host).await? {
            if deployments.contains(&deployment) {
                self.connect(engine, host, &network.id).await?;
            } else if preparation == Preparation::Unknown {
                // No container needs it; the next one creates it again. It stays while anything else uses it.
                networks::remove(engine, &network, &self.servers(host)).await.ok();
            }
        }
        *lock(&self.preparation) = Preparation::Done;
        Ok(())
    }

    /// Why a database is waited for. It is the same text until that is over.
    async fn report(&self, engine: &Engine, name: &str, service: &str) -> String {
        let (since, report) = match &*lock(&self.checked) {
            Checked::Unhealthy(since, report) => (*since, report.clone()),
            _ => (Instant::now(), None),
        };
        let report = match report {
            None if since.elapsed() >= START_LIMIT => {
                let lines = engine.last_lines(name, LAST_LINES).await.unwrap_or_default();
                let reason = format!("{name} is not healthy after {} s", START_LIMIT.as_secs());
                Some(with_cause(&reason, &lines))
            }
            report => report,
        };
        *lock(&self.checked) = Checked::Unhealthy(since, report.clone());
        report.unwrap_or_else(|| format!("waiting for {service} to become healthy"))
    }

    /// The names of the containers with databases.
    fn servers(&self, host: &str) -> Vec<String> {
        let helpers = [self.redis(), self.postgres()];
        helpers.iter().filter(|helper| !helper.is_client).map(|helper| helper.container(host)).collect()
    }

    /// Connects the databases to a network.
    async fn connect(&self, engine: &Engine, host: &str, network: &str) -> Result<(), Failure> {
        for helper in [self.redis(), self.postgres()].iter().filter(|helper| !helper.is_client) {
            engine.connect_to(network, &helper.container(host), &[helper.service.name]).await?;
        }
        Ok(())
    }

    /// Makes the network, the database and the user of a deployment; returns the variables of its servers.
    pub(super) async fn provide(
        &self,
        engine: &Engine,
        host: &str,
        deployment: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        self.start(engine, host).await?;
        let network = {
            let _connecting = self.connecting.lock().await;
            networks::provide_for(engine, host, deployment).await?
        };
        self.connect(engine, host, &network).await?;
        let (name, password) = (database(deployment), self.password(deployment));
        let verifier = postgres::verifier(&password, postgres::salt(&self.key, deployment));
        let script = Script { text: postgres::CREATE, database: None, name: &name, verifier: &verifier };
        self.run(engine, host, script).await?;
        let script = Script { text: postgres::EXTEND, database: Some(&name), ..Script::default() };
        self.run(engine, host, script).await?;
        self.set_redis_users(engine, host, [deployment]).await?;
        let database = match &self.postgres {
            None => {
                format!("postgres://{name}:{password}@{}:5432/{name}?sslmode=disable", setup::POSTGRES.name)
            }
            Some(url) => with_user(url, &name, &password, Some(&name)),
        };
        let databases = setup::DATABASE_VARIABLES.iter().map(|&variable| (variable, database.clone()));
        let redis =
            [(setup::REDIS_URI.0, self.redis_uri(deployment)), (setup::REDIS_PREFIX, key_prefix(deployment))];
        Ok(databases.chain(redis).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The URL of Redis for a deployment.
    fn redis_uri(&self, deployment: &str) -> String {
        let (name, password) = (database(deployment), self.redis_password(deployment));
        match &self.redis {
            None => format!("redis://{name}:{password}@{}:6379", setup::REDIS.name),
            Some(url) if self.shares_redis_user => url.to_string(),
            Some(url) => with_user(url, &name, &password, None),
        }
    }

    /// The variable with the number of connections that one server of a deployment keeps open at most.
    pub(super) fn pool(&self) -> (String, String) {
        let size = (self.connections / SERVERS).max(1);
        (setup::DATABASE_POOL.to_owned(), size.to_string())
    }

    /// Removes the network, the database and the keys of a deployment.
    pub(super) async fn remove(&self, engine: &Engine, host: &str, deployment: &str) -> Result<(), Failure> {
        for network in engine.networks(&networks::name(host, deployment)).await? {
            networks::remove(engine, &network, &self.servers(host)).await?;
        }
        let known = engine.containers(labels::HOST, host).await?;
        let has_helpers = known.iter().any(|it: &Container| it.labels.contains_key(ROLE));
        if self.postgres.is_none() && self.redis.is_none() && !has_helpers {
            return Ok(());
        }
        self.start(engine, host).await?;
        let name = database(deployment);
        self.run(engine, host, Script { text: postgres::REMOVE, name: &name, ..Script::default() }).await?;
        let helper = self.redis();
        let command = redis::delete(self.redis.as_ref(), &key_prefix(deployment));
        let environment = redis::variables(self.redis_host_password(host));
        let ended = engine.run_in(&helper.container(host), &command, &environment, COMMAND_LIMIT).await?;
        if ended.output.trim().parse::<u64>().is_err() {
            let output = printed(&ended.output);
            return Err(Failure::Unavailable(format!("cannot delete the keys of the deployment: {output}")));
        }
        if self.shares_redis_user {
            return Ok(());
        }
        self.run_redis(engine, host, &redis::remove_user(&name)).await
    }

    /// The password of a role, which is the same whenever it is needed.
    fn password(&self, role: &str) -> String {
        self.secret(&format!("postgres role {role}"))
    }

    /// The password of a deployment in Redis.
    fn redis_password(&self, deployment: &str) -> String {
        self.secret(&format!("redis user {deployment}"))
    }

    /// The password of the host in Redis, if it has one.
    fn redis_host_password(&self, host: &str) -> Option<String> {
        match &self.redis {
            None => Some(self.redis_password(host)),
            Some(url) => url.password().map(decoded),
        }
    }

    /// The password of the superuser in a container.
    fn host_password(&self, helper: &Helper, host: &str) -> String {
        if helper.service.name == setup::REDIS.name { self.redis_password(host) } else { self.password(host) }
    }

    fn secret(&self, purpose: &str) -> String {
        hex::encode(hmac::sign(&self.key, purpose.as_bytes()))
    }
}

/// A URL with another user and, if it is given, another database.
fn with_user(url: &Url, name: &str, password: &str, database: Option<&str>) -> String {
    let mut url = url.clone();
    // Both fail only for URLs without a host.
    let _ = (url.set_username(name), url.set_password(Some(password)));
    if let Some(database) = database {
        url.set_path(database);
    }
    url.to_string()
}

/// The name of a deployment's database and role.
fn database(deployment: &str) -> String {
    let name: String = deployment.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("agent_{name}")
}

/// The prefix of a deployment's keys.
fn key_prefix(deployment: &str) -> String {
    format!("{}:", database(deployment))
}
