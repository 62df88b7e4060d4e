//! Which deployment service is meant, and the key to it.

use std::path::Path;

use super::compile::directory_of;
use super::console::{note, warn};
use super::env::Env;
use super::settings::{Setting, Settings};
use crate::api::wire::Redacted;
use crate::api::{Account, Vocabulary};
use crate::compiler::server::hosted;
use crate::error::Error;
use crate::project;

/// The service's address.
const HOST: &str = "AGENT_HOST_URL";
/// The key, the one that wins first.
const KEYS: &[&str] = &["AGENT_HOST_API_KEY", "PLATFORM_API_KEY", "FRAMEWORK_API_KEY"];
/// The workspace, where the key has several.
const TENANT: &str = "PLATFORM_TENANT_ID";

/// The options of every command that calls the deployment service.
#[derive(Debug, clap::Args)]
pub(super) struct AccountOptions {
    /// Address of the deployment service [env or .env: AGENT_HOST_URL]
    #[arg(long, value_name = "URL")]
    host_url: Option<String>,

    /// Key to it; other users can see arguments, so that the environment is better [env or .env: AGENT_HOST_API_KEY, PLATFORM_API_KEY or FRAMEWORK_API_KEY]
    #[arg(long, value_name = "KEY", value_parser = redacted)]
    api_key: Option<Redacted>,

    /// Whose words it speaks [default: by the address]
    #[arg(long, value_name = "WORDS", value_enum)]
    vocabulary: Option<Words>,
}

/// Whose words a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Words {
    /// Those of the specification
    Specification,
    /// Those of the public service
    Public,
}

impl From<Words> for Vocabulary {
    fn from(words: Words) -> Self {
        match words {
            Words::Specification => Self::Specification,
            Words::Public => Self::Public,
        }
    }
}

fn redacted(text: &str) -> Result<Redacted, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(Redacted::new(text)) }
}

impl AccountOptions {
    /// Which service, and the key: the options first, then the environment, then `.env` beside `config`, or in the
    /// current directory where no configuration is named. With -v, says where each comes from.
    pub(super) fn resolve(&self, env: &mut Env, config: Option<&Path>) -> Result<Account, Error> {
        let directory =
            config.map_or_else(|| env.directory.clone(), |it| directory_of(&env.directory.join(it)));
        let settings = Settings::read(env, &directory);
        let host = self.host(env, &settings, &directory, config)?;
        let address = host.value.expose();
        say(env, &format!("the deployment service is {}, by {}", Account::harmless(address), host.origin));
        let key = self.key(env, &settings)?;
        let tenant = settings.find(env, &[TENANT]).or_else(|| settings.find(env, &[hosted::TENANT]));
        say(env, &format!("the key is that of {}", key.origin));
        tenant.iter().for_each(|tenant| say(env, &format!("the workspace is that of {}", tenant.origin)));
        let of_address = || Vocabulary::of_address(address);
        let account = Account {
            host: address.to_owned(),
            key: key.value,
            tenant: tenant.map(|tenant| tenant.value.expose().to_owned()),
            vocabulary: self.vocabulary.map_or_else(of_address, Vocabulary::from),
        };
        if account.is_open() {
            warn(env, "the key is sent without encryption; https:// would keep it secret");
        }
        if is_of_file(&host.origin) && !is_of_file(&key.origin) {
            let (host, key) = (&host.origin, &key.origin);
            warn(
                env,
                &format!("the key, from {key}, is sent to the address that {host} gives; is that meant?"),
            );
        }
        Ok(account)
    }

    fn host(
        &self,
        env: &Env,
        settings: &Settings,
        directory: &Path,
        config: Option<&Path>,
    ) -> Result<Setting, Error> {
        let given = self.host_url.as_ref().map(|url| option(Redacted::new(url.clone()), "--host-url"));
        let found = given.or_else(|| settings.find(env, &[HOST]));
        let name = match config.and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => project::default_config(directory).name.to_owned(),
        };
        let public = || {
            let address = || Setting {
                value: Redacted::new(Vocabulary::PUBLIC_ADDRESS),
                origin: format!("default for {}", hosted::CONFIGURATION),
            };
            let of_platform = || {
                let Setting { value, origin } = settings.find(env, &[hosted::ENDPOINT])?;
                Some(Setting { value: Redacted::new(Vocabulary::address_beside(value.expose())?), origin })
            };
            settings.find(env, &[hosted::HOST]).or_else(of_platform).unwrap_or_else(address)
        };
        found.or_else(|| (name == hosted::CONFIGURATION).then(public)).ok_or_else(|| Error::Usage {
            message: "it is not known where the deployment service is".to_owned(),
            hint: Some(format!(
                "give its address with --host-url, or as {HOST} in the environment or in .env; `agentcli host serve` \
                 starts a service on this machine"
            )),
        })
    }

    fn key(&self, env: &Env, settings: &Settings) -> Result<Setting, Error> {
        let given = self.api_key.as_ref().map(|key| option(key.clone(), "--api-key"));
        let found = given.or_else(|| settings.find(env, KEYS)).or_else(|| settings.find(env, hosted::KEYS));
        found.ok_or_else(|| Error::NoKey {
            hint: format!("give it with --api-key, or as {} in the environment or in .env", KEYS.join(", ")),
        })
    }
}

fn option(value: Redacted, name: &str) -> Setting {
    Setting { value, origin: name.to_owned() }
}

/// Whether a setting comes with the files of a project, which may be somebody else's.
fn is_of_file(origin: &str) -> bool {
    origin.ends_with(" of .env")
}

fn say(env: &mut Env, text: &str) {
    if env.verbose {
        note(env, text);
    }
}
