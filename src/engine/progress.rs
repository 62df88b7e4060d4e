//! Turns the engine's reports into events.
//!
//! BuildKit reports each vertex several times, in any order, with log lines cut anywhere; Buildah prints lines. Both become
//! steps that start once and end once.

mod buildah;
mod buildkit;
mod name;
mod origin;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anstream::adapter::strip_str;

use super::credentials::HUB_HOST;
use super::error::{Error, FailedStep, is_unauthorized};
use super::events::{BuildEvent, Step, StepOrigin};
use super::history::Done;
use origin::Origins;

pub(super) use buildah::Buildah;
pub(super) use buildkit::BuildKit;

/// Number of last lines of a step that are kept for its error.
const LAST_LINES: usize = 20;

/// Interval at which a running step is reported.
const INTERVAL: Duration = Duration::from_secs(30);

/// Maximum number of steps of a build.
pub(super) const MAX_STEPS: usize = 2000;

/// Longest text of a step that is kept, in bytes.
const MAX_TEXT: usize = 16 * 1024;

/// The steps so far, and the receiver of events.
pub(super) struct Steps<F> {
    steps: Vec<State>,
    origins: Origins,
    /// The instructions that are done.
    done: Vec<Done>,
    events: F,
}

struct State {
    step: Step,
    /// Index of its instruction.
    origin: Option<usize>,
    started: Instant,
    /// Number of times that it was reported as running.
    reported: u32,
    ended: bool,
    failed: Option<String>,
    last_lines: VecDeque<String>,
    /// Whether the last line was one of npm's usage.
    in_usage: bool,
}

impl<F: FnMut(BuildEvent)> Steps<F> {
    pub(super) fn new(origins: &[StepOrigin], events: F) -> Self {
        Self { steps: Vec::new(), origins: Origins::new(origins), done: Vec::new(), events }
    }

    pub(super) fn report(&mut self, event: BuildEvent) {
        (self.events)(event);
    }

    /// Starts a step and returns its index.
    fn start(&mut self, step: Step) -> usize {
        let id = self.steps.len();
        let origin = self.origins.find(&step);
        let key = origin.and_then(|(_, origin)| origin.key.clone());
        let origin = origin.map(|(index, _)| index);
        let step = Step { id, key, name: cut(&step.name).to_owned(), ..step };
        self.steps.push(State {
            step: step.clone(),
            origin,
            started: Instant::now(),
            reported: 0,
            ended: false,
            failed: None,
            last_lines: VecDeque::new(),
            in_usage: false,
        });
        self.report(BuildEvent::StepStarted(step));
        id
    }

    fn log(&mut self, id: usize, line: &str) {
        let line = printable(line);
        let state = &mut self.steps[id];
        state.in_usage = is_npm_usage(&line, state.in_usage);
        if !state.in_usage {
            if state.last_lines.len() == LAST_LINES {
                state.last_lines.pop_front();
            }
            state.last_lines.push_back(cut(&line).to_owned());
        }
        self.report(BuildEvent::StepLog { id, line });
    }

    /// Reports the instructions that have been running for another interval at the time `now`.
    pub(super) fn running(&mut self, now: Instant) {
        for id in 0..self.steps.len() {
            let state = &mut self.steps[id];
            let elapsed = now.saturating_duration_since(state.started);
            if !state.ended && !state.step.internal && elapsed >= INTERVAL * (state.reported + 1) {
                state.reported += 1;
                self.report(BuildEvent::StepRunning { id, seconds: elapsed.as_secs() });
            }
        }
    }

    fn done(&mut self, id: usize, cached: bool, seconds: Option<f64>) {
        self.steps[id].last_lines = VecDeque::new();
        if !std::mem::replace(&mut self.steps[id].ended, true) {
            let State { origin, started, .. } = &self.steps[id];
            let ran = seconds.unwrap_or_else(|| started.elapsed().as_secs_f64());
            self.done.extend(origin.map(|index| Done { index, cached, seconds: ran }));
            self.report(BuildEvent::StepDone { id, cached, seconds });
        }
    }

    /// Ends a step that the build does not need.
    fn warn(&mut self, id: usize, message: String) {
        if !self.steps[id].ended {
            self.report(BuildEvent::Warning { message });
            self.done(id, false, None);
        }
    }

    fn fail(&mut self, id: usize, reason: &str) {
        let reason = cut(reason);
        let state = &mut self.steps[id];
        state.failed.get_or_insert_with(|| reason.to_owned());
        if !std::mem::replace(&mut state.ended, true) && !is_stopped(reason) {
            self.report(BuildEvent::StepFailed { id, reason: reason.to_owned() });
        }
    }

    /// The instructions that are done so far.
    pub(super) fn instructions_done(&self) -> &[Done] {
        &self.done
    }

    /// Whether no build has as many steps.
    pub(super) fn are_too_many(&self) -> bool {
        self.steps.len() > MAX_STEPS
    }

