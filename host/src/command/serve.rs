//! `agentcli host serve`

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;

use crate::{Faults, Limits, Login, Options, Registry, Service};
use agentcli::api::Vocabulary;
use agentcli::api::wire::Redacted;
use agentcli::cli::account::Dialect;
use agentcli::cli::console::visible_line;
use agentcli::cli::env::Env;
use agentcli::error::Error;
use agentcli::project;

/// Duration of each status of a revision.
const PACE: Duration = Duration::from_millis(200);

/// Variables of the registry credentials.
const USERNAME: &str = "AGENT_HOST_REGISTRY_USERNAME";
const PASSWORD: &str = "AGENT_HOST_REGISTRY_PASSWORD";

/// Run a deployment service to try out `deploy` without an account
///
/// Deployments are kept in the data directory, and survive restarts. Nothing is built or run as yet: images are looked up
/// in their registry and archives are checked, and then the revision counts as deployed. Press Ctrl-C to stop.
///
/// Every request needs an API key; `agentcli host keys create` makes one, also while the service runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli host serve --data data                            on http://127.0.0.1:8900
  agentcli host serve --data data --registry localhost:5000  with a registry for images")]
pub(crate) struct Serve {
    /// Address to listen on
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,

    /// Port to listen on; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 8900)]
    port: u16,

    /// Data directory; created if it does not exist
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// API dialect of the service
    #[arg(long, value_name = "DIALECT", value_enum, default_value_t = Dialect::Specification)]
    vocabulary: Dialect,

    /// Deploy images of external registries only (source external_container)
    #[arg(long)]
    self_hosted: bool,

    /// Registry for images; contacted over HTTPS, or over HTTP on this machine
    #[arg(long, value_name = "HOST[:PORT][/PREFIX]")]
    registry: Option<String>,

    /// File with USERNAME:PASSWORD for the registry [env: AGENT_HOST_REGISTRY_USERNAME and
    /// AGENT_HOST_REGISTRY_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_login_file: Option<PathBuf>,

    /// JSON file with an array of repository records
    #[arg(long, value_name = "FILE")]
    repositories: Option<PathBuf>,

    /// JSON file with an array of listener records; new deployments of external images must name one of them
    #[arg(long, value_name = "FILE")]
    listeners: Option<PathBuf>,

    /// Print events as JSON Lines
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub(crate) fn run(self, env: &mut Env) -> Result<(), Error> {
        let options = self.options(env)?;
        let runtime = env.runtime()?;
        let served = runtime.block_on(async {
            let service = Service::bind(options).await?;
            self.ready(env, &format!("http://{}", service.address()))?;
            service.serve(env.stop.asked()).await;
            Ok(())
        });
        // Does not wait for archive checks.
        runtime.shutdown_background();
        served
    }

    fn ready(&self, env: &mut Env, url: &str) -> Result<(), Error> {
        let line = match self.json {
            true => json!({ "event": "ready", "url": url }).to_string(),
            false => format!("listening on {url}"),
        };
        Ok(env.out.line(&line)?)
    }

    fn options(&self, env: &mut Env) -> Result<Options, Error> {
        let repositories = records(env, self.repositories.as_deref(), "repositories")?;
        let listeners = records(env, self.listeners.as_deref(), "listeners")?;
        Ok(Options {
            registry: self.registry(env)?,
            data: env.directory.join(&self.data),
            host: self.host.clone(),
            port: self.port,
            vocabulary: self.vocabulary.into(),
            is_self_hosted: self.self_hosted,
            pace: PACE,
            heartbeat: None,
            repositories,
            listeners,
            faults: Faults::default(),
            limits: Limits::default(),
        })
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
