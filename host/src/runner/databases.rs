//! PostgreSQL and Redis, shared by all servers of the host: a database and a role, and a prefix of keys, for each
//! deployment.

use std::time::Duration;

use ring::hmac;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use url::Url;

use agentcli::compiler::back::plan::VolumeMount;
use agentcli::compiler::server::setup::{self, Service};
use agentcli::engine::{Container, ContainerSpec, Engine, Error, Policy, State};

use super::Failure;
use super::labels::{self, label};

/// Time that the databases have to become healthy, and the pause between checks.
const START_LIMIT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(300);

/// Time that a command of a database has.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// The label with the role of a container for the host.
const ROLE: &str = "agentcli.role";

/// Creates a role and its database, or sets its password. Values come by the environment, where no list of processes shows
/// them, and a statement that fails is not logged.
const CREATE: &str = r"
\set ON_ERROR_STOP on
\getenv name NAME
\getenv password ROLE_PASSWORD
SET log_min_error_statement = panic;
SELECT format('CREATE ROLE %I LOGIN', :'name') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'name') \gexec
SELECT format('ALTER ROLE %I PASSWORD %L', :'name', :'password') \gexec
SELECT format('GRANT %I TO CURRENT_USER', :'name') WHERE NOT pg_has_role(current_user, :'name', 'MEMBER') \gexec
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'name')
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
SELECT format('REVOKE CONNECT ON DATABASE %I FROM PUBLIC', :'name') \gexec
\connect :name
CREATE EXTENSION IF NOT EXISTS vector;
";

/// Removes a role and its database.
const REMOVE: &str = r"
\set ON_ERROR_STOP on
\getenv name NAME
SELECT format('DROP DATABASE IF EXISTS %I WITH (FORCE)', :'name') \gexec
SELECT format('DROP ROLE IF EXISTS %I', :'name') \gexec
";

