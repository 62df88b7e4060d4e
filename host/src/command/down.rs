//! `agentcli host down`

use std::path::PathBuf;

use agentcli::cli::console::{count, note};
use agentcli::cli::env::Env;
use agentcli::error::Error;

use super::data;
use crate::runner::{Extent, Removed, down};
use crate::service;
use crate::store::Store;

/// Stop and remove the containers of the deployments, after the service was stopped
///
/// What is deployed stays recorded in the data directory: the next `serve` starts it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli host down --data data                   the containers of the deployments
  agentcli host down --data data --all             all that the service started; the data stays
  agentcli host down --data data --all --volumes   also the data of the deployments in PostgreSQL")]
pub(super) struct Down {
    /// Data directory
    #[arg(long, value_name = "DIRECTORY")]
    data: PathBuf,

    /// Also remove PostgreSQL and Redis, the networks, and the images of the deployments, which are built or pulled again
    #[arg(long)]
    all: bool,

    /// Also remove the volume with the data of all deployments in PostgreSQL
    #[arg(long, requires = "all")]
    volumes: bool,
}

impl Down {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        // It is locked until the end, so that no service starts meanwhile.
        let store = Store::open(&data::existing(env, &self.data)?).map_err(service::Error::from)?;
        let host = store.host_id().map_err(service::Error::from)?;
        let extent = match (self.all, self.volumes) {
            (false, _) => Extent::Deployments,
            (true, false) => Extent::All,
            (true, true) => Extent::AllWithData,
        };
        let engine = env.engine();
        let (runtime, stop) = (env.runtime()?, env.stop.clone());
        let removed = runtime.block_on(stop.unless_asked(down(&engine, &host, extent)))?;
        let removed = removed.map_err(|failure| Error::Host {
            message: format!("cannot remove all that the service started: {failure}"),
            hint: Some("run the command again once the container engine works".to_owned()),
        })?;
        self.report(env, &removed)
    }

    fn report(&self, env: &mut Env, removed: &Removed) -> Result<(), Error> {
        let counts = [
            (removed.containers, "container"),
            (removed.networks, "network"),
            (removed.images, "image"),
            (removed.volumes, "volume"),
        ];
        let parts = counts.into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts.map(|(number, noun)| count(number, noun)).collect();
        let line = match &parts[..] {
            [] => "nothing to remove".to_owned(),
            parts => format!("removed {}", parts.join(", ")),
        };
        env.out.line(&line)?;
        if self.all && !removed.kept.is_empty() {
            let volumes = removed.kept.join(", ");
            note(env, &format!("the data in PostgreSQL stays in the volume {volumes}; --volumes removes it"));
        }
        Ok(())
    }
}
