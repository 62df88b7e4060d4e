//! The networks: each deployment has one of its own, which only the databases join.
//!
//! By default, Docker has addresses for about 30 networks, each with thousands. One of these ranges is enough: it becomes
//! the block from which the networks of a host are cut.

use std::net::Ipv4Addr;
use std::str::FromStr;

use agentcli::engine::{Engine, Error, Shared};

use super::Failure;
use super::labels::{self, label};

/// The label with the block that a network is cut from.
const BLOCK: &str = "agentcli.block";

/// Length of the prefix of a network's addresses: more than twice as many as a deployment has replicas at most.
const PREFIX: u8 = 24;

/// The words with which engines report that all their addresses are in use, and that some are.
const EXHAUSTED: &[&str] = &["address pool", "fully subnetted", "could not find free subnet"];
const TAKEN: &[&str] = &["overlap", "already used"];

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    first: u32,
    prefix: u8,
}

impl FromStr for Block {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, prefix) = text.split_once('/').ok_or(())?;
        let address: Ipv4Addr = address.parse().map_err(drop)?;
        Ok(Self { first: address.into(), prefix: prefix.parse().map_err(drop)? })
    }
}

impl Block {
    /// The networks that can be cut from it; none if it is not larger than one.
    fn networks(self) -> impl Iterator<Item = String> {
        let count = 1_u32.checked_shl(u32::from(PREFIX.saturating_sub(self.prefix))).unwrap_or(0);
        let count = if self.prefix < PREFIX { count } else { 0 };
        (0..count).filter_map(move |number| {
            let address = self.first.checked_add(number.checked_shl(32 - u32::from(PREFIX))?)?;
            Some(format!("{}/{PREFIX}", Ipv4Addr::from(address)))
        })
    }
}

/// The name of a deployment's network.
pub(super) fn name(host: &str, deployment: &str) -> String {
    format!("{}-{deployment}", labels::prefix(host))
}

/// The network of the databases, created unless it exists.
pub(super) async fn provide_shared(engine: &Engine, host: &str) -> Result<(), Failure> {
    provide(engine, host, &labels::prefix(host), Vec::new()).await.map(drop)
}

/// The network of a deployment, created unless it exists; returns its ID. Two callers at once may create two.
pub(super) async fn provide_for(engine: &Engine, host: &str, deployment: &str) -> Result<String, Failure> {
    let labels = vec![label(labels::DEPLOYMENT, deployment)];
    provide(engine, host, &name(host, deployment), labels).await
}

async fn provide(
    engine: &Engine,
    host: &str,
    name: &str,
    mut labels: Vec<(String, String)>,
) -> Result<String, Failure> {
    labels.push(label(labels::HOST, host));
    let known = engine.networks_with(labels::HOST, host).await?;
    if let Some(found) = known.iter().find(|network| network.name == name) {
        return Ok(found.id.clone());
    }
    let mut blocks: Vec<&String> = known.iter().filter_map(|network| network.labels.get(BLOCK)).collect();
    blocks.sort();
    blocks.dedup();
    for block in blocks {
        if let Some(id) = cut(engine, name, &labels, block, &known).await? {
            return Ok(id);
        }
    }
    let id = create(engine, name, &labels).await?;
    let created = engine.networks(name).await?.into_iter().find(|network| network.id == id);
    let block = created.and_then(|network| network.subnet);
    let Some(block) = block.filter(|block| block.parse().is_ok_and(|block: Block| block.prefix < PREFIX))
    else {
        return Ok(id);
    };
    engine.remove_network(&id, name).await?;
    match cut(engine, name, &labels, &block, &known).await? {
        Some(id) => Ok(id),
        None => create(engine, name, &labels).await,
    }
}

/// Creates a network with addresses of a block; `None` if all of them are in use.
async fn cut(
    engine: &Engine,
    name: &str,
    labels: &[(String, String)],
    block: &str,
    known: &[Shared],
) -> Result<Option<String>, Failure> {
    let Ok(range) = block.parse::<Block>() else { return Ok(None) };
    let labels = [labels, &[label(BLOCK, block)]].concat();
    let is_free = |subnet: &String| known.iter().all(|network| network.subnet.as_ref() != Some(subnet));
    for subnet in range.networks().filter(is_free) {
        match engine.create_network(name, &labels, Some(&subnet)).await {
            Err(Error::Request { reason, .. }) if TAKEN.iter().any(|words| reason.contains(words)) => {}
            created => return Ok(Some(created?)),
        }
    }
    Ok(None)
}

/// Creates a network with addresses that the engine chooses.
async fn create(engine: &Engine, name: &str, labels: &[(String, String)]) -> Result<String, Failure> {
    match engine.create_network(name, labels, None).await {
        Err(Error::Request { reason, .. }) if EXHAUSTED.iter().any(|words| reason.contains(words)) => {
            Err(Failure::Refused(format!(
                "cannot create the network of the deployment: {reason}; remove unused networks of the container engine, or \
                 give it more `default-address-pools`"
            )))
        }
        created => Ok(created?),
    }
}

/// The networks of deployments, with the IDs of those.
pub(super) async fn of_deployments(engine: &Engine, host: &str) -> Result<Vec<(Shared, String)>, Failure> {
    let all = engine.networks_with(labels::HOST, host).await?;
    let with_deployment = |network: Shared| {
        let deployment = network.labels.get(labels::DEPLOYMENT)?.clone();
        Some((network, deployment))
    };
    Ok(all.into_iter().filter_map(with_deployment).collect())
}

/// Removes a network that only these containers are in.
pub(super) async fn remove(engine: &Engine, network: &Shared, databases: &[String]) -> Result<(), Failure> {
    for container in databases {
        engine.disconnect_from(&network.id, container).await?;
    }
    Ok(engine.remove_network(&network.id, &network.name).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_cut_from_a_larger_block_only() {
        let networks = |text: &str| text.parse::<Block>().unwrap().networks().collect::<Vec<_>>();
        let cut = networks("172.18.0.0/16");
        assert_eq!((cut.len(), &*cut[0], &*cut[255]), (256, "172.18.0.0/24", "172.18.255.0/24"));
        assert_eq!(networks("192.168.16.0/20")[15], "192.168.31.0/24");
        assert_eq!((networks("10.89.0.0/24").len(), networks("10.0.0.0/30").len()), (0, 0));
        assert_eq!("fd00::/64".parse::<Block>(), Err(()));
        assert!(networks("0.0.0.0/0").len() > 1 << 20);
    }
}
