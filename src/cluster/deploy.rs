//! From a record to a revision that serves.

use serde_json::Value;
use tokio::time::Instant;

use super::change::Change;
use super::error::Kind;
use super::lease::Lease;
use super::revision::{REVISIONS, object_name};
use super::rollout::{Outcome, Rollout};
use super::secrets::Secrets;
use super::{
    COMPONENT, Cluster, Deployment, Error, INSTANCE, KINDS, MANAGED_BY, MANAGER, Revision, label, list, text,
    title,
};
use crate::api::time;
use crate::api::wire::RevisionStatus;
use crate::kubernetes::Manifests;
use crate::live::{Event, FieldChange, Reporter};
use crate::ship::{self, Hooks};

/// The image of the server while none is built yet.
const UNBUILT: &str = "agentcli.invalid/unbuilt";

/// A revision that is not made yet.
struct Planned {
    number: u32,
    digest: String,
    manifests: Manifests,
    secrets: Secrets,
}

/// Makes a revision, unless the newest is the same, and waits until it serves. Returns its number; none for a dry run.
///
/// # Errors
///
/// See [`Error`]. What served before goes on serving. Nothing is built or changed before the cluster has accepted it in a dry
/// run.
pub async fn run<H: Hooks>(
    cluster: &Cluster,
    found: Option<Deployment>,
    mut change: Change,
    shipping: Option<&ship::Request>,
    hooks: &mut H,
) -> Result<Option<u32>, Error> {
    let number = make(cluster, found, &mut change, shipping, hooks).await?;
    if let (Some(number), Some(_)) = (number, shipping) {
        hooks.event(&Event::Result {
            status: if change.wait.is_some() { "deployed" } else { "submitted" },
            name: change.name.clone(),
            deployment_id: change.name.clone(),
            revision_id: number.to_string(),
            url: Some(change.record.url(cluster, &change.name)),
        });
    }
    Ok(number)
}

async fn make<H: Hooks>(
    cluster: &Cluster,
    found: Option<Deployment>,
    change: &mut Change,
    shipping: Option<&ship::Request>,
    hooks: &mut H,
) -> Result<Option<u32>, Error> {
    let planned = cluster.plan(change, found.as_ref()).await?;
    for note in planned.manifests.notes.iter().filter(|_| shipping.is_some()) {
        hooks.note(note.clone());
    }
    if cluster.is_unchanged(change, found.as_ref(), &planned).await? {
        let number = up_to_date(&planned, hooks);
        if change.is_dry_run {
            hooks.event(&Event::Changes { changes: Vec::new() });
        }
        return Ok(Some(number).filter(|_| !change.is_dry_run));
    }
    let differences = cluster.check(&change.name, &planned.manifests.objects).await?;
    if change.is_dry_run {
        cluster.report(&change.name, &planned, differences, hooks).await?;
        return Ok(None);
    }
    if let Some(shipping) = shipping {
        cluster.confirm(&change.name, found.is_some(), hooks).await?;
        if change.record.image.is_empty() {
            change.record.image = cluster.image(shipping, hooks).await?;
        }
    }
    let mut lease = Lease::take(cluster, &change.name, hooks).await?;
    let done = cluster.revise(change, &mut lease, hooks).await;
    lease.release().await;
    done.map(Some)
}

fn up_to_date(planned: &Planned, reporter: &mut impl Reporter) -> u32 {
    let number = planned.number - 1;
    reporter.note(format!("revision {number} is up to date"));
    number
}

impl Cluster {
    /// Plans the next revision. Its variables are those that the deployment has, and the new ones. One whose deployer was
    /// killed goes on.
    async fn plan(&self, change: &mut Change, found: Option<&Deployment>) -> Result<Planned, Error> {
        let latest = found.and_then(Deployment::latest);
        let is_removed = |name: &String| matches!(change.secrets.get(name), Some(None));
        let mut variables: Vec<String> = latest.map(|it| it.record.variables.clone()).unwrap_or_default();
        variables.extend(change.record.variables.iter().chain(change.secrets.keys()).cloned());
        variables.retain(|name| !is_removed(name));
        variables.sort();
        variables.dedup();
        change.record.variables = variables;
        let mut record = change.record.clone();
        if record.image.is_empty() {
            record.image = UNBUILT.to_owned();
        }
        let digest = record.digest();
        let is_resumed = |it: &&Revision| !it.status.is_final() && it.digest == digest && !change.is_forced;
        let number = match (latest.filter(is_resumed), latest) {
            (Some(resumed), _) => resumed.number,
            (None, Some(latest)) => latest.number + 1,
            (None, None) => 1,
        };
        let manifests = record.manifests((&change.name, &self.namespace), number)?;
        let secrets = Secrets::read(self, change, &manifests).await?;
        Ok(Planned { number, digest, manifests, secrets })
    }

