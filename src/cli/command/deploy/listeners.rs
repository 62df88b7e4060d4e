//! `agentcli deploy listeners`

use serde_json::json;

use super::shown::{or_dash, print_json, print_table, shown};
use crate::api::wire::Listener;
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::error::Error;

/// Show the listeners that run deployments in your clusters
#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
pub(super) enum Listeners {
    #[allow(missing_docs, reason = "documented in its struct")]
    List(List),
}

/// List the listeners of the workspace
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy listeners list
  agentcli deploy --push-to registry.example/agent --listener-id ID --k8s-namespace NAMESPACE")]
pub(super) struct List {
    #[command(flatten)]
    options: CallOptions,
}

impl Listeners {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        match self {
            Self::List(list) => list.run(env),
        }
    }
}

impl List {
    fn run(self, env: &mut Env) -> Result<(), Error> {
        let mut service = Service::new(env, &self.options.account)?;
        let found = service.call(async |client| client.listeners().await)?;
        if self.options.json {
            let listeners: Vec<_> = found.iter().map(shown).collect();
            return print_json(env, &json!({ "listeners": listeners }));
        }
        let rows: Vec<Vec<String>> = found.iter().map(row).collect();
        print_table(env, "listeners", &["ID", "CLUSTER", "NAMESPACES"], &rows)
    }
}

fn row(listener: &Listener) -> Vec<String> {
    let namespaces = listener.namespaces();
    vec![
        listener.id.clone(),
        or_dash(listener.compute_id.as_ref()),
        or_dash((!namespaces.is_empty()).then(|| namespaces.join(", "))),
    ]
}
