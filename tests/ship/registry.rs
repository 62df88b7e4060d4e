//! The deployment service beside a registry.

use agentcli::api::wire::Redacted;
use agentcli_host::Login;

use crate::host::service::Host;
use crate::registry::{Registry, USER};

/// A service whose images go to `registry`, with this password.
pub(super) fn with_registry(registry: &Registry, password: &str) -> Host {
    with_registry_at(&registry.address, password)
}

/// The same, where the registry is at another address.
pub(super) fn with_registry_at(address: &str, password: &str) -> Host {
    Host::start(|options| {
        let login = Login { username: USER.to_owned(), password: Redacted::new(password) };
        let address = format!("{address}/agents");
        options.registry = Some(agentcli_host::Registry::new(&address, Some(login)).unwrap());
    })
}
