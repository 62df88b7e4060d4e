//! `agentcli deploy list`

use serde_json::json;

use super::agent::AgentOptions;
use super::cluster::ClusterOptions;
use super::shown::{or_dash, print_json, print_table, short_time, shown};
use crate::api::DeploymentFilter;
use crate::api::wire::{Agent, Deployment};
use crate::cli::console::note;
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::cli::settings::{Origin, Settings};
use crate::error::Error;

/// List deployments
#[derive(Debug, clap::Args)]
#[command(
    visible_alias = "ls",
    after_help = "\
Examples:
  agentcli deploy list --name-contains agent
  agentcli deploy list --status READY --type prod --all
  agentcli deploy list --json | jq -r '.deployments[].id'"
)]
pub(super) struct List {
    /// Filter by a substring of the name
    #[arg(long, value_name = "TEXT")]
    name_contains: Option<String>,

    /// Filter by status, such as READY
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,

    /// Filter by type: dev_free, dev or prod
    #[arg(long = "type", value_name = "TYPE")]
    deployment_type: Option<String>,

    #[command(flatten)]
    agent: AgentOptions,

    /// Filter by tag values, as comma-separated IDs
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    tag_value_ids: Vec<String>,

    /// Filter by version of the server
    #[arg(long, value_name = "VERSION")]
    image_version: Option<String>,

    /// Filter by whether the deployment has reached its desired state
    #[arg(long, value_name = "BOOL")]
    remote_reconciled: Option<bool>,

    /// Filter by comma-separated deployment IDs
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    ids: Vec<String>,

    /// Maximum number of deployments to list, from 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,

    /// List all deployments
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    #[command(flatten)]
    options: CallOptions,
}

impl List {
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let at_most = (!self.all).then_some(self.limit as usize);
        // One more shows whether the list is complete.
        let asked = at_most.map(|at_most| at_most + 1);
        let json = self.options.json;
        let mut found = if cluster.is_meant() {
            let name = self.name_contains.unwrap_or_default();
            cluster.open(env)?.deployments(&name)?
        } else {
            self.of_service(env, asked)?
        };
        let are_more = at_most.is_some_and(|at_most| found.len() > at_most);
        found.truncate(at_most.unwrap_or(usize::MAX));
        print(env, json, &found, are_more)
    }

    fn of_service(self, env: &mut Env, asked: Option<usize>) -> Result<Vec<Deployment>, Error> {
        let mut settings = Settings::beside(env, None);
        let mut service = Service::with(env, &self.options.account, &mut settings)?;
        let agent = self.agent.agent(service.env, &settings)?;
        if let Some((Agent { agent_id, environment, .. }, origin)) = &agent
            && !matches!(origin, Origin::Option(_))
        {
            let message =
                format!("listing deployments of agent `{agent_id}` in {environment} only ({origin})");
            note(service.env, &message);
        }
        let filter = DeploymentFilter {
            agent: agent.map(|(agent, _)| agent),
            name_contains: self.name_contains,
            status: self.status.map(|status| status.to_uppercase().into()),
            remote_reconciled: self.remote_reconciled,
            tag_value_ids: self.tag_value_ids,
            image_version: self.image_version,
            deployment_type: self.deployment_type.map(Into::into),
            deployment_ids: self.ids,
        };
        service.call(async |client| client.deployments(&filter, asked).await)
    }
}

/// Prints deployments.
fn print(env: &mut Env, json: bool, found: &[Deployment], are_more: bool) -> Result<(), Error> {
    if json {
        let deployments: Vec<_> = found.iter().map(shown).collect();
        return print_json(env, &json!({ "deployments": deployments, "more": are_more }));
    }
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    print_table(env, "deployments", HEADINGS, &rows)?;
    if are_more {
        env.print("there are more deployments; list all with --all");
    }
    Ok(())
}

const HEADINGS: &[&str] = &["NAME", "STATUS", "TYPE", "SERVER", "UPDATED", "ID"];

fn row(deployment: &Deployment) -> Vec<String> {
    vec![
        deployment.name.clone(),
        deployment.status.to_string(),
        or_dash(deployment.source_config.deployment_type.as_ref()),
        or_dash(deployment.image_version.as_ref()),
        short_time(&deployment.updated_at),
        deployment.id.clone(),
    ]
}
