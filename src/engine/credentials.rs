//! Registry credentials of `docker login`: from Docker's `config.json` and its credential helpers.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bollard::auth::DockerCredentials;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::connect::Engine;
use super::endpoint::{EngineEnv, read_json};
use super::error::Error;
use super::reference::registry;
use crate::child::{self, Command};
use crate::live::Event;

/// Docker Hub's key in `config.json`.
const HUB: &str = "https://index.docker.io/v1/";

/// The name that BuildKit uses to ask for Docker Hub's credentials.
pub(super) const HUB_HOST: &str = "registry-1.docker.io";

/// Deadline of a credential helper, which may ask the user to unlock a keychain.
const HELPER_DEADLINE: Duration = Duration::from_secs(60);

/// A user of a registry. There is no `Debug`: the password is secret.
#[derive(Clone, PartialEq)]
pub struct Login {
    /// The user name.
    pub user: String,
    /// The password or token.
    pub password: String,
}

/// Credentials of a registry. There is no `Debug`.
#[derive(Clone, PartialEq)]
pub enum RegistrySecret {
    /// A user and a password.
    Login(Login),
    /// A token that a token service exchanges.
    IdentityToken(String),
}

/// Credentials by host of the registry. There is no `Debug`.
#[derive(Default)]
pub(super) struct Credentials(BTreeMap<String, RegistrySecret>);

/// The part of Docker's `config.json` that is about credentials.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Config {
    auths: HashMap<String, Auth>,
    cred_helpers: HashMap<String, String>,
    creds_store: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Auth {
    auth: String,
    identitytoken: String,
    username: String,
    password: String,
}

/// Output of a credential helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

impl Config {
    /// Reads the configuration; it is empty if there is no file.
    pub(super) fn read(env: &EngineEnv) -> Result<Self, Error> {
        let path = env.config.as_ref().map(|directory| directory.join("config.json"));
        Ok(path.map(|path| read_json(&path)).transpose()?.flatten().unwrap_or_default())
    }

    /// The credentials of `registries`. If a helper fails, `warn` gets the reason, and the registry gets no credentials.
    pub(super) async fn credentials(
        &self,
        registries: impl IntoIterator<Item = String>,
        env: &EngineEnv,
        mut warn: impl FnMut(String),
    ) -> Credentials {
        let mut found = Credentials::default();
        for registry in registries {
            let secret = match self.helper(&registry) {
                None => self.stored(&registry),
                Some(name) => ask_helper(name, env, server(&registry)).await.unwrap_or_else(|reason| {
                    warn(format!(
                        "cannot get credentials for `{registry}` from the helper `{name}`: {reason}"
                    ));
                    None
                }),
            };
            found.0.extend(secret.map(|secret| (registry, secret)));
        }
        found
    }

    /// The helper that has the credentials of `registry`, which may be slow.
    pub(super) fn helper(&self, registry: &str) -> Option<&str> {
        let own = self.cred_helpers.get(server(registry)).or_else(|| self.cred_helpers.get(registry));
        own.or(Some(&self.creds_store)).map(String::as_str).filter(|name| !name.is_empty())
    }

    fn stored(&self, registry: &str) -> Option<RegistrySecret> {
        let exact = self.auths.get(server(registry));
        exact
            .or_else(|| self.auths.iter().find(|(key, _)| host_of(key) == registry).map(|(_, auth)| auth))?
            .secret()
    }
}

impl Auth {
    fn secret(&self) -> Option<RegistrySecret> {
        if !self.identitytoken.is_empty() {
            return Some(RegistrySecret::IdentityToken(self.identitytoken.clone()));
        }
        let decoded = STANDARD.decode(&self.auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = match decoded.as_deref().and_then(|text| text.split_once(':')) {
            Some((user, password)) => (user.to_owned(), password.trim_end_matches('\0').to_owned()),
            None => (self.username.clone(), self.password.clone()),
        };
        (!user.is_empty()).then_some(RegistrySecret::Login(Login { user, password }))
    }
}

impl Credentials {
    /// The user and the password for a host, as BuildKit asks for them. The user of an identity token is empty.
    pub(super) fn of_host(&self, host: &str) -> Option<(String, String)> {
        let registry = if host == HUB_HOST { "docker.io" } else { host };
        Some(match self.0.get(registry)?.clone() {
            RegistrySecret::Login(Login { user, password }) => (user, password),
            RegistrySecret::IdentityToken(token) => (String::new(), token),
        })
    }

    /// The credentials of one registry as the value of a header. Bollard would encode them in an alphabet that engines do
    /// not accept.
    pub(super) fn header_of(&self, registry: &str) -> Option<String> {
        Some(header(&self.0.get(registry)?.credentials(registry)))
    }

