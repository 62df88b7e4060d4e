//! From a record to a revision that serves.

use serde_json::Value;
use tokio::time::Instant;

use super::change::Change;
use super::lease::Lease;
use super::revision::object_name;
use super::rollout::{Outcome, has_failed, is_failing};
use super::secrets::Secrets;
use super::{
    COMPONENT, Cluster, Deployment, Error, INSTANCE, KINDS, MANAGED_BY, MANAGER, Revision, label, list, text,
    title,
};
use crate::api::time;
use crate::api::wire::RevisionStatus;
use crate::kubernetes::Manifests;
use crate::live::{Event, Reporter};
use crate::ship::{self, Hooks};

/// The image of the server while none is built yet.
const UNBUILT: &str = "agentcli.invalid/unbuilt";

/// Parts of a deployment, in the order in which they are applied and waited for; the last one is everything else.
const PHASES: [&[&str]; 2] = [&["config", "postgres", "redis"], &["migrations"]];

/// Makes a revision and waits until it serves. Returns its number; none for a dry run.
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
    let (manifests, secrets) = cluster.planned(&mut change, found.as_ref()).await?;
    for note in manifests.notes.iter().filter(|_| shipping.is_some()) {
        hooks.note(note.clone());
    }
    if let Some(number) = cluster.unchanged(&change, found.as_ref(), &secrets, &manifests).await? {
        hooks.note(format!("revision {number} is up to date"));
        if shipping.is_some() {
            hooks.event(&cluster.result("deployed", &change.name, number));
        }
        return Ok(Some(number));
    }
    cluster.check(&change.name, &manifests).await?;
    if change.is_dry_run {
        cluster.rehearsed(&change, &secrets, &manifests, hooks).await?;
        return Ok(None);
    }
    if let Some(shipping) = shipping {
        let title = format!("deployment `{}`", change.name);
        let place = cluster.title();
        if !cluster.is_local
            && !cluster.kubectl.stop.unless_asked(hooks.confirm_creation(&title, &place)).await?
        {
            return Err(ship::Error::Declined.into());
        }
        if change.record.image.is_empty() {
            change.record.image = ship::external_image(shipping, &cluster.kubectl.stop, hooks).await?;
        }
    }
    let mut lease = Lease::take(cluster, &change.name, hooks).await?;
    let done = cluster.revise(&mut change, &mut lease, hooks).await;
    lease.release().await;
    let number = done?;
    if shipping.is_some() {
        let status = if change.wait.is_some() { "deployed" } else { "submitted" };
        hooks.event(&cluster.result(status, &change.name, number));
    }
    Ok(Some(number))
}

impl Cluster {
    fn result(&self, status: &'static str, name: &str, number: u32) -> Event {
        Event::Result {
            status,
            name: name.to_owned(),
            deployment_id: name.to_owned(),
            revision_id: number.to_string(),
            url: Some(self.url(name)),
        }
    }

    /// The objects and Secrets of a change. The variables are those that the deployment has, and the new ones.
    async fn planned(
        &self,
        change: &mut Change,
        found: Option<&Deployment>,
    ) -> Result<(Manifests, Secrets), Error> {
        let latest = found.and_then(Deployment::latest);
        let removed = |name: &String| matches!(change.secrets.get(name), Some(None));
        let mut variables: Vec<String> = latest.map(|it| it.record.variables.clone()).unwrap_or_default();
        variables.extend(change.record.variables.iter().chain(change.secrets.keys()).cloned());
        variables.retain(|name| !removed(name));
        variables.sort();
        variables.dedup();
        change.record.variables = variables;
        let number = latest.map_or(1, |it| it.number + 1);
        let mut record = change.record.clone();
        if record.image.is_empty() {
            record.image = UNBUILT.to_owned();
        }
        let manifests = record.manifests((&change.name, &self.namespace), number)?;
        let secrets = Secrets::read(self, change, &manifests).await?;
        Ok((manifests, secrets))
    }

    /// The number of the revision that serves, if it is what a change asks for.
    async fn unchanged(
        &self,
        change: &Change,
        found: Option<&Deployment>,
        secrets: &Secrets,
        manifests: &Manifests,
    ) -> Result<Option<u32>, Error> {
        let Some(latest) = found.and_then(Deployment::latest) else { return Ok(None) };
        let is_same = latest.status == RevisionStatus::Deployed && latest.digest == change.record.digest();
        if change.is_forced || !is_same || secrets.change() {
            return Ok(None);
        }
        let lives = self
            .kubectl
            .objects(&["get", "--ignore-not-found", "-f", "-"], &list(&manifests.objects))
            .await?;
        let all = manifests.objects.iter().filter(|it| it["kind"] != "Job");
        let is_there = |it: &Value| lives.iter().any(|live| title(live) == title(it));
        Ok(all.into_iter().all(is_there).then_some(latest.number))
    }

