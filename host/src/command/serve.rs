//! `agentcli host serve`

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::runtime::Builder;

use crate::api::shared::Options;
use crate::net::limits::Limits;
use crate::net::tls::Tls;
use crate::registry::{Login, Registry};
use crate::runner::code_host::{Repositories, Webhook};
use crate::runner::{self, AllowedImages, CONNECTIONS, ContainerLimits, Databases, EngineRunner};
use crate::service::{self, Service};
use crate::store::Store;
use agentcli::api::Vocabulary;
use agentcli::api::wire::Redacted;
use agentcli::cli::account::Dialect;
use agentcli::cli::collector;
use agentcli::cli::console::visible_line;
use agentcli::cli::env::Env;
use agentcli::cli::server::ServerOption;
use agentcli::compiler::server::product::Product;
use agentcli::error::Error;
use agentcli::project;

/// Variables of the registry credentials.
const USERNAME: &str = "AGENT_HOST_REGISTRY_USERNAME";
const PASSWORD: &str = "AGENT_HOST_REGISTRY_PASSWORD";

/// Maximum size of a repository, in bytes: that of an unpacked archive.
const REPOSITORY_LIMIT: u64 = 4 << 30;

/// Maximum number of threads that handle requests, each with memory of its own.
const THREADS: usize = 4;

/// Run a deployment service on this machine
///
/// It keeps what is deployed in the data directory, builds images of uploaded source, and runs deployments in containers on
/// the container engine. They run on when it stops, and are found again when it starts. Press Ctrl-C to stop.
///
/// Every request needs an API key; `agentcli host keys create` makes one, also while the service runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli host serve --data data                            on http://127.0.0.1:8900
  agentcli host serve --data data --registry localhost:5000  with another registry for images")]
pub(crate) struct Serve {
    /// Address of the API; port 0 for any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8900")]
    listen: SocketAddr,

    /// Address of the proxy, which takes requests for NAME.localhost to the deployment; port 0 for any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8980")]
    proxy: SocketAddr,

    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// PEM file with the certificate for TLS on both addresses, followed by intermediate ones; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// PEM file with the key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// API dialect of the service
    #[arg(long, value_name = "DIALECT", value_enum, default_value_t = Dialect::Specification)]
    vocabulary: Dialect,

    /// Deploy images of external registries only (source external_container)
    #[arg(long)]
    self_hosted: bool,

    /// PostgreSQL server with pgvector for the databases of the deployments [default: one in a container]
    #[arg(long, value_name = "URI")]
    postgres_uri: Option<String>,

    /// Maximum number of connections of a deployment to PostgreSQL
    #[arg(long, value_name = "N", default_value_t = CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..))]
    postgres_connections: u32,

    /// Redis server for the deployments [default: one in a container]
    #[arg(long, value_name = "URI")]
    redis_uri: Option<String>,

    /// Let all deployments use the user in the URI of Redis, if it must not create users; they reach each other's keys
    #[arg(long, requires = "redis_uri")]
    redis_shared_user: bool,

