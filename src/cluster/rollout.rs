//! Applying the objects of a revision, waiting for them, and why they do not get ready.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::error::Kind;
use super::lease::Lease;
use super::status::{State, has_condition, is_observed, one_line};
use super::{COMPONENT, Cluster, Error, INSTANCE, REVISION, label, list, resources, text, title};
use crate::compiler::server;
use crate::dev::crash_cause;
use crate::live::{Event, Reporter};

/// Components in the order in which they are applied and waited for; all others come last.
const PHASES: [&[&str]; 2] = [&["config", "postgres", "redis"], &["migrations"]];

/// Interval between queries of the cluster.
const INTERVAL: Duration = Duration::from_secs(1);

/// Timeout for an unreachable cluster while a revision is awaited.
const ABSENCE: Duration = Duration::from_secs(120);

/// Lines of a log that are read to find a cause, and the number that is shown.
const READ_LINES: &str = "--tail=200";
const SHOWN_LINES: usize = 8;

/// The end of a rollout.
pub(super) enum Outcome {
    /// All objects are ready.
    Ready,
    /// They are not ready for this reason.
    Unready { reason: String, is_late: bool },
}

impl Outcome {
    fn failed(reason: String) -> Self {
        Self::Unready { reason, is_late: false }
    }
}

/// A revision on its way to serve.
pub(super) struct Rollout<'a, 'c, R> {
    pub(super) cluster: &'a Cluster,
    pub(super) deployment: &'a str,
    pub(super) revision: u32,
    pub(super) deadline: Instant,
    pub(super) lease: &'a mut Lease<'c>,
    pub(super) reporter: &'a mut R,
}

impl<R: Reporter> Rollout<'_, '_, R> {
    /// Applies objects phase by phase, and waits for each.
    pub(super) async fn run(&mut self, objects: &[Value]) -> Result<Outcome, Error> {
        let phase = |object: &&Value| {
            let component = label(object, COMPONENT);
            PHASES.iter().position(|phase| phase.contains(&component)).unwrap_or(PHASES.len())
        };
        for number in 0..=PHASES.len() {
            let part: Vec<&Value> = objects.iter().filter(|object| phase(object) == number).collect();
            if part.is_empty() {
                continue;
            }
            for job in part.iter().filter(|object| object["kind"] == "Job") {
                self.cluster.remove_failed(job).await?;
            }
            self.cluster.kubectl.apply(&list(part.iter().copied())).await?;
            let is_awaited = |it: &&Value| matches!(text(it, "/kind"), "Deployment" | "StatefulSet" | "Job");
            let awaited: Vec<&Value> = part.into_iter().filter(is_awaited).collect();
            let outcome = self.wait_for(&awaited).await?;
            if !matches!(outcome, Outcome::Ready) {
                return Ok(outcome);
            }
        }
        Ok(Outcome::Ready)
    }

    /// Waits until workloads and Jobs are ready.
    async fn wait_for(&mut self, objects: &[&Value]) -> Result<Outcome, Error> {
        let mut shown: BTreeMap<String, String> = BTreeMap::new();
        let kinds = [&["pods"], &resources(objects)[..]].concat().join(",");
        let selector = format!("{INSTANCE}={}", self.deployment);
        let mut absence = None;
        loop {
            let found = match self.cluster.kubectl.objects(&["get", &kinds, "-l", &selector], "").await {
                // A cluster of one control plane is away while that is updated.
                Err(error) if error.is(Kind::Unreachable) => {
                    if absence.get_or_insert_with(Instant::now).elapsed() > ABSENCE {
                        return Err(error);
                    }
                    if shown.insert(String::new(), String::new()).is_none() {
                        self.reporter.warn(format!("{error}; still waiting"));
                    }
                    self.cluster.kubectl.stop.unless_asked(sleep(INTERVAL)).await?;
                    continue;
                }
                found => found?,
            };
            absence = None;
            let is_ready = |object: &&Value| {
                found.iter().any(|it| title(it) == title(object) && State::of(it).is_ready())
            };
            if objects.iter().all(is_ready) {
                return Ok(Outcome::Ready);
            }
            let mut waiting = Vec::new();
            for object in found.iter().filter(|it| self.concerns(it, objects)) {
                let subject = title(object);
                match State::of(object) {
                    State::Ready => {}
                    State::Waiting(why) => waiting.push((subject, why)),
                    State::Failed(why) => return Ok(Outcome::failed(format!("{subject}: {why}"))),
                    State::Crashing { container, code } => {
                        return self.crash(object, &container, code).await.map(Outcome::failed);
                    }
                }
            }
            for (subject, why) in &waiting {
                if shown.insert(subject.clone(), why.clone()).as_ref() != Some(why) {
                    self.reporter.note(format!("{subject}: {why}"));
                }
            }
            if Instant::now() > self.deadline {
                let last = waiting.first().map(|(subject, why)| format!("{subject}: {why}"));
                let warning = self.warning_of_unready(&found, objects).await?;
                let reason = warning.or(last).unwrap_or_else(|| "the time is over".to_owned());
                return Ok(Outcome::Unready { reason, is_late: true });
            }
            self.cluster.unblock(&found, self.revision).await?;
            self.lease.renew().await?;
            self.cluster.kubectl.stop.unless_asked(sleep(INTERVAL)).await?;
        }
    }

