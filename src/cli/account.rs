//! The address of the deployment service and the API key.

use super::ask;
use super::console::{note, warn};
use super::env::Env;
use super::logins::Logins;
use super::runtime::Runtime;
use super::settings::{Origin, Setting, Settings};
use crate::api::wire::Redacted;
use crate::api::{Account, Vocabulary};
use crate::compiler::server::hosted;
use crate::error::Error;

/// Variable of the address.
pub(super) const HOST: &str = "AGENT_HOST_URL";
/// Variables of the API key, in order of precedence.
const KEYS: &[&str] = &["AGENT_HOST_API_KEY", "PLATFORM_API_KEY", "FRAMEWORK_API_KEY"];
/// Variable of the workspace.
const TENANT: &str = "PLATFORM_TENANT_ID";

/// The options of all commands that call the deployment service.
#[derive(Debug, clap::Args)]
pub(super) struct AccountOptions {
    /// Address of the deployment service, or name of one from `deploy login` [env or .env: AGENT_HOST_URL]
    #[arg(long, value_name = "URL")]
    host_url: Option<String>,

    /// API key; prefer the environment, since other users can see command-line arguments [env or .env: AGENT_HOST_API_KEY, PLATFORM_API_KEY or FRAMEWORK_API_KEY]
    #[arg(long, value_name = "KEY", value_parser = redacted, hide_short_help = true)]
    api_key: Option<Redacted>,

    /// API dialect of the service [default: derived from the URL]
    #[arg(long, value_name = "DIALECT", value_enum, hide_short_help = true)]
    vocabulary: Option<Dialect>,
}

/// API dialect of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Dialect {
    /// As in the API specification
    Specification,
    /// As in the public service
    Public,
}

impl From<Dialect> for Vocabulary {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Specification => Self::Specification,
            Dialect::Public => Self::Public,
        }
    }
}

fn redacted(text: &str) -> Result<Redacted, String> {
    if text.is_empty() { Err("it is empty".to_owned()) } else { Ok(Redacted::new(text)) }
}

/// The settings of an account.
struct Found {
    host: Setting,
    key: Result<Setting, Error>,
    tenant: Option<Setting>,
}

/// A service, and the account there if its key may be sent, each with the place where it is set.
pub(super) struct Target {
    pub(super) host: String,
    pub(super) origin: String,
    pub(super) account: Result<(Account, String), Error>,
}

impl AccountOptions {
    /// The service's address and the key: from the options, else from the environment, else from `.env`, else from
    /// `deploy login`.
    ///
    /// # Errors
    ///
    /// There is no address or no key, or the address was set by the project, which may be somebody else's, and the key
    /// was not, and the user does not confirm that the key is sent there.
    pub(super) fn resolve(
        &self,
        env: &mut Env,
        settings: &mut Settings,
        runtime: &Runtime,
    ) -> Result<Account, Error> {
        let Found { host, key, tenant } = self.find(env, settings)?;
        let address = host.value.expose();
        note_if_verbose(
            env,
            &format!("deployment service: {} ({})", Account::without_secrets(address), host.origin),
        );
        let key = key?;
        note_if_verbose(env, &format!("API key: {}", key.origin));
        tenant.iter().for_each(|tenant| note_if_verbose(env, &format!("workspace: {}", tenant.origin)));
        let account = self.account(&host, &key, tenant.as_ref());
        if account.is_unencrypted() {
            warn(env, "the API key is sent unencrypted; use an https:// address");
        }
        let outer = outer(&host.origin, &key, tenant.as_ref());
        if !outer.is_empty() {
            confirm_address(env, runtime, &host, &outer)?;
        }
        Ok(account)
    }

    /// The same for `doctor`, which asks nothing: the address, and the account or why the key is not sent.
    ///
    /// # Errors
    ///
    /// There is no address.
    pub(super) fn target(&self, env: &Env, settings: &mut Settings) -> Result<Target, Error> {
        let Found { host, key, tenant } = self.find(env, settings)?;
        let account = key.and_then(|key| {
            let outer = outer(&host.origin, &key, tenant.as_ref());
            if outer.is_empty() {
                Ok((self.account(&host, &key, tenant.as_ref()), key.origin.to_string()))
            } else {
                Err(refusal(&host, &outer))
            }
        });
        Ok(Target { host: host.value.expose().to_owned(), origin: host.origin.to_string(), account })
    }

    /// The settings, wherever they are. If the project sets the address, it gets nothing that its file takes from the
    /// environment.
    ///
    /// # Errors
    ///
    /// There is no address, or it depends on the environment although the project sets it.
    fn find(&self, env: &Env, settings: &mut Settings) -> Result<Found, Error> {
        let logins = Logins::load(env)?;
        let host = self.host(env, settings, &logins)?;
        let key = self.key(env, settings, &logins, host.value.expose());
        if let Origin::File { is_expanded, .. } = host.origin {
            if is_expanded {
                let message = format!("the address of the deployment service is set by {}", host.origin);
                return Err(Error::usage(
                    message,
                    format!("pass it with --host-url or set {HOST} in the environment"),
                ));
            }
            settings.seal(format!("{} ({})", Account::without_secrets(host.value.expose()), host.origin));
        }
        let tenant = settings.find(env, &[TENANT]).or_else(|| settings.find(env, &[hosted::TENANT]));
        Ok(Found { host, key, tenant })
    }

    fn account(&self, host: &Setting, key: &Setting, tenant: Option<&Setting>) -> Account {
        let address = host.value.expose();
        let for_address = || Vocabulary::for_address(address);
        Account {
            host: address.to_owned(),
            key: key.value.clone(),
            tenant: tenant.map(|tenant| tenant.value.expose().to_owned()),
            vocabulary: self.vocabulary.map_or_else(for_address, Vocabulary::from),
        }
    }

