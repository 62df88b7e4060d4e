//! The options of a setup, and the setup, addresses, URLs and variables that result from them.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use indexmap::IndexMap;

use super::session::Session;
use crate::compiler::back::lower::setup::{SetupOptions, setup};
use crate::compiler::back::plan::{Plan, Service, Setup, Variable};
use crate::compiler::front::config::{Config, EnvConfig};
use crate::compiler::front::keys;
use crate::compiler::server::{local, setup as contract};
use crate::live::{self, Urls};

/// The options of a setup, from the command line. There is no `Debug`: the address of the database can hold a password.
pub struct Request {
    /// Name of the compose project.
    pub name: String,
    /// The address to publish the server's port on.
    pub host: Option<IpAddr>,
    /// Port of the server.
    pub port: u16,
    /// Image to run instead of building one.
    pub image: Option<String>,
    /// The user's database; without it, one in a container.
    pub postgres_uri: Option<String>,
    /// Port of the debugger's page; without it there is no debugger.
    pub debugger_port: Option<u16>,
    /// URL of the server for the debugger's page.
    pub debugger_base_url: Option<String>,
    /// The machine that ports are published on, if it is not this one.
    pub machine: Option<String>,
}

/// Variables with their values; one without a value is not set.
pub type Variables = [(String, Option<String>)];

impl Request {
    /// The setup for the server of `plan`; `env` are the values of the configuration's `env`.
    pub fn setup(&self, plan: &Plan, config: &Config, env: &Variables) -> Setup {
        let map: IndexMap<_, _> = match &config.env {
            Some(EnvConfig::Map(map)) => {
                map.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => IndexMap::new(),
        };
        let names = env.iter().filter(|_| map.is_empty());
        let options = SetupOptions {
            name: self.name.clone(),
            port: self.port,
            debugger_port: self.debugger_port,
            debugger_base_url: Some(self.debugger_base_url.clone().unwrap_or_else(|| self.server_url())),
            has_database: self.postgres_uri.is_some(),
            image: self.image.clone(),
            env_file_names: names.map(|(name, value)| (name.clone(), is_set(value.as_ref()))).collect(),
            env: map,
        };
        setup(plan, &options)
    }

    /// The address that the ports of each service are published on: all addresses of another machine, otherwise loopback.
    /// `host` applies to the server alone, because whoever reaches the debugger's page can control the server.
    pub fn addresses(&self, setup: &Setup) -> BTreeMap<String, IpAddr> {
        let default = self.machine.is_none().then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = |service: &Service| match &*service.name {
            contract::SERVER => self.host.or(default),
            _ => default,
        };
        let services = setup.services.iter().filter(|service| !service.ports.is_empty());
        services.filter_map(|service| Some((service.name.clone(), address(service)?))).collect()
    }

    /// A note if other machines can reach the server.
    pub fn open_ports(&self) -> Option<String> {
        match (self.host, &self.machine) {
            (Some(host), _) if !host.is_loopback() => {
                Some(format!("other machines can reach the server at {host}, port {}", self.port))
            }
            (None, Some(machine)) => {
                Some(format!("ports are published on all addresses of {machine}; --host selects one"))
            }
            _ => None,
        }
    }

    /// The URLs of the server.
    pub fn urls(&self, plan: &Plan, env: &Variables) -> Urls {
        let variable = |name: &str| env.iter().find(|(known, _)| known == name)?.1.clone();
        let prefix = live::mount_prefix(plan, plan.contract.get(keys::HTTP), variable);
        let debugger = self.debugger_port.map(|port| self.url(port));
        Urls { debugger, ..Urls::new(plan, self.server_url(), &prefix, None, local::STUDIO.0) }
    }

    /// The values of the variables that `setup` takes from outside: from the configuration's `env`, else from the
    /// environment of this process, else from `dotenv`, the .env file beside the configuration.
    pub fn given(
        &self,
        setup: &Setup,
        env: &Variables,
        process: impl Fn(&str) -> Option<String>,
        dotenv: impl Fn(&str) -> Option<String>,
    ) -> HashMap<String, String> {
        let of_env = |name: &str| {
            let value = env.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.clone());
            value.filter(|value| !value.is_empty())
        };
        let value = |name: &String| {
            let database = self.postgres_uri.clone().filter(|_| name == contract::OWN_DATABASE);
            let value = database.or_else(|| of_env(name)).or_else(|| process(name)).or_else(|| dotenv(name));
            Some((name.clone(), value?))
        };
        let variables = setup.services.iter().flat_map(|service| service.environment.values());
        let names = variables.filter_map(|variable| match variable {
            Variable::From { names, .. } => Some(names),
            Variable::Default { .. } | Variable::Text { .. } => None,
        });
        names.flatten().filter_map(value).collect()
    }

    fn server_url(&self) -> String {
        match (self.host, &self.machine) {
            (Some(host), _) if !host.is_unspecified() && !host.is_loopback() => {
                format!("http://{}", SocketAddr::new(host, self.port))
            }
            _ => self.url(self.port),
        }
    }

    fn url(&self, port: u16) -> String {
        format!("http://{}:{port}", self.machine.as_deref().unwrap_or("127.0.0.1"))
    }
}

impl Session {
    /// Whether one of the keys that a server may require is set.
    pub fn has_key(&self) -> bool {
        let server = self.setup.services.iter().find(|service| service.name == self.server);
        let is_in_file =
            |name: &str| self.file.iter().any(|(known, value)| known == name && is_set(value.as_ref()));
        contract::KEYS.iter().any(|key| match server.and_then(|it| it.environment.get(key.variable)) {
            Some(Variable::From { names, .. }) => names.iter().any(|name| self.given.contains_key(name)),
            Some(Variable::Text { text }) => !text.is_empty(),
            Some(Variable::Default { .. }) => true,
            None => is_in_file(key.variable) || key.legacy.is_some_and(is_in_file),
        })
    }
}

fn is_set(value: Option<&String>) -> bool {
    value.is_some_and(|value| !value.is_empty())
}