    /// All credentials as the value of a header, which Podman reads.
    pub(super) fn header(&self) -> Option<String> {
        let all: HashMap<_, _> =
            self.0.iter().map(|(name, secret)| (server(name), secret.credentials(name))).collect();
        (!all.is_empty()).then(|| header(&all))
    }
}

impl RegistrySecret {
    fn credentials(&self, registry: &str) -> DockerCredentials {
        let serveraddress = Some(server(registry).to_owned());
        match self.clone() {
            RegistrySecret::Login(Login { user, password }) => DockerCredentials {
                username: Some(user),
                password: Some(password),
                serveraddress,
                ..DockerCredentials::default()
            },
            RegistrySecret::IdentityToken(token) => DockerCredentials {
                identitytoken: Some(token),
                serveraddress,
                ..DockerCredentials::default()
            },
        }
    }
}

impl Engine {
    /// The credentials of `docker login` for the registry of `image`, as the value of a header. A problem with them is a
    /// warning.
    pub(super) async fn stored_login(&self, image: &str, mut events: impl FnMut(Event)) -> Option<String> {
        let registry = registry(image);
        let warn = |message| events(Event::Warning { message });
        match Config::read(&self.env) {
            Ok(config) => config.credentials([registry.clone()], &self.env, warn).await.header_of(&registry),
            Err(error) => {
                let message = format!("{error}; contacting the registry of `{image}` without credentials");
                events(Event::Warning { message });
                None
            }
        }
    }
}

/// The registry of `image`, and whether `docker login` stored credentials for it. The error is a fragment.
pub async fn has_login(env: &EngineEnv, image: &str) -> (String, Result<bool, String>) {
    let registry = registry(image);
    let mut problem = None;
    let stored = match Config::read(env) {
        Ok(config) => {
            config.credentials([registry.clone()], env, |reason| problem = Some(reason)).await.0.len()
        }
        Err(error) => return (registry, Err(error.to_string())),
    };
    (registry, problem.map_or(Ok(stored > 0), Err))
}

/// The credentials of `docker login` for the registry of `image`. A problem with them is a warning.
pub async fn registry_secret(env: &EngineEnv, image: &str, warn: impl Fn(String)) -> Option<RegistrySecret> {
    let registry = registry(image);
    match Config::read(env) {
        Ok(config) => config.credentials([registry.clone()], env, warn).await.0.remove(&registry),
        Err(error) => {
            warn(format!("{error}; contacting the registry of `{image}` without credentials"));
            None
        }
    }
}

/// The value of the header of a push with `login`.
pub(super) fn login_header(login: &Login, repository: &str) -> String {
    header(&RegistrySecret::Login(login.clone()).credentials(&registry(repository)))
}

/// The value of the header of a push without credentials, which engines require.
pub(super) fn anonymous_header() -> String {
    header(&DockerCredentials::default())
}

/// Credentials as the value of a header.
fn header(credentials: &impl Serialize) -> String {
    URL_SAFE.encode(serde_json::to_vec(credentials).unwrap_or_default())
}

/// The name of a registry in `config.json` and for helpers.
fn server(registry: &str) -> &str {
    if registry == "docker.io" { HUB } else { registry }
}

/// The host in a key of `auths`, which may be a URL.
fn host_of(key: &str) -> &str {
    let rest = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    rest.split('/').next().unwrap_or(rest)
}

/// Runs a credential helper; `None` if it has no credentials for `server`.
async fn ask_helper(name: &str, env: &EngineEnv, server: &str) -> Result<Option<RegistrySecret>, String> {
    let path =
        helper_program(name, env).ok_or_else(|| format!("`docker-credential-{name}` is not in the PATH"))?;
    let command = Command::new(path, Path::new(".")).argument("get");
    let (status, stdout) = timeout(HELPER_DEADLINE, child::output(&command, server))
        .await
        .map_err(|_| format!("it did not answer within {} s", HELPER_DEADLINE.as_secs()))?
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&stdout);
    if !status.is_success() {
        let is_unknown =
            ["credentials not found", "no credentials server URL"].iter().any(|it| text.contains(it));
        return if is_unknown { Ok(None) } else { Err(format!("{status}: {}", text.trim())) };
    }
    let answer: HelperAnswer =
        serde_json::from_str(&text).map_err(|_| "its output is not the expected JSON".to_owned())?;
    Ok(Some(match (&*answer.username, answer.secret) {
        ("<token>", token) => RegistrySecret::IdentityToken(token),
        (user, password) => RegistrySecret::Login(Login { user: user.to_owned(), password }),
    }))
}

/// The helper's program in the `PATH` of `env`.
fn helper_program(name: &str, env: &EngineEnv) -> Option<PathBuf> {
    let program = format!("docker-credential-{name}{}", std::env::consts::EXE_SUFFIX);
    let is_usable = |path: &PathBuf| !name.contains(['/', '\\']) && path.is_file();
    std::env::split_paths(env.path.as_ref()?).map(|directory| directory.join(&program)).find(is_usable)
}