    /// Whether an object is awaited, or a pod of one that is and of this revision.
    fn concerns(&self, object: &Value, awaited: &[&Value]) -> bool {
        if object["kind"] != "Pod" {
            return awaited.iter().any(|it| title(it) == title(object));
        }
        let component = label(object, COMPONENT);
        if awaited.iter().all(|it| label(it, COMPONENT) != component) {
            return false;
        }
        match label(object, REVISION) {
            // The names of Jobs depend on what they run, so that revisions share them.
            "" if component == "migrations" => {
                let job = format!("Job {}", text(object, "/metadata/ownerReferences/0/name"));
                awaited.iter().any(|it| title(it) == job)
            }
            "" => true,
            revision => revision == self.revision.to_string(),
        }
    }

    /// The reason of a crash. The last lines of the container are reported.
    async fn crash(&mut self, pod: &Value, container: &str, code: i64) -> Result<String, Error> {
        let name = text(pod, "/metadata/name");
        let lines = self.cluster.last_lines(name, container).await;
        let shown: Vec<&String> =
            lines.iter().rev().filter(|line| !line.trim().is_empty()).take(SHOWN_LINES).collect();
        for line in shown.into_iter().rev() {
            self.reporter.event(&Event::Entry { time: None, level: None, message: line.clone() });
        }
        let failed_probe = self.cluster.warning(pod).await?.filter(|event| event.contains("probe"));
        let is_foreign = lines.iter().any(|line| line.to_lowercase().contains("exec format error"));
        let cause = match crash_cause(&lines, Path::new(server::PROJECT)).or(failed_probe) {
            Some(cause) => cause,
            None if is_foreign => {
                "its image is for another architecture; build it with --platform".to_owned()
            }
            None => format!("exit code {code}"),
        };
        Ok(format!("container {container} of {name} crashes: {cause}"))
    }

    /// The newest warning about a pod that is awaited and not ready.
    async fn warning_of_unready(&self, found: &[Value], awaited: &[&Value]) -> Result<Option<String>, Error> {
        let is_unready = |it: &&Value| it["kind"] == "Pod" && !has_condition(it, "Ready", "True");
        let Some(pod) = found.iter().filter(is_unready).find(|it| self.concerns(it, awaited)) else {
            return Ok(None);
        };
        Ok(self.cluster.warning(pod).await?.map(|warning| format!("{}: {warning}", title(pod))))
    }
}

impl Cluster {
    /// Removes a Job that has failed or is failing, so that it runs again.
    async fn remove_failed(&self, job: &Value) -> Result<(), Error> {
        let name = text(job, "/metadata/name");
        let selector = format!("batch.kubernetes.io/job-name={name}");
        let pods = self.kubectl.objects(&["get", "pods", "-l", &selector], "").await?;
        let jobs = self.kubectl.objects(&["get", "job", name, "--ignore-not-found"], "").await?;
        if pods.iter().chain(&jobs).any(|it| State::of(it).is_failure()) {
            self.kubectl.run(&["delete", "job", name, "--ignore-not-found"], "").await?;
        }
        Ok(())
    }

    /// The last lines of a container that has exited.
    async fn last_lines(&self, pod: &str, container: &str) -> Vec<String> {
        for which in ["--previous=false", "--previous=true"] {
            let arguments = ["logs", pod, "-c", container, READ_LINES, which];
            let log = self.kubectl.run(&arguments, "").await.unwrap_or_default();
            // The kubelet says so in place of a log that is gone.
            if !log.trim().is_empty() && !log.starts_with("unable to retrieve container logs") {
                return log.lines().map(str::to_owned).collect();
            }
        }
        Vec::new()
    }

    /// The newest warning about a pod.
    async fn warning(&self, pod: &Value) -> Result<Option<String>, Error> {
        let name = text(pod, "/metadata/name");
        let selector = format!("type=Warning,involvedObject.kind=Pod,involvedObject.name={name}");
        let found = self.kubectl.objects(&["get", "events", "--field-selector", &selector], "").await?;
        let time = |event: &&Value| {
            ["/lastTimestamp", "/eventTime"].map(|field| text(event, field).to_owned()).into_iter().max()
        };
        let newest = found.iter().filter(|event| text(event, "/reason") != "BackOff").max_by_key(time);
        Ok(newest.map(|event| one_line(text(event, "/message"))))
    }

    /// Deletes failing pods of earlier revisions of StatefulSets, which replace no others until these are ready, even once
    /// their template is fixed.
    async fn unblock(&self, found: &[Value], revision: u32) -> Result<(), Error> {
        let revision = revision.to_string();
        let owns = |set: &Value, pod: &Value| {
            let owner = text(pod, "/metadata/ownerReferences/0/name");
            set["kind"] == "StatefulSet" && is_observed(set) && text(set, "/metadata/name") == owner
        };
        let is_stuck = |pod: &&Value| {
            let of = label(pod, REVISION);
            let is_earlier = pod["kind"] == "Pod" && !of.is_empty() && of != revision;
            is_earlier && State::of(pod).is_failure() && found.iter().any(|set| owns(set, pod))
        };
        for pod in found.iter().filter(is_stuck) {
            let name = text(pod, "/metadata/name");
            self.kubectl.run(&["delete", "pod", name, "--wait=false", "--ignore-not-found"], "").await?;
        }
        Ok(())
    }

    /// Whether a pod of a revision is ready.
    pub(super) async fn serves(&self, deployment: &str, revision: u32) -> Result<bool, Error> {
        let selector = format!("{INSTANCE}={deployment},{COMPONENT}=server,{REVISION}={revision}");
        let pods = self.kubectl.objects(&["get", "pods", "-l", &selector], "").await?;
        Ok(pods.iter().any(|pod| has_condition(pod, "Ready", "True")))
    }
}
