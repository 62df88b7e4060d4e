//! `agentcli deploy revisions`

use serde_json::json;

use super::cluster::InCluster;
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
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env),
        }
    }
}

impl Revisions {
    pub(super) fn run_in(self, cluster: InCluster<'_>) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run_in(cluster),
        }
    }
}

impl List {
    fn run(self, env: &mut Env) -> Result<(), Error> {
        let (mut service, deployment) = self.which.find(env, &self.options.account)?;
        let (id, active) = (&deployment.id, &deployment.active_revision_id);
        let found = service.call(async |client| client.revisions(id, self.limit as usize).await)?;
        self.print(service.env, &found, active.as_ref())
    }

    fn run_in(self, mut cluster: InCluster<'_>) -> Result<(), Error> {
        let found = cluster.find(&self.which)?;
        let active = found.active().map(|revision| revision.number.to_string());
        let revisions: Vec<Revision> =
            found.revisions.iter().take(self.limit as usize).map(|revision| revision.wire()).collect();
        self.print(cluster.env, &revisions, active.as_ref())
    }

    fn print(&self, env: &mut Env, found: &[Revision], active: Option<&String>) -> Result<(), Error> {
        if self.options.json {
            let revisions: Vec<_> = found.iter().map(shown).collect();
            return print_json(env, &json!({ "revisions": revisions, "active_revision_id": active }));
        }
        let rows: Vec<Vec<String>> = found.iter().map(|it| row(it, active == Some(&it.id))).collect();
        print_table(env, "revisions", &["ID", "STATUS", "CREATED", "ACTIVE", "FROM"], &rows)
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
