//! Reports of BuildKit.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bollard::moby::buildkit::v1::{StatusResponse, Vertex};

use super::name::step_of_vertex;
use super::{MAX_STEPS, Steps};
use crate::engine::events::BuildEvent;
use crate::live::Splitter;

/// Maximum number of lines of a step that are kept until its start is reported.
const MAX_EARLY: usize = 100;

/// Start of the name of a vertex that reads which layers an image of `--cache-from` has.
const CACHE: &str = "importing cache manifest from ";

/// The vertexes of a build of BuildKit, by digest.
#[derive(Default)]
pub(crate) struct BuildKit {
    known: HashMap<String, Known>,
}

#[derive(Default)]
struct Known {
    id: Option<usize>,
    output: Splitter,
    /// Lines from before the start of the step was reported.
    early: Vec<String>,
    /// When it first started, in nanoseconds since 1970.
    started: Option<i128>,
}

impl BuildKit {
    /// Reads a report.
    pub(crate) fn report(&mut self, report: StatusResponse, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        for vertex in &report.vertexes {
            self.start(vertex, steps);
        }
        for log in report.logs {
            self.log(&log.vertex, &log.msg, steps);
        }
        for status in report.statuses {
            let Some(id) = self.known.get(&status.vertex).and_then(|known| known.id) else { continue };
            let [current, total] =
                [status.current, status.total].map(|count| u64::try_from(count).unwrap_or(0));
            steps.report(BuildEvent::StepProgress { id, part: status.id, current, total });
        }
        for vertex in &report.vertexes {
            self.end(vertex, steps);
        }
    }

    /// The vertex, unless there are more than a build has.
    fn known(&mut self, digest: &str) -> Option<&mut Known> {
        let is_full = self.known.len() > 2 * MAX_STEPS;
        match self.known.entry(digest.to_owned()) {
            Entry::Vacant(_) if is_full => None,
            entry => Some(entry.or_default()),
        }
    }

    fn start(&mut self, vertex: &Vertex, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        let Some(known) = self.known(&vertex.digest) else { return };
        // A step that is cached, or fails before it runs, has no start.
        let begun = vertex.started.is_some() || vertex.completed.is_some() || !vertex.error.is_empty();
        let started = vertex.started.as_ref().map(|time| nanoseconds(time.seconds, time.nanos));
        known.started = known.started.or(started);
        if known.id.is_none() && begun {
            let id = steps.start(step_of_vertex(&vertex.name));
            known.id = Some(id);
            known.early.drain(..).for_each(|line| steps.log(id, &line));
        }
    }

    fn log(&mut self, digest: &str, text: &[u8], steps: &mut Steps<impl FnMut(BuildEvent)>) {
        let Some(known) = self.known(digest) else { return };
        for line in known.output.split(text) {
            match known.id {
                Some(id) => steps.log(id, &line),
                None if known.early.len() < MAX_EARLY => known.early.push(line),
                None => {}
            }
        }
    }

    fn end(&mut self, vertex: &Vertex, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        let Some(known) = self.known.get_mut(&vertex.digest) else { return };
        let Some(id) = known.id else { return };
        if vertex.completed.is_none() && vertex.error.is_empty() {
            return;
        }
        if let Some(line) = known.output.finish() {
            steps.log(id, &line);
        }
        if vertex.error.is_empty() {
            let ended = vertex.completed.as_ref().map(|time| nanoseconds(time.seconds, time.nanos));
            let spent =
                ended.zip(known.started).map(|(ended, started)| (ended - started).max(0) as f64 / 1e9);
            steps.done(id, vertex.cached, spent);
        } else if let Some(image) = vertex.name.strip_prefix(CACHE) {
            // The build goes on without it, as for the first image of a repository.
            steps.warn(id, format!("cannot read the layers of `{image}`: {}", reason(&vertex.error)));
        } else {
            steps.fail(id, &vertex.error);
        }
    }
}

/// The cause of an error that names its request first.
fn reason(error: &str) -> &str {
    error.rsplit(": ").next().unwrap_or(error)
}

/// A time in nanoseconds since 1970.
fn nanoseconds(seconds: i64, nanos: i32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}