    /// The error of the build, from the engine's last message.
    pub(super) fn error(&mut self, reason: &str) -> Error {
        if reason.contains("http://build-context-") {
            return Error::ContextLost;
        }
        let reason = cut(reason).to_owned();
        let failed = |state: &&State| state.failed.as_deref().is_some_and(|why| !is_stopped(why));
        let failed: Vec<&State> = self.steps.iter().filter(failed).collect();
        // A step that the engine stopped may fail with any message.
        let named = |state: &&&State| state.failed.as_ref().is_some_and(|why| reason.contains(why));
        let Some(state) = failed.iter().find(named).or(failed.first()) else {
            return pull_error(None, &reason).unwrap_or(Error::Refused { reason });
        };
        let why = state.failed.clone().unwrap_or_default();
        if let Some(error) = pull_error(Some(&state.step.name), &why) {
            return error;
        }
        Error::Step(Box::new(FailedStep {
            step: state.step.clone(),
            code: exit_code(&why),
            last_lines: state.last_lines.iter().cloned().collect(),
            reason: short(&why),
        }))
    }
}

/// The part of a text of the engine that is kept.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

/// Whether `line` belongs to the usage that npm prints after its reason, which would take the place of the reason.
fn is_npm_usage(line: &str, in_usage: bool) -> bool {
    let text = ["npm error", "npm ERR!"].iter().find_map(|start| line.strip_prefix(start)).map(str::trim);
    text.is_some_and(|text| text == "Usage:" || in_usage && !text.starts_with("A complete log"))
}

/// Whether the engine stopped a step because another one failed. The command has an exit code then, too.
fn is_stopped(reason: &str) -> bool {
    reason.contains("context canceled")
}

/// The error of a base image that cannot be pulled, if `reason` is about one; `step` is the name of the step.
fn pull_error(step: Option<&str>, reason: &str) -> Option<Error> {
    const LOAD: &str = "load metadata for ";
    const FROM: &str = "FROM ";
    let from_step = step.and_then(|step| step.strip_prefix(LOAD).or_else(|| step.strip_prefix(FROM)));
    let from_reason =
        reason.split("initializing source docker://").nth(1).and_then(|rest| rest.split(": ").next());
    let from_name = from_step.or(from_reason).and_then(|name| name.split_whitespace().next());
    let image = from_name.map(str::to_owned).or_else(|| requested(reason))?;
    let unauthorized = is_unauthorized(reason);
    Some(Error::Pull { image, reason: reason.to_owned(), unauthorized })
}

/// The image of a failed request to `https://REGISTRY/v2/NAME/manifests/REFERENCE`. Docker 20.10 may end a build with it
/// before it has reported the step.
fn requested(reason: &str) -> Option<String> {
    let url = reason.split_once("failed to do request: ")?.1.split('"').nth(1)?;
    let (registry, path) = url.split_once("://")?.1.split_once("/v2/")?;
    let (name, reference) = path.split_once("/manifests/")?;
    let registry = if registry == HUB_HOST { "docker.io" } else { registry };
    let separator = if reference.contains(':') { '@' } else { ':' };
    Some(format!("{registry}/{name}{separator}{reference}"))
}

/// The exit code in a message of BuildKit, Docker or Buildah about a failed command.
fn exit_code(reason: &str) -> Option<i64> {
    let words = ["exit code: ", "returned a non-zero code: ", "exit status "];
    let rest = words.into_iter().find_map(|word| reason.rsplit_once(word))?.1;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The reason without the command, which the step names.
fn short(reason: &str) -> String {
    match exit_code(reason) {
        Some(code) => format!("the command exited with code {code}"),
        None => reason.to_owned(),
    }
}

/// `line` without escape sequences and control characters; of what a carriage return overwrites, only the last is kept.
pub(super) fn printable(line: &str) -> String {
    let line = strip_str(line.trim_end_matches(['\n', '\r'])).to_string();
    let last = line.rsplit('\r').next().unwrap_or(&line);
    last.chars().filter(|letter| *letter == '\t' || !letter.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message is of Docker 26.1.
    #[test]
    fn an_engine_that_loses_the_build_context() {
        let reason = "failed to read downloaded context: failed to load cache key: Get \
                      \"http://build-context-7h8fn5x7\": dial tcp: lookup build-context-7h8fn5x7: no such host";
        let error = Steps::new(&[], |_| {}).error(reason);
        assert!(matches!(error, Error::ContextLost) && error.hint().is_some(), "{error}");
    }

    #[test]
    fn a_step_that_runs_long_is_reported_at_intervals() {
        let mut seen = Vec::new();
        let mut steps = Steps::new(&[], |event| {
            if let BuildEvent::StepRunning { id, seconds } = event {
                seen.push((id, seconds));
            }
        });
        for internal in [true, false, false] {
            steps.start(Step { internal, ..Step::default() });
        }
        steps.done(1, false, None);
        let start = Instant::now();
        for after in [20, 31, 32, 65] {
            steps.running(start + Duration::from_secs(after));
        }
        drop(steps);
        assert_eq!(seen, [(2, 31), (2, 65)]);
    }
}
