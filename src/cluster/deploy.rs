//! From a record to a revision that serves.

use std::time::Duration;

use indexmap::IndexMap;
use serde_json::Value;
use tokio::time::Instant;

use super::error::Kind;
use super::lease::Lease;
use super::revision::{REVISIONS, object_name};
use super::rollout::{Outcome, Rollout};
use super::secrets::Secrets;
use super::{
    COMPONENT, Cluster, Deployment, Error, INSTANCE, KINDS, MANAGED_BY, MANAGER, Record, Revision, label,
    list, text, title,
};
use crate::api::time;
use crate::api::wire::{Redacted, RevisionStatus};
use crate::compiler::server::cluster::DRAIN_VARIABLE;
use crate::kubernetes::Manifests;
use crate::live::{Event, FieldChange, Reporter};
use crate::ship::{self, Hooks};

/// The image of the server while none is built yet.
const UNBUILT: &str = "agentcli.invalid/unbuilt";

/// The name of the Secret of the containers, and its values by key.
pub type ContainerValues = (String, IndexMap<String, Redacted>);

/// A new revision. There is no `Debug`: it holds values of secrets.
#[derive(Default)]
pub struct Change {
    /// Name of the deployment.
    pub name: String,
    /// The inputs of the revision; its image is empty until it is built.
    pub record: Record,
    /// Secret variables to set, or to remove.
    pub secrets: IndexMap<String, Option<Redacted>>,
    /// The Secret with the values of variables of containers, if they are given.
    pub containers: Option<ContainerValues>,
    /// Whether a revision is made even if nothing changes.
    pub is_forced: bool,
    /// Whether the deployment goes back to the revision before if this one does not start.
    pub is_atomic: bool,
    /// Timeout for the revision to be deployed; without one, the run does not wait.
    pub wait: Option<Duration>,
    /// Whether to report the planned changes without applying them.
    pub is_dry_run: bool,
}

/// A revision that is not made yet.
struct Planned {
    found: Option<Deployment>,
    number: u32,
    manifests: Manifests,
    secrets: Secrets,
    /// What applying its objects would change.
    differences: Vec<FieldChange>,
    /// Whether the newest revision serves and is the same, and nobody has changed its objects.
    is_made: bool,
}

/// Makes a revision, unless the newest is the same, and waits until it serves. Returns its number; none for a dry run.
///
/// # Errors
///
/// See [`Error`]. What served before goes on serving. Nothing is built or changed before the cluster has accepted it in a dry
/// run.
pub async fn run<H: Hooks>(
    cluster: &Cluster,
    mut change: Change,
    shipping: Option<&ship::Request>,
    hooks: &mut H,
) -> Result<Option<u32>, Error> {
    let name = change.name.clone();
    let planned = cluster.plan(&mut change).await?;
    for note in planned.manifests.notes.iter().filter(|_| shipping.is_some()) {
        hooks.note(note.clone());
    }
    if planned.is_made {
        hooks.note(format!("revision {} is up to date", planned.number));
    }
    if change.is_dry_run {
        cluster.report(&name, planned, hooks).await?;
        return Ok(None);
    }
    let mut number = planned.number;
    if !planned.is_made {
        if let Some(shipping) = shipping {
            cluster.confirm(&name, planned.found.is_some(), hooks).await?;
            if change.record.image.is_empty() {
                change.record.image = cluster.image(shipping, hooks).await?;
            }
        }
        let mut lease = Lease::take(cluster, &name, hooks).await?;
        let done = cluster.revise(&mut change, &mut lease, hooks).await;
        lease.release().await;
        number = done?;
    }
    if shipping.is_some() {
        hooks.event(&Event::Result {
            status: if change.wait.is_some() { "deployed" } else { "submitted" },
            url: Some(change.record.url(cluster, &name)),
            deployment_id: name.clone(),
            name,
            revision_id: number.to_string(),
        });
    }
    Ok(Some(number))
}

