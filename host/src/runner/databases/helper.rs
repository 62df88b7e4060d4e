//! The containers of the host: the databases, and the clients of databases elsewhere.

use agentcli::compiler::back::plan::VolumeMount;
use agentcli::compiler::server::setup::{self, Service};
use agentcli::engine::{ContainerSpec, Policy};

use super::{postgres, redis};
use crate::runner::labels::{self, label};

/// The label with the role of a container for the host.
pub(super) const ROLE: &str = "agentcli.role";

/// A container with a database, or with the client of one elsewhere.
pub(super) struct Helper {
    pub(super) service: &'static Service,
    pub(super) is_client: bool,
}

impl Helper {
    /// The name of its container.
    pub(super) fn container(&self, host: &str) -> String {
        let suffix = if self.is_client { "-client" } else { "" };
        format!("{}-{}{suffix}", labels::prefix(host), self.service.name)
    }

    /// The volume with its data, if it has any.
    pub(super) fn volume(&self, host: &str) -> Option<String> {
        let has_data = !self.is_client && self.service.name == setup::POSTGRES.name;
        has_data.then(|| format!("{}-{}", labels::prefix(host), setup::DATA.0))
    }

    /// The command that succeeds when the database is healthy.
    pub(super) fn health(&self) -> Vec<String> {
        if self.service.name == setup::REDIS.name {
            return redis::HEALTH.map(str::to_owned).into();
        }
        self.service.health.iter().map(|&word| word.to_owned()).collect()
    }

    /// Its container. `password` is that of the database's superuser.
    pub(super) fn spec(&self, host: &str, password: &str) -> ContainerSpec {
        let &Self { service, is_client } = self;
        let is_redis = service.name == setup::REDIS.name;
        let command: Vec<&str> = if is_client {
            vec!["sh", "-c", "exec sleep infinity"]
        } else if is_redis {
            redis::SERVER.into()
        } else {
            postgres::SERVER.into()
        };
        // Only the client in the container is the superuser, over the socket, which needs no password.
        let variable = |&(name, value): &(&str, &str)| match name {
            "POSTGRES_PASSWORD" => (name.to_owned(), password.to_owned()),
            _ => (name.to_owned(), value.to_owned()),
        };
        let users = is_redis.then(|| (redis::USERS.to_owned(), redis::first_users(password)));
        ContainerSpec {
            name: self.container(host),
            image: service.image.to_owned(),
            command: Some(command.into_iter().map(str::to_owned).collect()),
            environment: service.environment.iter().map(variable).chain(users).collect(),
            labels: vec![label(labels::HOST, host), label(ROLE, service.name), labels::layout()],
            ports: Vec::new(),
            address: None,
            mounts: self
                .volume(host)
                .map(|volume| VolumeMount { volume, target: setup::DATA.1.to_owned() })
                .into_iter()
                .collect(),
            health: None,
            network: labels::prefix(host),
            aliases: if is_client { Vec::new() } else { vec![service.name.to_owned()] },
            policy: Policy { restarts: true, ..Policy::default() },
        }
    }
}
