//! Waiting for objects, and why they do not get ready.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::lease::Lease;
use super::{COMPONENT, Cluster, Error, INSTANCE, REVISION, label, text, title};
use crate::compiler::server;
use crate::dev::crash_cause;
use crate::live::{Event, Reporter};

/// Interval between looks at the cluster.
const LOOK: Duration = Duration::from_secs(1);

/// Timeout for an unreachable cluster while a revision is awaited.
const ABSENCE: Duration = Duration::from_secs(120);

/// Number of lines of a log that are read to find a cause, and that are shown.
const READ_LINES: &str = "--tail=200";
const SHOWN_LINES: usize = 8;

/// Reasons of waiting containers that do not pass without a change.
const FATAL: &[&str] = &[
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// What the wait for a pod shows.
enum Trouble {
    /// It may pass: a fragment.
    Passing(String),
    /// It does not pass: a fragment.
    Fatal(String),
    /// This container ends again and again.
    Crash { container: String, code: i64 },
}

/// The end of a wait.
pub(super) enum Outcome {
    /// All are ready.
    Ready,
    /// They do not get ready, for this reason.
    Failed(String),
    /// The time is over; the last trouble.
    Late(Option<String>),
}

impl Cluster {
    /// Waits until the workloads and Jobs are ready, at most until `deadline`.
    pub(super) async fn settle(
        &self,
        deployment: &str,
        revision: u32,
        objects: &[&Value],
        (deadline, lease): (Instant, &mut Lease<'_>),
        reporter: &mut impl Reporter,
    ) -> Result<Outcome, Error> {
        let mut shown: BTreeMap<String, String> = BTreeMap::new();
        let mut last = None;
        let mut away: Option<Instant> = None;
        let components: Vec<&str> = objects.iter().map(|object| label(object, COMPONENT)).collect();
        let names: Vec<String> = objects.iter().map(|object| title(object)).collect();
        loop {
            let kinds = "deployments.apps,statefulsets.apps,jobs.batch,pods";
            let selector = format!("{INSTANCE}={deployment}");
            let found = match self.kubectl.objects(&["get", kinds, "-l", &selector], "").await {
                // A cluster of one control plane is away while that is updated.
                Err(error @ Error::Unreachable { .. })
                    if away.is_none_or(|since| since.elapsed() < ABSENCE) =>
                {
                    if away.is_none() {
                        reporter.warn(format!("{error}; still waiting"));
                    }
                    away.get_or_insert_with(Instant::now);
                    self.kubectl.stop.unless_asked(sleep(LOOK)).await?;
                    continue;
                }
                found => found?,
            };
            away = None;
            let workloads = found.iter().filter(|it| names.contains(&title(it)));
            let states: Vec<(String, State)> = workloads.map(|it| (title(it), state(it))).collect();
            if states.len() == names.len() && states.iter().all(|(_, state)| matches!(state, State::Ready)) {
                return Ok(Outcome::Ready);
            }
            let number = revision.to_string();
            let is_ours = |pod: &&Value| {
                let (of, owner) = (label(pod, REVISION), text(pod, "/metadata/ownerReferences/0/name"));
                let is_of_job = || names.contains(&format!("Job {owner}"));
                pod["kind"] == "Pod"
                    && components.contains(&label(pod, COMPONENT))
                    && if of.is_empty() {
                        label(pod, COMPONENT) != "migrations" || is_of_job()
                    } else {
                        of == number
                    }
            };
            let mut troubles = Vec::new();
            for pod in found.iter().filter(is_ours) {
                match trouble(pod) {
                    None => {}
                    Some(Trouble::Passing(text)) => troubles.push(format!("{}: {text}", title(pod))),
                    Some(Trouble::Fatal(text)) => {
                        return Ok(Outcome::Failed(format!("{}: {text}", title(pod))));
                    }
                    Some(Trouble::Crash { container, code }) => {
                        return self.crash(pod, &container, code, reporter).await.map(Outcome::Failed);
                    }
                }
            }
            for (name, state) in states {
                match state {
                    State::Failed(why) => return Ok(Outcome::Failed(format!("{name}: {why}"))),
                    State::Waiting(text) => troubles.push(format!("{name}: {text}")),
                    State::Ready => {}
                }
            }
            for text in &troubles {
                if let Some((subject, state)) = text.split_once(": ")
                    && shown.insert(subject.to_owned(), state.to_owned()).as_deref() != Some(state)
                {
                    reporter.note(text.clone());
                }
            }
            last = troubles.into_iter().next().or(last);
            if Instant::now() > deadline {
                let unready = found.iter().filter(is_ours).find(|pod| !is_ready(pod));
                let event = match unready {
                    Some(pod) => self.warning(pod).await?.map(|text| format!("{}: {text}", title(pod))),
                    None => None,
                };
                return Ok(Outcome::Late(event.or(last)));
            }
            self.unblock(&found, &number).await?;
            lease.renew().await?;
            self.kubectl.stop.unless_asked(sleep(LOOK)).await?;
        }
    }

    /// The reason of a crash, whose last lines are reported.
    async fn crash(
        &self,
        pod: &Value,
        container: &str,
        code: i64,
        reporter: &mut impl Reporter,
    ) -> Result<String, Error> {
        let name = text(pod, "/metadata/name");
        let mut log = String::new();
        for which in ["--previous=false", "--previous=true"] {
            log = self
                .kubectl
                .run(&["logs", name, "-c", container, READ_LINES, which], "")
                .await
                .unwrap_or_default();
            // The kubelet says so in place of a log that is gone.
            if !log.trim().is_empty() && !log.starts_with("unable to retrieve container logs") {
                break;
            }
        }
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        let shown = lines.iter().filter(|line| !line.trim().is_empty());
        let shown: Vec<&String> = shown.rev().take(SHOWN_LINES).collect();
        for line in shown.into_iter().rev() {
            reporter.event(&Event::Entry { time: None, level: None, message: line.clone() });
        }
        let cause = crash_cause(&lines, Path::new(server::PROJECT));
        let cause = match (cause, self.warning(pod).await?) {
            (Some(cause), _) => cause,
            (None, Some(event)) if event.contains("probe") => event,
            (None, _) if lines.iter().any(|line| line.contains("exec format error")) => {
                "its image is for another architecture; build it with --platform".to_owned()
            }
            _ => format!("exit code {code}"),
        };
        Ok(format!("container {container} of {name} crashes: {cause}"))
    }

    /// The newest warning about a pod.
    async fn warning(&self, pod: &Value) -> Result<Option<String>, Error> {
        let selector = format!(
            "type=Warning,involvedObject.kind=Pod,involvedObject.name={}",
            text(pod, "/metadata/name")
        );
        let found = self.kubectl.objects(&["get", "events", "--field-selector", &selector], "").await?;
        let time = |event: &&Value| {
            let at = ["/lastTimestamp", "/eventTime"].map(|place| text(event, place).to_owned());
            at.into_iter().max()
        };
        let newest = found.iter().filter(|event| text(event, "/reason") != "BackOff").max_by_key(time);
        Ok(newest.map(|event| in_one_line(text(event, "/message"))))
    }

    /// Deletes pods of earlier revisions that do not get ready, of StatefulSets: these replace no others, even once their
    /// template is fixed.
    async fn unblock(&self, found: &[Value], revision: &str) -> Result<(), Error> {
        let is_known = |it: &&Value| it["kind"] == "StatefulSet" && is_observed(it);
        let sets: Vec<&str> = found.iter().filter(is_known).map(|it| text(it, "/metadata/name")).collect();
        let is_stuck = |pod: &&Value| {
            let of = label(pod, REVISION);
            let trouble = trouble(pod).is_some_and(|it| !matches!(it, Trouble::Passing(_)));
            !of.is_empty()
                && of != revision
                && trouble
                && sets.contains(&text(pod, "/metadata/ownerReferences/0/name"))
        };
        for pod in found.iter().filter(is_stuck) {
            let arguments =
                ["delete", "pod", text(pod, "/metadata/name"), "--wait=false", "--ignore-not-found"];
            self.kubectl.run(&arguments, "").await?;
        }
        Ok(())
    }

    /// Whether a pod of a revision is ready.
    pub(super) async fn serves(&self, deployment: &str, revision: u32) -> Result<bool, Error> {
        let selector = format!("{INSTANCE}={deployment},{COMPONENT}=server,{REVISION}={revision}");
        Ok(self.kubectl.objects(&["get", "pods", "-l", &selector], "").await?.iter().any(is_ready))
    }
}

/// The state of a workload or Job.
enum State {
    Ready,
    Waiting(String),
    Failed(String),
}

fn state(object: &Value) -> State {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let condition = |kind: &str, status: &str| {
        let mut all = conditions.into_iter().flatten();
        all.find(|it| it["type"] == kind && it["status"] == status)
    };
    let message = |it: &Value| in_one_line(text(it, "/message"));
    if object["kind"] == "Job" {
        return match (condition("Complete", "True"), condition("Failed", "True")) {
            (Some(_), _) => State::Ready,
            (_, Some(failed)) => State::Failed(message(failed)),
            _ => State::Waiting("running".to_owned()),
        };
    }
    if !is_observed(object) {
        return State::Waiting("waiting for the controller".to_owned());
    }
    if let Some(failure) = condition("ReplicaFailure", "True") {
        return State::Failed(message(failure));
    }
    if let Some(late) = condition("Progressing", "False") {
        return State::Failed(message(late));
    }
    let wanted = object.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
    let (updated, total) = (number("/status/updatedReplicas"), number("/status/replicas"));
    let ready = number(if object["kind"] == "Deployment" {
        "/status/availableReplicas"
    } else {
        "/status/readyReplicas"
    });
    let is_switched = object["kind"] == "Deployment"
        || text(object, "/status/currentRevision") == text(object, "/status/updateRevision");
    if updated >= wanted && total == updated && ready >= wanted && is_switched {
        return State::Ready;
    }
    let old = total.saturating_sub(updated);
    let old = if old > 0 { format!(", {old} of an earlier revision") } else { String::new() };
    State::Waiting(format!("{ready} of {wanted} ready{old}"))
}

/// Whether the controller has seen the present specification.
fn is_observed(object: &Value) -> bool {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    number("/status/observedGeneration") >= number("/metadata/generation")
}

fn trouble(pod: &Value) -> Option<Trouble> {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    let unscheduled = conditions.into_iter().flatten().find(|it| {
        it["type"] == "PodScheduled" && it["status"] == "False" && it["reason"] == "Unschedulable"
    });
    if let Some(condition) = unscheduled {
        return Some(Trouble::Passing(format!(
            "not scheduled: {}",
            in_one_line(text(condition, "/message"))
        )));
    }
    let statuses = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = statuses.iter().filter_map(|place| pod.pointer(place)?.as_array()).flatten();
    for status in statuses {
        let reason = text(status, "/state/waiting/reason");
        let message = in_one_line(text(status, "/state/waiting/message"));
        if FATAL.contains(&reason) {
            return Some(Trouble::Fatal(format!("{}: {message}", reason_in_words(reason))));
        }
        let restarts = status["restartCount"].as_u64().unwrap_or_default();
        let ended =
            ["/state/terminated", "/lastState/terminated"].iter().find_map(|place| status.pointer(place));
        let code = ended.and_then(|it| it["exitCode"].as_i64()).unwrap_or_default();
        let is_down = reason == "CrashLoopBackOff" || status.pointer("/state/terminated").is_some();
        if restarts > 0 && is_down && code != 0 || text(status, "/lastState/terminated/reason") == "OOMKilled"
        {
            let container = text(status, "/name").to_owned();
            return Some(Trouble::Crash { container, code });
        }
        if !reason.is_empty()
            && !matches!(reason, "PodInitializing" | "ContainerCreating" | "CrashLoopBackOff")
        {
            return Some(Trouble::Passing(format!("{reason}: {message}")));
        }
    }
    None
}

fn reason_in_words(reason: &str) -> &str {
    match reason {
        "CreateContainerConfigError" => "a Secret, ConfigMap or key is missing",
        "ImagePullBackOff" | "ErrImageNeverPull" => "the image cannot be pulled",
        reason => reason,
    }
}

/// Whether a pod does not get ready without a change.
pub(super) fn is_failing(pod: &Value) -> bool {
    trouble(pod).is_some_and(|trouble| !matches!(trouble, Trouble::Passing(_)))
}

/// Whether a Job has failed.
pub(super) fn has_failed(job: &Value) -> bool {
    matches!(state(job), State::Failed(_))
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect()
}