impl Cluster {
    /// Plans the next revision, and refuses what the cluster would refuse later. Its variables are those that the deployment
    /// has, and the new ones. A revision whose deployer was killed goes on.
    async fn plan(&self, change: &mut Change) -> Result<Planned, Error> {
        let found = self.deployment(&change.name).await?;
        let latest = found.as_ref().and_then(Deployment::latest);
        let variables = &mut change.record.variables;
        variables.extend(latest.iter().flat_map(|it| it.record.variables.clone()));
        variables.extend(change.secrets.keys().cloned());
        variables.retain(|name| !matches!(change.secrets.get(name), Some(None)));
        variables.sort();
        variables.dedup();
        if let Some(drain) = change.secrets.get(DRAIN_VARIABLE) {
            // Anything else could be a secret in the wrong place.
            let seconds = drain.as_ref().map(|value| value.expose().trim().to_owned());
            change.record.drain = seconds.filter(|text| text.parse::<u32>().is_ok());
        }
        let mut record = change.record.clone();
        if record.image.is_empty() {
            record.image = UNBUILT.to_owned();
        }
        let digest = record.digest();
        let same = latest.filter(|it| !change.is_forced && it.record.digest() == digest);
        let made = same.filter(|it| it.status == RevisionStatus::Deployed);
        let next = latest.map_or(1, |it| it.number + 1);
        let resumed = same.filter(|it| !it.status.is_final());
        let mut number = resumed.map_or(next, |it| it.number);
        let manifests = record.manifests((&change.name, &self.namespace), number)?;
        if made.is_none() {
            self.check(&manifests).await?;
        }
        let secrets = Secrets::read(self, change, &manifests).await?;
        let made = made.filter(|_| secrets.changes().is_empty());
        let live = self.live(&[&self.others(&change.name, number)[..], &manifests.objects].concat()).await?;
        self.check_owner(&change.name, &live)?;
        if made.is_none() {
            secrets.write(self, &change.name, true).await?;
            self.check_pods(&manifests.objects).await?;
        }
        let mut differences = self.differences(&live, &manifests.objects).await?;
        // The Job of the migrations may be gone.
        let made = made.filter(|_| differences.iter().all(|it| it.object.starts_with("Job ")));
        if let Some(made) = made {
            number = made.number;
            differences.clear();
        }
        let is_made = made.is_some();
        Ok(Planned { found, number, manifests, secrets, differences, is_made })
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
    async fn report(&self, name: &str, planned: Planned, reporter: &mut impl Reporter) -> Result<(), Error> {
        let mut changes = planned.secrets.changes();
        changes.extend(planned.differences);
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
        let planned = self.plan(change).await?;
        let Planned { found, number, manifests, secrets, .. } = planned;
        if planned.is_made {
            reporter.note(format!("revision {number} is up to date"));
            return Ok(number);
        }
        let id = || change.name.clone();
        reporter.event(&match &found {
            Some(_) => Event::Found { deployment_id: id(), name: id() },
            None => Event::Created { deployment_id: id(), name: id() },
        });
        let mut revision = Revision {
            number,
            record: change.record.clone(),
            status: RevisionStatus::Deploying,
            reason: None,
            created_at: time::now_as_text(),
        };
        // The names in a record have values, even if this program is killed.
        secrets.write(self, &change.name, false).await?;
        reporter.event(&Event::Revision { deployment_id: id(), revision_id: number.to_string() });
        self.write(&change.name, &revision).await?;
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
                self.go_back(before, secrets, rollout).await?;
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
        secrets: Secrets,
        mut rollout: Rollout<'_, '_, R>,
    ) -> Result<(), Error> {
        let name = rollout.deployment;
        rollout.lease.renew().await?;
        secrets.reversed().write(self, name, false).await?;
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

    /// The objects that we applied, of those with these labels: others may have copied them, as `kubectl expose` does. Users
    /// who may not list a kind have made none of it.
    async fn owned(&self, selector: &str) -> Result<Vec<Value>, Error> {
        let selector = format!("{selector},{MANAGED_BY}={MANAGER}");
        let get = async |kinds: &str| {
            self.kubectl.objects(&["get", kinds, "-l", &selector, "--show-managed-fields"], "").await
        };
        let all = KINDS.map(|(_, resource)| resource);
        let mut found = match get(&all.join(",")).await {
            Err(error) if error.is(Kind::Denied) => {
                let mut found = Vec::new();
                for kind in all {
                    found.extend(get(kind).await.or_else(|error| error.unless_denied())?);
                }
                found
            }
            found => found?,
        };
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