    /// Whether the newest revision serves and is the planned one, and nobody has changed its objects. Jobs may be gone.
    async fn is_unchanged(
        &self,
        change: &Change,
        found: Option<&Deployment>,
        planned: &Planned,
    ) -> Result<bool, Error> {
        let serves = |it: &&Revision| it.status == RevisionStatus::Deployed && it.digest == planned.digest;
        let latest = found.and_then(Deployment::latest).filter(serves);
        if latest.is_none() || change.is_forced || planned.secrets.change() {
            return Ok(false);
        }
        let is_kept = |object: &&Value| object["kind"] != "Job";
        let objects: Vec<Value> = planned.manifests.objects.iter().filter(is_kept).cloned().collect();
        Ok(self.differences(&self.live(&objects).await?, &objects).await?.is_empty())
    }

    /// The image of the server, which is built unless it is there: in a registry, or in the nodes of a local cluster.
    async fn image<H: Hooks>(&self, request: &ship::Request, hooks: &mut H) -> Result<String, Error> {
        let stop = &self.kubectl.stop;
        let nodes = self.nodes().await?;
        if request.method.is_external() || !nodes.take_images() {
            return Ok(ship::external_image(request, stop, hooks).await?);
        }
        let image = ship::local_image(request, stop, hooks).await?;
        self.load(&nodes, &image).await?;
        Ok(image)
    }

    /// Asks whether to go on, unless the cluster is on this machine.
    async fn confirm(&self, name: &str, exists: bool, hooks: &mut impl Hooks) -> Result<(), Error> {
        let place = self.title();
        let question = if exists {
            format!("Update the deployment `{name}` in {place}?")
        } else {
            format!("There is no deployment `{name}` in {place}. Create it?")
        };
        if self.is_local || self.kubectl.stop.unless_asked(hooks.confirm(&question)).await? {
            return Ok(());
        }
        Err(ship::Error::Declined.into())
    }

    /// Reports what a deploy would change.
    async fn report(
        &self,
        name: &str,
        planned: &Planned,
        differences: Vec<FieldChange>,
        reporter: &mut impl Reporter,
    ) -> Result<(), Error> {
        let secrets = planned.secrets.changed().flat_map(|(name, is_new, keys)| {
            let action = if is_new { "create" } else { "update" };
            let change = move |key: &str| FieldChange {
                field: format!("data.{key}"),
                ..FieldChange::whole(action, format!("Secret {name}"))
            };
            keys.into_iter().map(change).collect::<Vec<_>>()
        });
        let mut changes: Vec<FieldChange> = secrets.chain(differences).collect();
        for change in changes.iter_mut().filter(|change| change.after == UNBUILT) {
            change.after = "(to be built)".to_owned();
        }
        let gone = self.gone(name, &planned.manifests.objects).await?;
        changes.extend(gone.iter().map(|object| FieldChange::whole("delete", title(object))));
        reporter.event(&Event::Changes { changes });
        Ok(())
    }

    /// Makes the revision, under the Lease of the deployment.
    async fn revise<R: Reporter>(
        &self,
        change: &mut Change,
        lease: &mut Lease<'_>,
        reporter: &mut R,
    ) -> Result<u32, Error> {
        // Another one may have deployed meanwhile, and a build may have made the same image.
        let found = self.deployment(&change.name).await?;
        let planned = self.plan(change, found.as_ref()).await?;
        if self.is_unchanged(change, found.as_ref(), &planned).await? {
            return Ok(up_to_date(&planned, reporter));
        }
        let Planned { number, digest, manifests, secrets } = planned;
        let id = || change.name.clone();
        match &found {
            Some(_) => reporter.event(&Event::Found { deployment_id: id(), name: id() }),
            None => reporter.event(&Event::Created { deployment_id: id(), name: id() }),
        }
        let mut revision = Revision {
            number,
            record: change.record.clone(),
            status: RevisionStatus::Deploying,
            reason: None,
            created_at: time::now_as_text(),
            digest,
        };
        reporter.event(&Event::Revision { deployment_id: id(), revision_id: number.to_string() });
        self.write(&change.name, &revision).await?;
        secrets.write(self, &change.name).await?;
        let Some(wait) = change.wait else {
            self.kubectl.apply(&list(&manifests.objects)).await?;
            return Ok(number);
        };
        let (start, deployment) = (Instant::now(), &*change.name);
        let deadline = start + wait;
        let mut rollout = Rollout { cluster: self, deployment, revision: number, deadline, lease, reporter };
        let outcome = rollout.run(&manifests.objects).await?;
        let Outcome::Unready { reason, is_late } = outcome else {
            revision.status = RevisionStatus::Deployed;
            self.write(deployment, &revision).await?;
            self.prune(deployment, &manifests.objects).await?;
            let status = revision.status.word().to_owned();
            reporter.event(&Event::Status { status, seconds: start.elapsed().as_secs_f64() });
            return Ok(number);
        };
        revision.status = RevisionStatus::DeployFailed;
        revision.reason = Some(reason.clone());
        self.write(deployment, &revision).await?;
        let before = found.as_ref().and_then(Deployment::active);
        match before {
            Some(before) if change.is_atomic => {
                rollout.revision = before.number;
                rollout.deadline = Instant::now() + wait;
                self.go_back(before, &secrets, rollout).await?;
            }
            None if change.is_atomic => {
                self.delete(deployment, false).await?;
                reporter.note("removed everything but volumes, since no revision has served".to_owned());
            }
            Some(before) if self.serves(deployment, before.number).await? => {
                reporter.note(format!("revision {} still serves", before.number));
            }
            _ => {}
        }
        let late = if is_late { format!("not ready after {} s; ", wait.as_secs()) } else { String::new() };
        let message = format!("revision {number} of `{deployment}` did not start: {late}{reason}");
        let options = self.options();
        let logs = format!("agentcli deploy logs {deployment} --revision-id {number}{options}");
        let later = if is_late { ", or raise --timeout" } else { "" };
        Err(Kind::Failed.error(message, format!("see its log with `{logs}`{later}")))
    }

