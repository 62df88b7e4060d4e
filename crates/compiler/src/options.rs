//! The options of a command that affect how a configuration is checked and compiled.

use crate::agent_lock::AgentLock;
use crate::diagnostic::{Place, Pointer};
use crate::front::config::Config;
use crate::server::product::Product;

/// The options of a command. Those that have a key of the configuration replace its value.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The server that the configuration is checked and compiled for.
    pub server: &'static Product,
    /// Base image, instead of `base_image`.
    pub base_image: Option<String>,
    /// Version of the server, instead of `api_version`.
    pub api_version: Option<String>,
    /// Command that installs the packages of a JavaScript project, instead of its package manager's.
    pub install_command: Option<String>,
    /// Command that builds a JavaScript project.
    pub build_command: Option<String>,
    /// The directory that `install_command` runs in, relative to the configuration's.
    pub called_from: String,
    /// Whether the lock files beside local dependencies are ignored.
    pub no_lock: bool,
    /// Whether the server runs on this machine, whose Python follows the manifests where the configuration selects none.
    pub is_local: bool,
    /// Whether equal sources are to make equal layers, whenever they are built.
    pub is_reproducible: bool,
    /// The images by digest that are used instead of those of their tags.
    pub agent_lock: Option<AgentLock>,
}

impl Options {
    /// The option that replaces the value at `place`.
    pub fn replacing(&self, place: &Place) -> Option<&'static str> {
        let given = [
            ("/base_image", "--base-image", &self.base_image),
            ("/api_version", "--api-version", &self.api_version),
        ];
        let pointer = place.pointer();
        let is_replaced = |key: &str| pointer.is_within(&Pointer::parse(key));
        let mut replaced = given.into_iter().filter(|(key, _, value)| value.is_some() && is_replaced(key));
        replaced.next().map(|(_, option, _)| option)
    }

    /// `config` with the values of the options; [`Config::value`] stays that of the file.
    pub fn laid_over(&self, config: Config) -> Config {
        Config {
            server: self.server,
            base_image: self.base_image.clone().or(config.base_image),
            api_version: self.api_version.clone().or(config.api_version),
            ..config
        }
    }
}
