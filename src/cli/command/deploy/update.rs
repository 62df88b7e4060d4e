//! `agentcli deploy update`

mod difference;
mod file;
mod patch;

use serde_json::{Value, json};

use super::cluster::{InCluster, refused};
use super::shown::{print_json, shown, title};
use super::which::Which;
use crate::api::rules;
use crate::api::wire::{Deployment, DeploymentPatch, ResourceSpec, Secret};
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::cli::service::{CallOptions, Service};
use crate::cluster;
use crate::compiler::words::listed;
use crate::error::Error;
use crate::kubernetes;
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
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let (mut patch, nulls) = self.patch.patch(env)?;
        let (mut service, before) = self.which.find(env, &self.options.account)?;
        nulls.check(&before)?;
        if !self.replace_secrets {
            keep_secrets(&before, &mut patch)?;
        }
        apply(&mut service, &before, &patch, self.yes, self.options.json)
    }
}

impl Update {
    pub(super) fn run_in(self, mut cluster: InCluster<'_>) -> Result<(), Error> {
        let (mut patch, nulls) = self.patch.patch(cluster.env)?;
        let found = cluster.find(&self.which)?;
        let before = found.wire(&cluster.cluster);
        nulls.check(&before)?;
        if !self.replace_secrets {
            keep_secrets(&before, &mut patch)?;
        }
        apply_in(&mut cluster, found, &patch, self.yes, self.options.json)
    }
}

/// Changes a deployment, if the user confirms it, and prints the result.
pub(super) fn apply(
    service: &mut Service<'_>,
    before: &Deployment,
    patch: &DeploymentPatch,
    is_confirmed: bool,
    json: bool,
) -> Result<(), Error> {
    rules::patch(before, patch)?;
    let changes = difference(before, patch);
    let makes_revision = rules::makes_revision(patch);
    if changes.is_empty() {
        return print(service.env, json, before, before, &changes, None);
    }
    print_changes(service.env, before, &changes, makes_revision);
    let secrets = patch.secrets.iter().flatten().filter(|secret| secret.value.is_some());
    service.confirm_address("the changes", secrets.map(|secret| secret.name.as_str()))?;
    if !is_confirmed {
        service.confirm("Apply these changes?", "--yes")?;
    }
    let after = service.call(async |client| client.patch(before, patch).await)?;
    print(service.env, json, before, &after, &changes, makes_revision)
}

/// Changes a deployment in a cluster, if the user confirms it, and prints the result.
pub(super) fn apply_in(
    cluster: &mut InCluster<'_>,
    found: cluster::Deployment,
    patch: &DeploymentPatch,
    is_confirmed: bool,
    json: bool,
) -> Result<(), Error> {
    let (before, title) = (found.wire(&cluster.cluster), format!("`{}`", found.name));
    let record = found.latest().map(|it| it.record.clone()).unwrap_or_default();
    let mut change = cluster.again(&found, record, None);
    let record = &mut change.record;
    if let Some(spec) = patch.source_config.as_ref().and_then(|config| config.resource_spec.as_ref()) {
        record.resources = merged(&record.resources, spec)?;
        let containers = kubernetes::take_values(&found.name, &mut record.resources).map_err(refused)?;
        change.containers = Some(containers).filter(|(_, values)| !values.is_empty());
    }
    if let Some(image) = patch.source_revision_config.as_ref().and_then(|it| it.image_uri.clone()) {
        record.image = image;
    }
    if let Some(references) = &patch.secret_references {
        record.references.clone_from(references);
    }
    if let Some(secrets) = &patch.secrets {
        let set = secrets.iter().filter(|secret| secret.value.is_some());
        change.secrets = set.map(|secret| (secret.name.clone(), secret.value.clone())).collect();
        let is_gone = |name: &&String| secrets.iter().all(|secret| secret.name != **name);
        let gone: Vec<String> = record.variables.iter().filter(is_gone).cloned().collect();
        change.secrets.extend(gone.into_iter().map(|name| (name, None)));
    }
    let changes = difference(&before, patch);
    if !changes.is_empty() {
        print_changes(cluster.env, &before, &changes, Some(true));
        cluster.confirm("Apply these changes?", is_confirmed)?;
    }
    let latest = found.latest().map(|it| it.number);
    let number = cluster.revise(found, change)?;
    let is_new = Some(number) != latest;
    if json {
        let after = cluster.call(async |it| it.existing(&before.name).await)?.wire(&cluster.cluster);
        let changes: Vec<_> = changes.iter().map(Change::json).collect();
        let revision = is_new.then(|| number.to_string());
        let result = json!({ "deployment": shown(&after), "changes": changes, "new_revision": revision });
        return print_json(cluster.env, &result);
    }
    let done = if is_new {
        format!("updated {title}; new revision {number}")
    } else {
        format!("{title} is up to date")
    };
    cluster.env.print(&done);
    Ok(())
}

/// The resources with the fields that a patch sets.
fn merged(before: &ResourceSpec, patch: &ResourceSpec) -> Result<ResourceSpec, Error> {
    let unwritable = |error| Error::Internal(format!("resources are JSON: {error}"));
    let mut fields = serde_json::to_value(before).map_err(unwritable)?;
    let given = serde_json::to_value(patch).map_err(unwritable)?;
    if let (Some(fields), Value::Object(given)) = (fields.as_object_mut(), given) {
        fields.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
    }
    serde_json::from_value(fields).map_err(unwritable)
}

fn print(
    env: &mut Env,
    json: bool,
    before: &Deployment,
    after: &Deployment,
    changes: &[Change],
    makes_revision: Option<bool>,
) -> Result<(), Error> {
    let revision =
        after.latest_revision_id.as_ref().filter(|_| after.latest_revision_id != before.latest_revision_id);
    if makes_revision == Some(true) && revision.is_none() {
        let text = "the service has not listed a new revision yet";
        note(env, &format!("{text}; see `agentcli deploy revisions list {}`", after.id));
    }
    if json {
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

/// Keeps the secrets that a patch does not set, or refuses to lose them.
pub(super) fn keep_secrets(before: &Deployment, patch: &mut DeploymentPatch) -> Result<(), Error> {
    let Some(given) = &mut patch.secrets else { return Ok(()) };
    let is_kept = |secret: &&Secret| given.iter().all(|new| new.name != secret.name);
    let kept: Vec<Secret> = before.secrets.iter().filter(is_kept).cloned().collect();
    if kept.is_empty() || before.merges_secrets() {
        given.extend(kept);
        return Ok(());
    }
    let lost = listed(kept.iter().map(|secret| secret.name.as_str()));
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