/// The databases that the servers share. There is no `Debug`: addresses and the key are secret.
pub struct Databases {
    postgres: Option<Url>,
    redis: Option<Url>,
    /// The key that the passwords of the roles are derived with.
    key: hmac::Key,
    /// Held while containers are started.
    starting: Mutex<()>,
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
        })
    }

    /// The network of all containers of a host.
    pub(super) fn network(host: &str) -> String {
        format!("agentcli-host-{host}")
    }

    /// Starts the containers, and waits until they are healthy.
    pub(super) async fn start(&self, engine: &Engine, host: &str) -> Result<(), Failure> {
        let _starting = self.starting.lock().await;
        let known = engine.containers(labels::HOST, host).await?;
        self.create_network(engine, host).await?;
        for service in self.services() {
            let name = container_name(host, &service);
            match known.iter().find(|container| container.name == name).map(|container| container.state) {
                Some(State::Running(_)) => continue,
                Some(State::Gone) => engine.remove(&name).await?,
                Some(_) => {}
                None => self.create(engine, host, &service).await?,
            }
            engine.start_container(&name, &[]).await?;
        }
        self.wait(engine, host).await
    }

    /// The services that run in containers. With an address, PostgreSQL's is there for its client program.
    fn services(&self) -> Vec<Service> {
        let redis = self.redis.is_none().then_some(setup::REDIS);
        redis.into_iter().chain([setup::POSTGRES]).collect()
    }

    async fn create_network(&self, engine: &Engine, host: &str) -> Result<(), Failure> {
        let network = Self::network(host);
        if engine.networks(&network).await?.is_empty() {
            engine.create_network(&network, &[label(labels::HOST, host)]).await?;
        }
        Ok(())
    }

    async fn create(&self, engine: &Engine, host: &str, service: &Service) -> Result<(), Failure> {
        if engine.image(service.image).await?.is_none() {
            engine.pull(service.image, |_| ()).await?;
        }
        let is_postgres = service.name == setup::POSTGRES.name;
        let is_client = is_postgres && self.postgres.is_some();
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let command =
            if is_client { owned(&["sh", "-c", "exec sleep infinity"]) } else { owned(service.command) };
        let (data, target) = setup::DATA;
        let volume = format!("{}-{data}", Self::network(host));
        let mut mounts = Vec::new();
        if is_postgres && !is_client {
            engine.create_volume(&volume, &[label(labels::HOST, host)]).await?;
            mounts.push(VolumeMount { volume, target: target.to_owned() });
        }
        // Only the client in the container is the superuser, over the socket, which needs no password.
        let variable = |&(name, value): &(&str, &str)| match name {
            "POSTGRES_PASSWORD" => (name.to_owned(), self.password(host)),
            _ => (name.to_owned(), value.to_owned()),
        };
        let spec = ContainerSpec {
            name: container_name(host, service),
            image: service.image.to_owned(),
            command: (!command.is_empty()).then_some(command),
            environment: service.environment.iter().map(variable).collect(),
            labels: vec![label(labels::HOST, host), label(ROLE, service.name)],
            ports: Vec::new(),
            address: None,
            mounts,
            health: None,
            network: Self::network(host),
            aliases: vec![service.name.to_owned()],
            policy: Policy { restarts: true, ..Policy::default() },
        };
        match engine.create(&spec).await {
            Err(Error::NameTaken { .. }) => Ok(()),
            created => Ok(created.map(drop)?),
        }
    }

    async fn wait(&self, engine: &Engine, host: &str) -> Result<(), Failure> {
        let deadline = Instant::now() + START_LIMIT;
        for service in self.services() {
            if service.name == setup::POSTGRES.name && self.postgres.is_some() {
                continue;
            }
            let (name, command) =
                (container_name(host, &service), service.health.iter().map(|&word| word.to_owned()));
            let command: Vec<String> = command.collect();
            while !engine.succeeds_in(&name, &command, COMMAND_LIMIT).await {
                if Instant::now() >= deadline {
                    let limit = START_LIMIT.as_secs();
                    let lines = engine.last_lines(&name, 5).await.unwrap_or_default().join(" | ");
                    return Err(Failure::Unavailable(format!(
                        "{name} is not healthy after {limit} s: {lines}"
                    )));
                }
                sleep(PAUSE).await;
            }
        }
        Ok(())
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
        self.run(engine, host, CREATE, &name, &password).await?;
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
        let redis = [(setup::REDIS_URI.0, redis), (setup::REDIS_PREFIX, format!("{name}:"))];
        Ok(databases.chain(redis).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Removes the database of a deployment.
    pub(super) async fn remove(&self, engine: &Engine, host: &str, deployment: &str) -> Result<(), Failure> {
        let known = engine.containers(labels::HOST, host).await?;
        if self.postgres.is_none() && !known.iter().any(|it: &Container| it.labels.contains_key(ROLE)) {
            return Ok(());
        }
        self.start(engine, host).await?;
        self.run(engine, host, REMOVE, &database(deployment), "").await
    }

    /// Runs a script of psql as the superuser.
    async fn run(
        &self,
        engine: &Engine,
        host: &str,
        script: &str,
        name: &str,
        password: &str,
    ) -> Result<(), Failure> {
        let container = container_name(host, &setup::POSTGRES);
        let command = ["sh", "-c", r#"printf %s "$SCRIPT" | psql --no-psqlrc --quiet"#].map(str::to_owned);
        let mut environment = self.superuser();
        environment.extend(
            [("SCRIPT", script), ("NAME", name), ("ROLE_PASSWORD", password)]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let ended = engine.run_in(&container, &command, &environment, COMMAND_LIMIT).await?;
        match ended.code {
            0 => Ok(()),
            _ => {
                let output = ended.output.trim().replace('\n', " ");
                let output = if password.is_empty() { output } else { output.replace(password, "…") };
                Err(Failure::Refused(format!("the database of the deployment cannot be prepared: {output}")))
            }
        }
    }

    /// The variables of psql with which it reaches the database.
    fn superuser(&self) -> Vec<(String, String)> {
        let text = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let Some(url) = &self.postgres else {
            return vec![text("PGUSER", "postgres"), text("PGDATABASE", "postgres")];
        };
        let database = match url.path().trim_start_matches('/') {
            "" => "postgres",
            database => database,
        };
        let mut variables = vec![
            text("PGHOST", url.host_str().unwrap_or_default()),
            text("PGPORT", &url.port().unwrap_or(5432).to_string()),
            text("PGUSER", &decoded(url.username())),
            text("PGPASSWORD", &decoded(url.password().unwrap_or_default())),
            text("PGDATABASE", &decoded(database)),
        ];
        let mode = url.query_pairs().find(|(name, _)| name == "sslmode");
        variables.extend(mode.map(|(_, mode)| text("PGSSLMODE", &mode)));
        variables
    }

    /// The password of a role, which is the same whenever it is needed.
    fn password(&self, role: &str) -> String {
        let tag = hmac::sign(&self.key, format!("postgres role {role}").as_bytes());
        tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn container_name(host: &str, service: &Service) -> String {
    format!("{}-{}", Databases::network(host), service.name)
}

/// The name of a deployment's database and role.
fn database(deployment: &str) -> String {
    let name: String = deployment.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("agent_{name}")
}

/// A part of a URL without its percent encoding.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