    fn host(&self, env: &Env, settings: &Settings, logins: &Logins) -> Result<Setting, Error> {
        let known = |name: Option<&str>| {
            let (name, login) = logins.named(name)?;
            Some(Setting { value: Redacted::new(login.url.clone()), origin: Origin::Login(name.clone()) })
        };
        let given = self
            .host_url
            .as_ref()
            .map(|url| known(Some(url)).unwrap_or_else(|| option(Redacted::new(url.clone()), "--host-url")));
        let found = given.or_else(|| settings.find(env, &[HOST]));
        let public = || {
            let address = || Setting {
                value: Redacted::new(Vocabulary::PUBLIC_ADDRESS),
                origin: Origin::Default(hosted::CONFIGURATION),
            };
            let beside_traces = || {
                let Setting { value, origin } = settings.find(env, &[hosted::ENDPOINT])?;
                Some(Setting { value: Redacted::new(Vocabulary::host_beside(value.expose())?), origin })
            };
            let found = settings.find(env, &[hosted::HOST]).or_else(beside_traces);
            found.or_else(|| known(None)).unwrap_or_else(address)
        };
        let found = found.or_else(|| (settings.configuration == hosted::CONFIGURATION).then(public));
        found.or_else(|| known(None)).ok_or_else(|| {
            let hint = format!(
                "pass --host-url, set {HOST} in the environment or in .env, or log in with `agentcli deploy login`; \
                 `agentcli host serve` starts a service on this machine"
            );
            Error::usage("no address of a deployment service is set", hint)
        })
    }

    fn key(&self, env: &Env, settings: &Settings, logins: &Logins, address: &str) -> Result<Setting, Error> {
        let given = self.api_key.as_ref().map(|key| option(key.clone(), "--api-key"));
        let kept = || {
            let (name, login) = logins.at(address)?;
            Some(Setting { value: login.key.clone(), origin: Origin::Login(name.clone()) })
        };
        let found = given.or_else(|| settings.find(env, KEYS)).or_else(kept);
        let found = found.or_else(|| settings.find(env, hosted::KEYS));
        found.ok_or_else(|| Error::NoKey {
            hint: format!("pass --api-key, or set {} in the environment or in .env", KEYS.join(", ")),
        })
    }
}

fn option(value: Redacted, name: &'static str) -> Setting {
    Setting { value, origin: Origin::Option(name) }
}

/// What may not be sent to the address without asking, with its origin: an address that a project's files set gets a key and
/// a workspace from the same files alone.
fn outer(host: &Origin, key: &Setting, tenant: Option<&Setting>) -> Vec<(&'static str, Origin)> {
    // The key of a login is for the address that the user gave with it.
    let is_of_project =
        |origin: &Origin| matches!(origin, Origin::File { is_expanded: false, .. } | Origin::Login(_));
    let tenant = tenant.map(|tenant| ("workspace", tenant.origin.clone()));
    let sent = [("API key", key.origin.clone())].into_iter().chain(tenant);
    sent.filter(|(_, origin)| matches!(host, Origin::File { .. }) && !is_of_project(origin)).collect()
}

fn refusal(host: &Setting, outer: &[(&str, Origin)]) -> Error {
    let (address, host) = (Account::without_secrets(host.value.expose()), &host.origin);
    let whats: Vec<&str> = outer.iter().map(|(what, _)| *what).collect();
    let origins: Vec<String> = outer
        .iter()
        .map(|(what, origin)| format!("the {} by {origin}", what.trim_start_matches("API ")))
        .collect();
    let message = format!(
        "refusing to send the {} to {address}: the address is set by {host}, {}",
        whats.join(" and the "),
        origins.join(", ")
    );
    let hint = format!("if you trust this address, pass it with --host-url or set {HOST} in the environment");
    Error::usage(message, hint)
}

fn confirm_address(
    env: &mut Env,
    runtime: &Runtime,
    host: &Setting,
    outer: &[(&str, Origin)],
) -> Result<(), Error> {
    if !env.can_ask() {
        return Err(refusal(host, outer));
    }
    let (address, host) = (Account::without_secrets(host.value.expose()), &host.origin);
    let sent: Vec<String> = outer.iter().map(|(what, origin)| format!("the {what} ({origin})")).collect();
    let question =
        format!("The project sets the address {address} ({host}). Send {} there?", sent.join(" and "));
    ask::confirm_or_decline(env, runtime, &question)
}

fn note_if_verbose(env: &mut Env, text: &str) {
    if env.verbose {
        note(env, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_addresses_get_project_keys_alone() {
        let file = |is_expanded| Origin::File { name: "X".to_owned(), is_expanded };
        let environment = Origin::Environment("X".to_owned());
        let is_asked = |host: &Origin, origin: &Origin| {
            let setting = |origin: &Origin| Setting { value: Redacted::new("x"), origin: origin.clone() };
            let own = setting(&file(false));
            let key = !outer(host, &setting(origin), None).is_empty();
            assert_eq!(key, !outer(host, &own, Some(&setting(origin))).is_empty(), "{host}, {origin}");
            key
        };
        for host in [Origin::Option("--host-url"), environment.clone(), Origin::Default("x")] {
            for key in [Origin::Option("--api-key"), environment.clone(), file(false), file(true)] {
                assert!(!is_asked(&host, &key), "{host}, {key}");
            }
        }
        assert!(!is_asked(&file(false), &file(false)));
        for key in [Origin::Option("--api-key"), environment, file(true)] {
            assert!(is_asked(&file(false), &key), "{key}");
        }
    }
}
