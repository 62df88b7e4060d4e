//! `agentcli deploy open`

use super::cluster::{ClusterOptions, InCluster};
use super::target::Target;
use super::which::Which;
use crate::child::open_browser;
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Open a deployment in the browser, and print its URL
#[derive(Debug, clap::Args)]
pub(super) struct Open {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    options: CallOptions,
}

impl Open {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (target, found) = self.which.find(env, cluster, &self.options.account)?;
        let env = match target {
            Target::Service(service) => service.env,
            Target::Cluster(cluster) => return self.forward(&found.name, cluster),
        };
        let name = visible_line(&found.name);
        let Some(url) = found.source_config.custom_url.filter(|url| url.starts_with("http")) else {
            let hint = format!("wait until it is deployed; `agentcli deploy get {name}` shows its state");
            return Err(Error::usage(format!("`{name}` has no URL yet"), hint));
        };
        if self.options.json {
            return super::shown::print_json(env, &serde_json::json!({ "id": found.id, "url": url }));
        }
        env.out.line(&visible_line(&url))?;
        if env.out.is_terminal && open_browser(&url).is_err() {
            note(env, "cannot open a browser");
        }
        Ok(())
    }

    /// Forwards a port of this machine to the server until the command is interrupted.
    fn forward(&self, name: &str, cluster: InCluster<'_>) -> Result<(), Error> {
        let InCluster { env, runtime, cluster } = cluster;
        let (json, stop) = (self.options.json, env.stop.clone());
        let forwarding = cluster.forward(name, |url| {
            let line =
                if json { serde_json::json!({ "id": name, "url": url }).to_string() } else { url.clone() };
            env.out.line(&line).and_then(|()| env.out.flush()).ok();
            if env.out.is_terminal && open_browser(&url).is_err() {
                note(env, "cannot open a browser");
            }
        });
        Ok(runtime.block_on(stop.unless_asked(forwarding)).map_err(|_| Error::Unfollowed)??)
    }
}