    /// Goes back to the revision that served before.
    async fn go_back<R: Reporter>(
        &self,
        before: &Revision,
        secrets: &Secrets,
        mut rollout: Rollout<'_, '_, R>,
    ) -> Result<(), Error> {
        let name = rollout.deployment;
        rollout.lease.renew().await?;
        secrets.restore(self, name).await?;
        let objects = before.record.manifests((name, &self.namespace), before.number)?.objects;
        let number = before.number;
        match rollout.run(&objects).await? {
            Outcome::Ready => {
                self.prune(name, &objects).await?;
                rollout.reporter.note(format!("went back to revision {number}, which serves"));
            }
            Outcome::Unready { reason, .. } => {
                rollout.reporter.warn(format!("revision {number} does not get ready either: {reason}"));
            }
        }
        Ok(())
    }

    /// Removes objects of earlier revisions, and revisions that are no longer needed.
    async fn prune(&self, name: &str, objects: &[Value]) -> Result<(), Error> {
        let gone: Vec<String> = self.gone(name, objects).await?.iter().map(reference).collect();
        let deployment = self.deployment(name).await?;
        let surplus = deployment.iter().flat_map(Deployment::surplus);
        let surplus = surplus.map(|revision| format!("configmap/{}", object_name(name, revision.number)));
        self.remove(gone.into_iter().chain(surplus).collect(), "--wait=false").await
    }

    /// The objects of earlier revisions that are not among `objects`.
    async fn gone(&self, name: &str, objects: &[Value]) -> Result<Vec<Value>, Error> {
        let mut found = self.owned(&format!("{INSTANCE}={name},{COMPONENT}!={REVISIONS}")).await?;
        found.retain(|object| objects.iter().all(|it| title(it) != title(object)));
        Ok(found)
    }

    /// The objects that we applied, of those with these labels: others may have copied them, as `kubectl expose` does.
    async fn owned(&self, selector: &str) -> Result<Vec<Value>, Error> {
        let selector = format!("{selector},{MANAGED_BY}={MANAGER}");
        let mut found =
            self.kubectl.objects(&["get", KINDS, "-l", &selector, "--show-managed-fields"], "").await?;
        found.retain(is_applied);
        Ok(found)
    }

    async fn remove(&self, references: Vec<String>, option: &str) -> Result<(), Error> {
        if references.is_empty() {
            return Ok(());
        }
        let references: Vec<&str> = references.iter().map(String::as_str).collect();
        let arguments = [&["delete", "--ignore-not-found", option], &references[..]].concat();
        self.kubectl.run(&arguments, "").await.map(drop)
    }

    /// Removes the objects of a deployment, and with `volumes` its volumes and the password of the database on one.
    ///
    /// # Errors
    ///
    /// The user may not.
    pub async fn delete(&self, name: &str, volumes: bool) -> Result<(), Error> {
        let mut owned = self.owned(&format!("{INSTANCE}={name}")).await?;
        owned.extend(self.own_secrets(name, volumes).await?);
        owned.retain(is_applied);
        // The last ones, so that what is interrupted can be repeated.
        owned.sort_by_key(|object| label(object, COMPONENT) == REVISIONS);
        let lease = Lease::object_name(name);
        self.remove(owned.iter().map(reference).chain([format!("lease/{lease}")]).collect(), "--wait")
            .await?;
        if volumes {
            let selector = format!("{INSTANCE}={name}");
            let arguments = ["delete", "persistentvolumeclaims", "-l", &selector, "--ignore-not-found"];
            self.kubectl.run(&arguments, "").await?;
        }
        Ok(())
    }
}

fn is_applied(object: &Value) -> bool {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    managers.into_iter().flatten().any(|it| it["manager"] == MANAGER)
}

/// `deployment.apps/hello`, as kubectl refers to an object.
fn reference(object: &Value) -> String {
    let group = text(object, "/apiVersion").rsplit_once('/').map(|(group, _)| format!(".{group}"));
    let kind = text(object, "/kind").to_ascii_lowercase();
    format!("{kind}{}/{}", group.unwrap_or_default(), text(object, "/metadata/name"))
}
