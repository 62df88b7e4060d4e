//! `agentcli deploy revisions`

use serde_json::json;

use super::cluster::ClusterOptions;
use super::shown::{or_dash, print_json, print_table, short_time, shown};
use super::which::Which;
use crate::api::wire::Revision;
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::error::Error;

/// Manage the revisions of a deployment
#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum Revisions {
    #[allow(missing_docs, reason = "documented in its struct")]
    List(List),
}

/// List the revisions of a deployment, newest first
#[derive(Debug, clap::Args)]
#[command(visible_alias = "ls")]
pub(super) struct List {
    #[command(flatten)]
    which: Which,

    /// Maximum number of revisions to list
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    #[command(flatten)]
    options: CallOptions,
}

impl Revisions {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env, cluster),
        }
    }
}

impl List {
    fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut target, deployment) = self.which.find(env, cluster, &self.options.account)?;
        let active = deployment.active_revision_id.as_ref();
        let found = target.revisions(&deployment, self.limit as usize)?;
        if self.options.json {
            let revisions: Vec<_> = found.iter().map(shown).collect();
            let list = json!({ "revisions": revisions, "active_revision_id": active });
            return print_json(target.env(), &list);
        }
        let rows: Vec<Vec<String>> = found.iter().map(|it| row(it, active == Some(&it.id))).collect();
        print_table(target.env(), "revisions", &["ID", "STATUS", "CREATED", "ACTIVE", "FROM"], &rows)
    }
}

fn row(revision: &Revision, is_active: bool) -> Vec<String> {
    let config = &revision.source_revision_config;
    let from = [&config.image_uri, &config.repo_commit_sha, &config.repo_ref, &config.source_tarball_path];
    vec![
        revision.id.clone(),
        revision.status.to_string(),
        short_time(&revision.created_at),
        if is_active { "yes".to_owned() } else { String::new() },
        or_dash(from.into_iter().flatten().next()),
    ]
}