    /// Makes the revision, under the Lease of the deployment.
    async fn revise<H: Reporter>(
        &self,
        change: &mut Change,
        lease: &mut Lease<'_>,
        reporter: &mut H,
    ) -> Result<u32, Error> {
        // Another one may have deployed meanwhile.
        let found = self.deployment(&change.name).await?;
        let (_, secrets) = self.planned(change, found.as_ref()).await?;
        let digest = change.record.digest();
        let latest = found.as_ref().and_then(Deployment::latest);
        let id = || change.name.clone();
        match &found {
            Some(_) => reporter.event(&Event::Found { deployment_id: id(), name: id() }),
            None => reporter.event(&Event::Created { deployment_id: id(), name: id() }),
        }
        // One whose deployer was killed goes on.
        let resumed = latest.filter(|it| !it.status.is_final() && it.digest == digest && !change.is_forced);
        let number = resumed.or(latest).map_or(1, |it| it.number + u32::from(resumed.is_none()));
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
        let manifests = revision.record.manifests((&change.name, &self.namespace), number)?;
        let start = Instant::now();
        let Some(wait) = change.wait else {
            self.kubectl.apply(&list(&manifests.objects)).await?;
            return Ok(number);
        };
        let outcome = self
            .roll_out(&change.name, &revision, &manifests.objects, (start + wait, &mut *lease), reporter)
            .await?;
        let (reason, is_late) = match outcome {
            Outcome::Ready => {
                revision.status = RevisionStatus::Deployed;
                self.write(&change.name, &revision).await?;
                self.prune(&change.name, &manifests.objects).await?;
                let status = revision.status.word().to_owned();
                reporter.event(&Event::Status { status, seconds: start.elapsed().as_secs_f64() });
                return Ok(number);
            }
            Outcome::Failed(reason) => (reason, false),
            Outcome::Late(last) => {
                let last = last.map(|last| format!("; {last}")).unwrap_or_default();
                (format!("not ready after {} s{last}", wait.as_secs()), true)
            }
        };
        revision.status = RevisionStatus::DeployFailed;
        revision.reason = Some(reason.clone());
        self.write(&change.name, &revision).await?;
        let before = found.as_ref().and_then(Deployment::active);
        if change.is_atomic {
            let deadline = Instant::now() + wait;
            self.go_back(&change.name, before, &secrets, (deadline, lease), reporter).await?;
        } else if let Some(before) = before
            && self.serves(&change.name, before.number).await?
        {
            reporter.note(format!("revision {} still serves", before.number));
        }
        let message = format!("revision {number} of `{}` did not start: {reason}", change.name);
        let logs = format!("agentcli deploy logs {} --revision-id {number} --to kubernetes", change.name);
        let later = if is_late { ", or raise --timeout" } else { "" };
        Err(Error::failed(message, format!("see its log with `{logs}`{later}")))
    }