    /// Memory of a container, in megabytes, unless its deployment sets it
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(1..))]
    memory_limit: u64,

    /// Maximum number of processes and threads of a container
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    pids_limit: u64,

    /// Pull newer base images, and newer images of --allow-image
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use these images as they are where the engine has them (default)
    #[arg(long, overrides_with = "pull")]
    no_pull: bool,

    #[command(flatten)]
    server: ServerOption,

    /// Image that tenants may use as the engine has it, or as your `docker login` gets it: REPOSITORY, with or without a tag,
    /// PREFIX/*, or * for all; can be given several times
    #[arg(long, value_name = "IMAGE")]
    allow_image: Vec<String>,

    /// Registry for images, which all tenants share [default: the service itself]
    #[arg(long, value_name = "HOST[:PORT][/PREFIX]")]
    registry: Option<String>,

    /// File with USERNAME:PASSWORD for the registry [env: AGENT_HOST_REGISTRY_USERNAME and
    /// AGENT_HOST_REGISTRY_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_login_file: Option<PathBuf>,

    /// JSON file with an array of repository records, with their `tenant` (by default `default`), and their `webhook_secret`
    /// for webhooks of pushes
    #[arg(long, value_name = "FILE")]
    repositories: Option<PathBuf>,

    /// Directory of templates: each directory in it is a project for the source internal_template
    #[arg(long, value_name = "DIRECTORY")]
    templates: Option<PathBuf>,

    /// JSON file with an array of listener records; new deployments of external images must name one of them
    #[arg(long, value_name = "FILE")]
    listeners: Option<PathBuf>,

    /// Send traces of all deployments with Python graphs to an OpenTelemetry collector, and nowhere else [default URL:
    /// http://127.0.0.1:4318]
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, value_parser = collector::address)]
    #[arg(default_missing_value = collector::DEFAULT)]
    otlp: Option<String>,

    /// Print events as JSON Lines
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub(crate) fn run(self, env: &mut Env) -> Result<(), Error> {
        raise_file_limit();
        let options = self.options(env)?;
        let server = self.server.server(env)?;
        self.server.note(env, server);
        let allowed_images = AllowedImages::new(&self.allow_image).map_err(Error::misused)?;
        let store = Store::open(&env.directory.join(&self.data)).map_err(service::Error::from)?;
        let runner = Arc::new(self.runner(env, &store, allowed_images, server)?);
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
        let runtime = env.runtime_of(Builder::new_multi_thread().worker_threads(threads))?;
        let served = runtime.block_on(async {
            let service = Service::bind(options, Arc::new(store), runner).await?;
            self.ready(env, &service)?;
            service.serve(env.stop.asked()).await;
            Ok(())
        });
        // Does not wait for builds.
        runtime.shutdown_background();
        served
    }

    fn ready(&self, env: &mut Env, service: &Service<EngineRunner>) -> Result<(), Error> {
        let scheme = service.scheme();
        let url = format!("{scheme}://{}", service.address());
        let proxy = format!("{scheme}://NAME.localhost:{}", service.proxy_address().port());
        let line = if self.json {
            json!({ "event": "ready", "url": url, "deployments": proxy }).to_string()
        } else {
            format!("listening on {url}, for deployments on {proxy}")
        };
        Ok(env.out.line(&line)?)
    }

    fn runner(
        &self,
        env: &Env,
        store: &Store,
        allowed_images: AllowedImages,
        server: &'static Product,
    ) -> Result<EngineRunner, Error> {
        let databases =
            Databases::new(self.postgres_uri.as_deref(), self.redis_uri.as_deref(), &store.database_key());
        let mut databases = databases.map_err(Error::misused)?.with_connections(self.postgres_connections);
        if self.redis_shared_user {
            databases = databases.with_shared_redis_user();
        }
        let options = runner::Options {
            engine: env.engine(),
            host: store.host_id().map_err(service::Error::from)?,
            pull: self.pull,
            allowed_images,
            environment: self.otlp.iter().flat_map(|it| collector::variables_in_container(it)).collect(),
            builds: store.builds(),
            repository_limit: REPOSITORY_LIMIT,
            databases,
            limits: ContainerLimits { memory: self.memory_limit << 20, pids: self.pids_limit },
            server,
        };
        Ok(EngineRunner::new(options).map_err(service::Error::Runner)?)
    }

    fn options(&self, env: &mut Env) -> Result<Options, Error> {
        let invalid =
            |reason| wrong(self.repositories.as_deref().unwrap_or(Path::new("")), "repositories", reason);
        let listed = records(env, self.repositories.as_deref(), "repositories")?;
        let mut repositories = Repositories::new(listed).map_err(invalid)?;
        let webhooks = Webhook::take(&mut repositories).map_err(invalid)?;
        Ok(Options {
            listen: self.listen,
            proxy: self.proxy,
            tls: self.tls(env)?,
            registry: self.registry(env)?,
            vocabulary: self.vocabulary.into(),
            is_self_hosted: self.self_hosted,
            repositories,
            webhooks,
            templates: self.templates(env)?,
            listeners: records(env, self.listeners.as_deref(), "listeners")?,
            limits: Limits::default(),
            // Stderr may be closed.
            notices: Arc::new(|notice| drop(writeln!(io::stderr(), "note: {notice}"))),
        })
    }

    fn templates(&self, env: &Env) -> Result<Option<PathBuf>, Error> {
        let Some(path) = &self.templates else { return Ok(None) };
        let directory = env.directory.join(path);
        match std::fs::read_dir(&directory) {
            Ok(_) => Ok(Some(directory)),
            Err(error) => Err(wrong(path, "templates", project::reason(&error))),
        }
    }

    fn tls(&self, env: &Env) -> Result<Option<Tls>, Error> {
        let Some((certificate, key)) = self.tls_cert.as_ref().zip(self.tls_key.as_ref()) else {
            return Ok(None);
        };
        let tls = Tls::load(env.directory.join(certificate), env.directory.join(key));
        Ok(Some(tls.map_err(service::Error::from)?))
    }

    fn registry(&self, env: &Env) -> Result<Option<Registry>, Error> {
        let Some(address) = &self.registry else { return Ok(None) };
        let login = match &self.registry_login_file {
            Some(path) => {
                let text = text(env, path)?;
                let login = text.trim().split_once(':').filter(|(user, _)| !user.is_empty());
                let wrong = || wrong(path, "credentials", "it is not USERNAME:PASSWORD".to_owned());
                Some(login.map(|(user, password)| (user.to_owned(), password.to_owned())).ok_or_else(wrong)?)
            }
            None => env.variable(USERNAME).zip(env.variable(PASSWORD)),
        };
        let login = login.map(|(username, password)| Login { username, password: Redacted::new(password) });
        let registry = Registry::new(address, login);
        Ok(Some(registry.map_err(Error::misused)?))
    }
}

/// Raises the limit on open files: the usual one of 1,024 is used up by 500 requests through the proxy.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    /// Two for each connection to the proxy, and room for the rest.
    const OPEN_FILES: u64 = 16_384;
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES));
    // If it fails, connections beyond the limit wait to be accepted.
    setrlimit(Resource::Nofile, limit).ok();
}

#[cfg(not(unix))]
fn raise_file_limit() {}

/// The records of a JSON file, in either dialect; none without a file.
fn records<T: DeserializeOwned>(env: &Env, path: Option<&Path>, what: &str) -> Result<Vec<T>, Error> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let wrong = |error: serde_json::Error| wrong(path, what, error.to_string());
    let mut value = serde_json::from_str(&text(env, path)?).map_err(wrong)?;
    Vocabulary::specified(&mut value);
    serde_json::from_value(value).map_err(wrong)
}

fn text(env: &Env, path: &Path) -> Result<String, Error> {
    let read = std::fs::read_to_string(env.directory.join(path));
    read.map_err(|error| wrong(path, "it", project::reason(&error)))
}

/// The error of a file that cannot be read.
fn wrong(path: &Path, what: &str, reason: String) -> Error {
    let message = format!("cannot read {what} from `{}`: {reason}", visible_line(&path.to_string_lossy()));
    Error::misused(message.replace("cannot read it from", "cannot read"))
}
