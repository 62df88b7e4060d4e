//! Reports of BuildKit.

use std::collections::HashMap;

use bollard::moby::buildkit::v1::{StatusResponse, Vertex};

use super::Steps;
use super::name::step_of_vertex;
use crate::engine::events::BuildEvent;
use crate::live::Splitter;

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

    fn start(&mut self, vertex: &Vertex, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        let known = self.known.entry(vertex.digest.clone()).or_default();
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
        let known = self.known.entry(digest.to_owned()).or_default();
        for line in known.output.split(text) {
            match known.id {
                Some(id) => steps.log(id, &line),
                None => known.early.push(line),
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
        } else {
            steps.fail(id, &vertex.error);
        }
    }
}

/// A time in nanoseconds since 1970.
fn nanoseconds(seconds: i64, nanos: i32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}
