//! The services that the user has logged in to: their addresses and keys, in a file that nobody else can read.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::env::Env;
use crate::api::wire::Redacted;
use crate::error::Error;
use crate::project;

/// The file in the directory of configurations.
const FILE: &str = "agentcli/services.json";

/// The known services by name.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Logins {
    /// The one that is used without a name.
    #[serde(default)]
    default: Option<String>,
    #[serde(default)]
    services: BTreeMap<String, Login>,
}

/// A service, and the key that is sent to its address only.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) url: String,
    pub(super) key: Redacted,
}

impl Logins {
    /// Those of the user; none without a file.
    pub(super) fn load(env: &Env) -> Result<Self, Error> {
        let Some(path) = path(env) else { return Ok(Self::default()) };
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(unusable(&path, &project::reason(&error))),
            // The message of serde may contain a key.
            Ok(text) => {
                serde_json::from_str(&text).map_err(|_| unusable(&path, "it is not a list of services"))
            }
        }
    }

    /// The service of this name, or else the default one, with its name.
    pub(super) fn named(&self, name: Option<&str>) -> Option<(&String, &Login)> {
        self.services.get_key_value(name.or(self.default.as_deref())?)
    }

    /// The service at this address, with its name.
    pub(super) fn at(&self, address: &str) -> Option<(&String, &Login)> {
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        self.services.iter().find(|(_, login)| plain(&login.url) == plain(address))
    }

    /// Adds a service, which becomes the default one.
    pub(super) fn add(&mut self, name: String, login: Login) {
        self.default = Some(name.clone());
        self.services.insert(name, login);
    }

    /// Forgets a service; whether it was known. A single one that is left is the default one.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let is_known = self.services.remove(name).is_some();
        if self.default.as_deref() == Some(name) {
            self.default = self.services.keys().next().filter(|_| self.services.len() == 1).cloned();
        }
        is_known
    }

    /// Writes them in one step.
    pub(super) fn save(&self, env: &Env) -> Result<(), Error> {
        let hint = "set HOME or XDG_CONFIG_HOME";
        let path = path(env).ok_or_else(|| Error::usage("there is no directory for configurations", hint))?;
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        Ok(project::write_private(&path, &text)?)
    }
}

fn path(env: &Env) -> Option<PathBuf> {
    let set = |name: &str| env.variable(name).map(PathBuf::from);
    let given = set("XDG_CONFIG_HOME").or_else(|| set("APPDATA")).filter(|path| path.is_absolute());
    let home = || Some(set("HOME").or_else(|| set("USERPROFILE"))?.join(".config"));
    Some(given.or_else(home)?.join(FILE))
}

fn unusable(path: &Path, reason: &str) -> Error {
    let message = format!("cannot read the services in `{}`: {reason}", path.display());
    Error::usage(message, "repair or remove the file, and log in again with `agentcli deploy login`")
}
