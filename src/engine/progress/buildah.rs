//! Output of Buildah: `STEP 2/5: RUN make`, lines of the command, `--> Using cache …`.

use super::Steps;
use super::name::step_of_line;
use crate::engine::events::BuildEvent;
use crate::live::Splitter;

/// The state of a build of Buildah.
#[derive(Default)]
pub(crate) struct Buildah {
    current: Option<usize>,
    cached: bool,
    output: Splitter,
}

impl Buildah {
    /// Reads a piece of output, which may end within a line.
    pub(crate) fn output(&mut self, text: &str, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        for line in self.output.split(text.as_bytes()) {
            self.line(&line, steps);
        }
    }

    /// The build has succeeded.
    pub(crate) fn finish(&mut self, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        if let Some(id) = self.current.take() {
            steps.done(id, self.cached, None);
        }
    }

    /// The build has failed with `reason`, and so has the current step.
    pub(crate) fn fail(&mut self, reason: &str, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        if let Some(id) = self.current.take() {
            steps.fail(id, reason);
        }
    }

    fn line(&mut self, line: &str, steps: &mut Steps<impl FnMut(BuildEvent)>) {
        if let Some(step) = step_of_line(line) {
            self.finish(steps);
            self.cached = false;
            self.current = Some(steps.start(step));
        } else if line.starts_with("--> Using cache") {
            self.cached = true;
        } else if line.starts_with("COMMIT") {
            self.finish(steps);
        } else if let Some(id) = self.current.filter(|_| !line.starts_with("--> ") && !line.is_empty()) {
            steps.log(id, line);
        }
    }
}