    /// Applies objects phase by phase, and waits for each.
    async fn roll_out<H: Reporter>(
        &self,
        name: &str,
        revision: &Revision,
        objects: &[Value],
        (deadline, lease): (Instant, &mut Lease<'_>),
        reporter: &mut H,
    ) -> Result<Outcome, Error> {
        let phase = |object: &Value| {
            let component = label(object, COMPONENT);
            PHASES.iter().position(|parts| parts.contains(&component)).unwrap_or(PHASES.len())
        };
        for number in 0..=PHASES.len() {
            let part: Vec<&Value> = objects.iter().filter(|object| phase(object) == number).collect();
            if part.is_empty() {
                continue;
            }
            for job in part.iter().filter(|it| it["kind"] == "Job") {
                self.remove_failed(job).await?;
            }
            self.kubectl.apply(&list(part.iter().copied())).await?;
            let awaited = |it: &&Value| matches!(text(it, "/kind"), "Deployment" | "StatefulSet" | "Job");
            let awaited: Vec<&Value> = part.into_iter().filter(awaited).collect();
            match self.settle(name, revision.number, &awaited, (deadline, &mut *lease), reporter).await? {
                Outcome::Ready => {}
                outcome => return Ok(outcome),
            }
        }
        Ok(Outcome::Ready)
    }

    /// Removes a Job that has failed or is failing, so that it runs again.
    async fn remove_failed(&self, job: &Value) -> Result<(), Error> {
        let name = text(job, "/metadata/name");
        let selector = format!("batch.kubernetes.io/job-name={name}");
        let pods = self.kubectl.objects(&["get", "pods", "-l", &selector], "").await?;
        let found = self.kubectl.objects(&["get", "job", name, "--ignore-not-found"], "").await?;
        if pods.iter().any(is_failing) || found.iter().any(has_failed) {
            self.kubectl.run(&["delete", "job", name, "--ignore-not-found"], "").await?;
        }
        Ok(())
    }

    /// Goes back to the revision that served before, or to nothing if there was none.
    async fn go_back<H: Reporter>(
        &self,
        name: &str,
        before: Option<&Revision>,
        secrets: &Secrets,
        (deadline, lease): (Instant, &mut Lease<'_>),
        reporter: &mut H,
    ) -> Result<(), Error> {
        let Some(before) = before else {
            self.delete(name, false).await?;
            reporter.note("removed everything but volumes, since no revision has served".to_owned());
            return Ok(());
        };
        lease.renew().await?;
        secrets.restore(self, name).await?;
        let objects = before.record.manifests((name, &self.namespace), before.number)?.objects;
        let reason = match self.roll_out(name, before, &objects, (deadline, lease), reporter).await? {
            Outcome::Ready => {
                self.prune(name, &objects).await?;
                reporter.note(format!("went back to revision {}, which serves", before.number));
                return Ok(());
            }
            Outcome::Failed(reason) => reason,
            Outcome::Late(last) => last.unwrap_or_else(|| "the time is over".to_owned()),
        };
        reporter.warn(format!("revision {} does not get ready either: {reason}", before.number));
        Ok(())
    }

    /// Removes objects of earlier revisions, and revisions that are no longer needed.
    async fn prune(&self, name: &str, objects: &[Value]) -> Result<(), Error> {
        let selector = format!("{INSTANCE}={name},{MANAGED_BY}={MANAGER},{COMPONENT}!=revision");
        let found =
            self.kubectl.objects(&["get", KINDS, "-l", &selector, "--show-managed-fields"], "").await?;
        let is_gone =
            |it: &&Value| is_applied(it) && !objects.iter().any(|object| title(object) == title(it));
        let gone =
            found.iter().filter(is_gone).map(|it| format!("{}/{}", resource(it), text(it, "/metadata/name")));
        let deployment = self.deployment(name).await?;
        let surplus = deployment.iter().flat_map(Deployment::surplus);
        let surplus = surplus.map(|revision| format!("configmap/{}", object_name(name, revision.number)));
        let all: Vec<String> = gone.chain(surplus).collect();
        if all.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        let arguments = [&["delete", "--ignore-not-found", "--wait=false"], &names[..]].concat();
        self.kubectl.run(&arguments, "").await.map(drop)
    }

    /// Removes the objects of a deployment, and with `volumes` its volumes.
    ///
    /// # Errors
    ///
    /// The user may not.
    pub async fn delete(&self, name: &str, volumes: bool) -> Result<(), Error> {
        let selector = format!("{INSTANCE}={name},{MANAGED_BY}={MANAGER}");
        let kinds = format!("{KINDS},secrets,leases.coordination.k8s.io");
        let arguments = ["delete", &kinds, "-l", &selector, "--ignore-not-found"];
        self.kubectl.run(&arguments, "").await?;
        if volumes {
            let selector = format!("{INSTANCE}={name}");
            self.kubectl
                .run(&["delete", "persistentvolumeclaims", "-l", &selector, "--ignore-not-found"], "")
                .await?;
        }
        Ok(())
    }
}

/// Whether an object was applied by us: others may have copied its labels, as `kubectl expose` does.
fn is_applied(object: &Value) -> bool {
    let managers = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    managers.into_iter().flatten().any(|it| it["manager"] == MANAGER)
}

/// `deployment.apps` of an object, as kubectl names it.
fn resource(object: &Value) -> String {
    let group = text(object, "/apiVersion").rsplit_once('/').map(|(group, _)| format!(".{group}"));
    text(object, "/kind").to_ascii_lowercase() + &group.unwrap_or_default()
}
