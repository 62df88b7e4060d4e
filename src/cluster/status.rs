//! The state of workloads, Jobs and pods, as the cluster reports it.

use serde_json::Value;

use super::text;

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

/// The state of an object. Reasons are fragments.
pub(super) enum State {
    /// A workload or Job is ready; a pod has no trouble.
    Ready,
    /// It may get ready by itself.
    Waiting(String),
    /// It does not get ready without a change.
    Failed(String),
    /// A container of the pod exits again and again.
    Crashing { container: String, code: i64 },
}

impl State {
    /// The state of a Deployment, StatefulSet, Job or pod.
    pub(super) fn of(object: &Value) -> Self {
        match text(object, "/kind") {
            "Job" => of_job(object),
            "Pod" => of_pod(object),
            _ => of_workload(object),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// Whether nothing but a change helps.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Crashing { .. })
    }
}

fn of_job(job: &Value) -> State {
    if has_condition(job, "Complete", "True") {
        return State::Ready;
    }
    match condition(job, "Failed", "True") {
        Some(failed) => State::Failed(message(failed)),
        None => State::Waiting("running".to_owned()),
    }
}

fn of_workload(workload: &Value) -> State {
    if !is_observed(workload) {
        return State::Waiting("waiting for the controller".to_owned());
    }
    let failure = condition(workload, "ReplicaFailure", "True");
    if let Some(failed) = failure.or(condition(workload, "Progressing", "False")) {
        return State::Failed(message(failed));
    }
    let is_set = workload["kind"] == "StatefulSet";
    let wanted = workload.pointer("/spec/replicas").and_then(Value::as_u64).unwrap_or(1);
    let (updated, total) = (count(workload, "/updatedReplicas"), count(workload, "/replicas"));
    let ready = count(workload, if is_set { "/readyReplicas" } else { "/availableReplicas" });
    let is_current =
        !is_set || text(workload, "/status/currentRevision") == text(workload, "/status/updateRevision");
    if updated >= wanted && total == updated && ready >= wanted && is_current {
        return State::Ready;
    }
    match total.saturating_sub(updated) {
        0 => State::Waiting(format!("{ready} of {wanted} ready")),
        old => State::Waiting(format!("{ready} of {wanted} ready, {old} of an earlier revision")),
    }
}

fn of_pod(pod: &Value) -> State {
    let scheduled = condition(pod, "PodScheduled", "False");
    if let Some(condition) = scheduled.filter(|it| it["reason"] == "Unschedulable") {
        return State::Waiting(format!("not scheduled: {}", message(condition)));
    }
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let containers = lists.iter().filter_map(|list| pod.pointer(list)?.as_array()).flatten();
    containers.map(of_container).find(|state| !state.is_ready()).unwrap_or(State::Ready)
}

fn of_container(status: &Value) -> State {
    let reason = text(status, "/state/waiting/reason");
    let why = one_line(text(status, "/state/waiting/message"));
    if FATAL.contains(&reason) {
        let reason = match reason {
            "CreateContainerConfigError" => "a Secret, ConfigMap or key is missing",
            "ImagePullBackOff" | "ErrImageNeverPull" => "the image cannot be pulled",
            reason => reason,
        };
        return State::Failed(format!("{reason}: {why}"));
    }
    let exits = ["/state/terminated", "/lastState/terminated"];
    let code = exits.iter().find_map(|exit| status.pointer(exit)?["exitCode"].as_i64()).unwrap_or_default();
    let is_down = reason == "CrashLoopBackOff" || status.pointer("/state/terminated").is_some();
    let has_restarted = status["restartCount"].as_u64().is_some_and(|count| count > 0);
    let is_out_of_memory = text(status, "/lastState/terminated/reason") == "OOMKilled";
    if is_out_of_memory || has_restarted && is_down && code != 0 {
        return State::Crashing { container: text(status, "/name").to_owned(), code };
    }
    // One that is being made has no message, and the exit explains another one.
    let is_usual = why.is_empty() || reason == "CrashLoopBackOff";
    if is_usual { State::Ready } else { State::Waiting(format!("{reason}: {why}")) }
}

/// Whether the controller has seen the present specification.
pub(super) fn is_observed(object: &Value) -> bool {
    let generation = object.pointer("/metadata/generation").and_then(Value::as_u64).unwrap_or_default();
    count(object, "/observedGeneration") >= generation
}

/// Whether an object has a condition with this status.
pub(super) fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind, status).is_some()
}

fn condition<'a>(object: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter().find(|it| it["type"] == kind && it["status"] == status)
}

fn count(object: &Value, field: &str) -> u64 {
    object["status"].pointer(field).and_then(Value::as_u64).unwrap_or_default()
}

fn message(condition: &Value) -> String {
    one_line(text(condition, "/message"))
}

/// A text of the cluster, in one line that is not too long.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(400).collect()
}
