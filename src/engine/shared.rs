//! Networks and volumes.

use std::collections::HashMap;

use bollard::models::{
    EndpointSettings, Ipam, IpamConfig, Network, NetworkConnectRequest, NetworkCreateRequest,
    NetworkDisconnectRequest, VolumeCreateRequest,
};
use bollard::query_parameters::{
    InspectContainerOptions, ListNetworksOptions, ListVolumesOptions, RemoveVolumeOptions,
};

use super::call::unless_status;
use super::connect::Engine;
use super::error::Error;

/// A network or a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name.
    pub name: String,
    /// Its ID; the name of a volume.
    pub id: String,
    /// Its labels.
    pub labels: HashMap<String, String>,
    /// The addresses of a network, such as `172.18.0.0/16`.
    pub subnet: Option<String>,
}

impl Engine {
    /// The networks of this name; engines allow several.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects; this applies to all functions below.
    pub async fn networks(&self, name: &str) -> Result<Vec<Shared>, Error> {
        let mut found = self.networks_by("name", name.to_owned()).await?;
        // The filter also finds names that contain it.
        found.retain(|network| network.name == name);
        Ok(found)
    }

    /// The networks with this label.
    pub async fn networks_with(&self, label: &str, value: &str) -> Result<Vec<Shared>, Error> {
        self.networks_by("label", format!("{label}={value}")).await
    }

    async fn networks_by(&self, filter: &str, value: String) -> Result<Vec<Shared>, Error> {
        let filters = HashMap::from([(filter.to_owned(), vec![value])]);
        let list = self.docker.list_networks(Some(ListNetworksOptions { filters: Some(filters) }));
        Ok(self.call("list its networks", list).await?.into_iter().map(shared).collect())
    }

    /// Creates a network and returns its ID. Its addresses are those of `subnet` [default: the engine chooses].
    pub async fn create_network(
        &self,
        name: &str,
        labels: &[(String, String)],
        subnet: Option<&str>,
    ) -> Result<String, Error> {
        let ipam = subnet.map(|subnet| {
            let config = IpamConfig { subnet: Some(subnet.to_owned()), ..Default::default() };
            Ipam { config: Some(vec![config]), ..Default::default() }
        });
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            labels: Some(labels.iter().cloned().collect()),
            ipam,
            ..Default::default()
        };
        let what = format!("create the network `{name}`");
        self.call(&what, self.docker.create_network(request)).await.map(|created| created.id)
    }

    /// Connects a container to a network, where it has these names. Succeeds if it is connected.
    pub async fn connect_to(&self, network: &str, container: &str, aliases: &[&str]) -> Result<(), Error> {
        let aliases = aliases.iter().map(|&alias| alias.to_owned()).collect();
        let endpoint = EndpointSettings { aliases: Some(aliases), ..Default::default() };
        let request =
            NetworkConnectRequest { container: container.to_owned(), endpoint_config: Some(endpoint) };
        let what = format!("connect the container `{container}` to a network");
        match self.call(&what, self.docker.connect_network(network, request)).await {
            Err(Error::Request { reason, .. }) if reason.contains("already") => Ok(()),
            connected => connected,
        }
    }

    /// The IP address of a running container in its networks, if it has one.
    pub async fn address_of(&self, container: &str) -> Result<Option<String>, Error> {
        let what = format!("inspect the container `{container}`");
        let inspect = self.docker.inspect_container(container, None::<InspectContainerOptions>);
        let networks =
            self.call(&what, inspect).await?.network_settings.and_then(|settings| settings.networks);
        let mut addresses = networks.into_iter().flatten().filter_map(|(_, endpoint)| endpoint.ip_address);
        Ok(addresses.find(|address| !address.is_empty()))
    }

    /// Disconnects a container from a network. Succeeds if it is not connected, or one of them does not exist.
    pub async fn disconnect_from(&self, network: &str, container: &str) -> Result<(), Error> {
        let request = NetworkDisconnectRequest { container: container.to_owned(), force: Some(true) };
        let what = format!("disconnect the container `{container}` from a network");
        match self.call(&what, self.docker.disconnect_network(network, request)).await {
            Err(Error::Request { reason, .. }) if reason.contains("is not connected") => Ok(()),
            disconnected => unless_status(disconnected, &[404]),
        }
    }

    /// Removes a network. Succeeds if it does not exist.
    pub async fn remove_network(&self, id: &str, name: &str) -> Result<(), Error> {
        let what = format!("remove the network `{name}`");
        unless_status(self.call(&what, self.docker.remove_network(id)).await, &[404])
    }

    /// The volumes with this label.
    pub async fn volumes(&self, label: &str, value: &str) -> Result<Vec<Shared>, Error> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{label}={value}")])]);
        let list = self.docker.list_volumes(Some(ListVolumesOptions { filters: Some(filters) }));
        let listed = self.call("list its volumes", list).await?;
        let shared = listed.volumes.unwrap_or_default().into_iter().map(|volume| Shared {
            id: volume.name.clone(),
            name: volume.name,
            labels: volume.labels,
            subnet: None,
        });
        Ok(shared.collect())
    }

    /// Creates a volume unless it exists.
    pub async fn create_volume(&self, name: &str, labels: &[(String, String)]) -> Result<(), Error> {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            labels: Some(labels.iter().cloned().collect()),
            ..Default::default()
        };
        let what = format!("create the volume `{name}`");
        self.call(&what, self.docker.create_volume(request)).await.map(drop)
    }

    /// Removes a volume and its data. Succeeds if it does not exist.
    pub async fn remove_volume(&self, name: &str) -> Result<(), Error> {
        let remove = self.docker.remove_volume(name, None::<RemoveVolumeOptions>);
        unless_status(self.call(&format!("remove the volume `{name}`"), remove).await, &[404])
    }
}

fn shared(network: Network) -> Shared {
    Shared {
        name: network.name.unwrap_or_default(),
        id: network.id.unwrap_or_default(),
        labels: network.labels.unwrap_or_default(),
        subnet: network.ipam.and_then(|ipam| ipam.config?.into_iter().find_map(|config| config.subnet)),
    }
}
