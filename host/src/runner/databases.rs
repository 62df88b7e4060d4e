//! PostgreSQL and Redis, shared by all servers of the host: a database and a role, and a prefix of keys, for each
//! deployment.

mod postgres;
mod redis;

use std::sync::Mutex as Locked;
use std::time::Duration;

use ring::hmac;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use agentcli::compiler::back::plan::VolumeMount;
use agentcli::compiler::server::setup::{self, Service};
use agentcli::engine::{Container, ContainerSpec, Engine, Error, Policy, State};

use super::labels::{self, label};
use super::{Failure, with_last_lines};
use crate::lock;

/// Time for which one act waits for the databases, and the pause between checks. The act is then tried again.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(300);

/// Time after which a database that does not become healthy is reported with its last lines.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Time for which a successful check counts.
const FRESH: Duration = Duration::from_secs(5);

/// Timeout for a command of a database.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The label with the role of a container for the host.
const ROLE: &str = "agentcli.role";

/// The databases that the servers share. There is no `Debug`: addresses and the key are secret.
pub struct Databases {
    postgres: Option<Url>,
    redis: Option<Url>,
    /// The key that the passwords of the roles are derived with.
    key: hmac::Key,
    /// Held while containers are started.
    starting: Mutex<()>,
    /// The result of the last check.
    checked: Locked<Checked>,
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

/// A container with a database, or with the client of one elsewhere.
struct Helper {
    service: &'static Service,
    is_client: bool,
}

impl Helper {
    fn container(&self, host: &str) -> String {
        let suffix = if self.is_client { "-client" } else { "" };
        format!("{}-{}{suffix}", labels::prefix(host), self.service.name)
    }
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
            starting: Mutex::default(),
            checked: Locked::default(),
        })
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
        create_network(engine, host).await?;
        for helper in [self.redis(), self.postgres()] {
            let name = helper.container(host);
            match known.iter().find(|container| container.name == name).map(|container| container.state) {
                Some(State::Running(_)) => continue,
                Some(State::Gone) => {
                    engine.remove(&name).await?;
                    self.create(engine, host, &helper).await?;
                }
                Some(_) => {}
                None => self.create(engine, host, &helper).await?,
            }
            engine.start_container(&name, &[]).await?;
        }
        let deadline = Instant::now() + PATIENCE;
        for helper in [self.redis(), self.postgres()].iter().filter(|helper| !helper.is_client) {
            self.wait(engine, &helper.container(host), helper.service, deadline).await?;
        }
        *lock(&self.checked) = Checked::Healthy(Instant::now());
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        matches!(*lock(&self.checked), Checked::Healthy(at) if at.elapsed() < FRESH)
    }

    async fn create(&self, engine: &Engine, host: &str, helper: &Helper) -> Result<(), Failure> {
        let &Helper { service, is_client } = helper;
        if engine.image(service.image).await?.is_none() {
            engine.pull(service.image, |_| ()).await?;
        }
        let is_server = |of: &Service| !is_client && service.name == of.name;
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let command =
            if is_client { owned(&["sh", "-c", "exec sleep infinity"]) } else { owned(service.command) };
        let (data, target) = setup::DATA;
        let volume = format!("{}-{data}", labels::prefix(host));
        let mut mounts = Vec::new();
        if is_server(&setup::POSTGRES) {
            engine.create_volume(&volume, &[label(labels::HOST, host)]).await?;
            mounts.push(VolumeMount { volume, target: target.to_owned() });
        }
        // Only the client in the container is the superuser, over the socket, which needs no password.
        let variable = |&(name, value): &(&str, &str)| match name {
            "POSTGRES_PASSWORD" => (name.to_owned(), self.password(host)),
            _ => (name.to_owned(), value.to_owned()),
        };
        let spec = ContainerSpec {
            name: helper.container(host),
            image: service.image.to_owned(),
            command: (!command.is_empty()).then_some(command),
            environment: service.environment.iter().map(variable).collect(),
            labels: vec![label(labels::HOST, host), label(ROLE, service.name)],
            ports: Vec::new(),
            address: None,
            mounts,
            health: None,
            network: labels::prefix(host),
            aliases: if is_client { Vec::new() } else { vec![service.name.to_owned()] },
            policy: Policy { restarts: true, ..Policy::default() },
        };
        match engine.create(&spec).await {
            Err(Error::NameTaken { .. }) => Ok(()),
            created => Ok(created.map(drop)?),
        }
    }

    async fn wait(
        &self,
        engine: &Engine,
        name: &str,
        service: &Service,
        deadline: Instant,
    ) -> Result<(), Failure> {
        let command: Vec<String> = service.health.iter().map(|&word| word.to_owned()).collect();
        while !engine.succeeds_in(name, &command, COMMAND_LIMIT).await {
            if Instant::now() >= deadline {
                return Err(Failure::Unavailable(self.report(engine, name, service).await));
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Why a database is waited for. It is the same text until that is over.
    async fn report(&self, engine: &Engine, name: &str, service: &Service) -> String {
        let (since, report) = match &*lock(&self.checked) {
            Checked::Unhealthy(since, report) => (*since, report.clone()),
            _ => (Instant::now(), None),
        };
        let report = match report {
            None if since.elapsed() >= START_LIMIT => {
                let lines = engine.last_lines(name, 5).await.unwrap_or_default();
                let reason = format!("{name} is not healthy after {} s", START_LIMIT.as_secs());
                Some(with_last_lines(&reason, &lines))
            }
            report => report,
        };
        *lock(&self.checked) = Checked::Unhealthy(since, report.clone());
        report.unwrap_or_else(|| format!("waiting for {} to become healthy", service.name))
    }

    /// Makes the database of a deployment; returns the variables of its servers.
    pub(super) async fn provide(
        &self,
        engine: &Engine,
        host: &str,
        deployment: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        self.start(engine, host).await?;
        let (name, password) = (database(deployment), self.password(deployment));
        let verifier = postgres::verifier(&password, postgres::salt(&self.key, deployment));
        self.run(engine, host, postgres::CREATE, &name, &verifier).await?;
        let database = match &self.postgres {
            None => {
                format!("postgres://{name}:{password}@{}:5432/{name}?sslmode=disable", setup::POSTGRES.name)
            }
            Some(url) => {
                let mut url = url.clone();
                // Both fail only for URLs without a host.
                let _ = (url.set_username(&name), url.set_password(Some(&password)));
                url.set_path(&name);
                url.to_string()
            }
        };
        let redis = self.redis.as_ref().map_or(setup::REDIS_URI.1.to_owned(), Url::to_string);
        let databases = setup::DATABASE_VARIABLES.iter().map(|&variable| (variable, database.clone()));
        let redis = [(setup::REDIS_URI.0, redis), (setup::REDIS_PREFIX, key_prefix(deployment))];
        Ok(databases.chain(redis).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Removes the database and the keys of a deployment.
    pub(super) async fn remove(&self, engine: &Engine, host: &str, deployment: &str) -> Result<(), Failure> {
        let known = engine.containers(labels::HOST, host).await?;
        let has_helpers = known.iter().any(|it: &Container| it.labels.contains_key(ROLE));
        if self.postgres.is_none() && self.redis.is_none() && !has_helpers {
            return Ok(());
        }
        self.start(engine, host).await?;
        self.run(engine, host, postgres::REMOVE, &database(deployment), "").await?;
        let url = self.redis.as_ref();
        let command = redis::delete(url, &key_prefix(deployment));
        let container = self.redis().container(host);
        let ended = engine.run_in(&container, &command, &redis::variables(url), COMMAND_LIMIT).await?;
        match ended.output.trim().parse::<u64>() {
            Ok(_) => Ok(()),
            Err(_) => {
                let output = printed(&ended.output);
                Err(Failure::Unavailable(format!("cannot delete the keys of the deployment: {output}")))
            }
        }
    }

    /// Runs a script of psql as the user of the host.
    async fn run(
        &self,
        engine: &Engine,
        host: &str,
        script: &str,
        name: &str,
        verifier: &str,
    ) -> Result<(), Failure> {
        let mut environment = postgres::connection(self.postgres.as_ref());
        environment.extend(
            [("SCRIPT", script), ("NAME", name), ("VERIFIER", verifier)]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let (container, command) = (self.postgres().container(host), postgres::COMMAND.map(str::to_owned));
        let ended = engine.run_in(&container, &command, &environment, COMMAND_LIMIT).await?;
        let reason = || {
            let output = printed(&ended.output);
            let output = if verifier.is_empty() { output } else { output.replace(verifier, "…") };
            format!("cannot prepare the database of the deployment: {output}")
        };
        match ended.code {
            0 => Ok(()),
            postgres::NO_CONNECTION => {
                *lock(&self.checked) = Checked::Never;
                Err(Failure::Unavailable(reason()))
            }
            _ => Err(Failure::Refused(reason())),
        }
    }

    /// The password of a role, which is the same whenever it is needed.
    fn password(&self, role: &str) -> String {
        let tag = hmac::sign(&self.key, format!("postgres role {role}").as_bytes());
        hex::encode(tag)
    }
}

async fn create_network(engine: &Engine, host: &str) -> Result<(), Failure> {
    let network = labels::prefix(host);
    if engine.networks(&network).await?.is_empty() {
        engine.create_network(&network, &[label(labels::HOST, host)]).await?;
    }
    Ok(())
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

/// The output of a command in one line.
fn printed(output: &str) -> String {
    output.trim().replace('\n', " ")
}

/// A part of a URL without its percent encoding.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
