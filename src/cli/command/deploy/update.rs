//! `agentcli deploy update`

mod difference;
mod file;
mod patch;

use serde_json::json;

use super::shown::{print_json, shown, title};
use crate::api::rules;
use crate::api::wire::Deployment;
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::error::Error;
use difference::{Change, difference};
use patch::PatchOptions;

/// Change a deployment
///
/// Prints the changes, without values of secrets, and asks for confirmation. The given secrets replace all secrets of the
/// deployment, unless the service merges them, which the specification leaves open.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy update ID --resource cpu=2 --resource memory_mb=4096
  agentcli deploy update ID --secrets-from .env
  agentcli deploy update ID --image registry.example/agent@sha256:…
  agentcli deploy update ID --file patch.json --yes")]
pub(super) struct Update {
    /// ID of the deployment
    #[arg(value_name = "DEPLOYMENT_ID")]
    id: String,

    /// Skip the confirmation prompt
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    options: CallOptions,

    // The last: its heading applies to all options after it.
    #[command(flatten)]
    patch: PatchOptions,
}

impl Update {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (patch, nulls) = self.patch.patch(env)?;
        let mut service = Service::new(env, &self.options.account)?;
        let before = service.call(async |client| client.deployment(&self.id).await)?;
        nulls.check(&before)?;
        rules::patch(&before, &patch)?;
        let changes = difference(&before, &patch);
        let makes_revision = rules::makes_revision(&patch);
        if changes.is_empty() {
            return self.print(service.env, &before, &before, &changes, None);
        }
        print_changes(service.env, &before, &changes, makes_revision);
        if !self.yes {
            service.confirm("Apply these changes?", "--yes")?;
        }
        let after = service.call(async |client| client.patch(&before, &patch).await)?;
        self.print(env, &before, &after, &changes, makes_revision)
    }

    fn print(
        &self,
        env: &mut Env,
        before: &Deployment,
        after: &Deployment,
        changes: &[Change],
        makes_revision: Option<bool>,
    ) -> Result<(), Error> {
        let revision = after
            .latest_revision_id
            .as_ref()
            .filter(|_| after.latest_revision_id != before.latest_revision_id);
        if makes_revision == Some(true) && revision.is_none() {
            let text = "the service has not listed a new revision yet";
            note(env, &format!("{text}; see `agentcli deploy revisions list {}`", after.id));
        }
        if self.options.json {
            let changes: Vec<_> = changes.iter().map(Change::json).collect();
            let result = json!({ "deployment": shown(after), "changes": changes, "new_revision": revision });
            return print_json(env, &result);
        }
        let title = visible_line(&title(after));
        match revision {
            _ if changes.is_empty() => env.print(&format!("{title} is up to date")),
            Some(revision) => env.print(&format!("updated {title}; new revision {revision}")),
            None => env.print(&format!("updated {title}")),
        }
        Ok(())
    }
}

fn print_changes(env: &mut Env, before: &Deployment, changes: &[Change], makes_revision: Option<bool>) {
    env.print(&format!("changes of {}:", visible_line(&title(before))));
    for change in changes {
        env.print(&format!("  {}", visible_line(&change.to_string())));
    }
    let effect = match makes_revision {
        Some(true) => "this creates a new revision",
        Some(false) => "this does not create a new revision",
        None => "the service decides whether this creates a new revision",
    };
    note(env, effect);
}
