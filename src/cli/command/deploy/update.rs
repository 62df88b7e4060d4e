//! `agentcli deploy update`

mod difference;
mod file;
mod patch;

use serde_json::json;

use super::cluster::ClusterOptions;
use super::shown::{print_json, shown, title};
use super::target::Target;
use super::which::Which;
use crate::api::wire::{Deployment, DeploymentPatch};
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::service::CallOptions;
use crate::compiler::words::listed;
use crate::error::Error;
use difference::{Change, difference};
use patch::PatchOptions;

/// Change a deployment
///
/// Prints the changes, without values of secrets, and asks for confirmation. Secrets that are not given are kept, unless
/// --replace-secrets is given; at a service that can only replace all of them, such an update is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy update my-agent --resource cpu=2 --resource memory_mb=4096
  agentcli deploy update --secrets-from .env
  agentcli deploy update my-agent --image registry.example/agent@sha256:…
  agentcli deploy update my-agent --file patch.json --yes")]
pub(super) struct Update {
    #[command(flatten)]
    which: Which,

    /// Remove the secrets of the deployment that are not given
    #[arg(long)]
    replace_secrets: bool,

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
    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        let (mut patch, nulls) = self.patch.patch(env, cluster.reserved())?;
        let (mut target, before) = self.which.find(env, cluster, &self.options.account)?;
        nulls.check(&before)?;
        if !self.replace_secrets {
            keep_secrets(&before, &mut patch)?;
        }
        apply(&mut target, &before, &patch, self.yes, self.options.json)
    }
}

/// Changes a deployment, if the user confirms it, and prints the result.
pub(super) fn apply(
    target: &mut Target<'_>,
    before: &Deployment,
    patch: &DeploymentPatch,
    is_confirmed: bool,
    json: bool,
) -> Result<(), Error> {
    target.check(before, patch)?;
    let changes = difference(before, patch);
    if changes.is_empty() {
        return print(target, json, before, before, &changes);
    }
    let makes_revision = target.makes_revision(patch);
    print_changes(target.env(), before, &changes, makes_revision);
    target.confirm_address(patch)?;
    target.confirm("Apply these changes?", is_confirmed)?;
    let after = target.patch(before, patch)?;
    let is_listed = after.latest_revision_id.is_some() && is_new(before, &after);
    if makes_revision == Some(true) && !is_listed && matches!(target, Target::Service(_)) {
        let text = "the service has not listed a new revision yet";
        note(target.env(), &format!("{text}; see `agentcli deploy revisions list {}`", after.id));
    }
    print(target, json, before, &after, &changes)
}

fn is_new(before: &Deployment, after: &Deployment) -> bool {
    after.latest_revision_id != before.latest_revision_id
}

fn print(
    target: &mut Target<'_>,
    json: bool,
    before: &Deployment,
    after: &Deployment,
    changes: &[Change],
) -> Result<(), Error> {
    let revision = after.latest_revision_id.as_ref().filter(|_| is_new(before, after));
    if json {
        let changes: Vec<_> = changes.iter().map(Change::json).collect();
        let result = json!({ "deployment": shown(after), "changes": changes, "new_revision": revision });
        return print_json(target.env(), &result);
    }
    let title = visible_line(&title(after));
    let is_unchanged = changes.is_empty() || matches!(target, Target::Cluster(_)) && revision.is_none();
    target.env().print(&match revision {
        _ if is_unchanged => format!("{title} is up to date"),
        Some(revision) => format!("updated {title}; new revision {revision}"),
        None => format!("updated {title}"),
    });
    Ok(())
}

/// Keeps the secrets that a patch does not set, or refuses to lose them.
pub(super) fn keep_secrets(before: &Deployment, patch: &mut DeploymentPatch) -> Result<(), Error> {
    let Some(given) = &mut patch.secrets else { return Ok(()) };
    let Err(lost) = before.keep_secrets(given) else { return Ok(()) };
    let lost = listed(lost.iter().map(String::as_str));
    let message = format!("this would remove the secrets {}", visible_line(&lost));
    Err(Error::usage(message, "give them too, such as with --secrets-from .env, or pass --replace-secrets"))
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
