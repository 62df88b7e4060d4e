//! `agentcli deploy get`

use super::cluster::ClusterOptions;
use super::shown::{or_dash, print_json, shown};
use super::which::Which;
use crate::api::wire::Deployment;
use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Show a deployment
#[derive(Debug, clap::Args)]
#[command(visible_alias = "status")]
pub(super) struct Get {
    #[command(flatten)]
    which: Which,

    #[command(flatten)]
    options: CallOptions,
}

impl Get {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, found) = self.which.find(env, cluster, &self.options.account)?;
        let env = target.env();
        if self.options.json {
            return print_json(env, &shown(&found));
        }
        for (name, value) in rows(&found) {
            env.out.line(&format!("{name:<16}  {}", visible_line(&value)))?;
        }
        Ok(())
    }
}

fn rows(it: &Deployment) -> Vec<(&'static str, String)> {
    let secrets: Vec<&str> = it.secrets.iter().map(|secret| secret.name.as_str()).collect();
    let (config, revision) = (&it.source_config, &it.source_revision_config);
    let given = [
        ("url", config.custom_url.clone()),
        ("repository", config.repo_url.clone()),
        ("branch", revision.repo_ref.clone()),
        ("commit", revision.repo_commit_sha.clone()),
        ("image", revision.image_uri.clone()),
        ("archive", revision.source_tarball_path.clone()),
        ("configuration", revision.graph_config_path.clone()),
        ("resources", config.resource_spec.as_ref().map(|resources| shown(resources).to_string())),
        ("secrets", (!secrets.is_empty()).then(|| secrets.join(", "))),
    ];
    let mut rows = vec![
        ("name", it.name.clone()),
        ("id", it.id.clone()),
        ("status", it.status.to_string()),
        ("type", or_dash(config.deployment_type.as_ref())),
        ("source", it.source.to_string()),
    ];
    rows.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
    rows.extend([
        ("server", or_dash(it.image_version.as_ref())),
        ("latest revision", or_dash(it.latest_revision_id.as_ref())),
        ("active revision", or_dash(it.active_revision_id.as_ref())),
        ("created", it.created_at.clone()),
        ("updated", it.updated_at.clone()),
        ("owner", it.tenant_id.clone()),
    ]);
    rows
}
