//! Which steps of a build run again, and the record of it.

use super::again::{Again, Comparison};
use super::connect::Engine;
use super::endpoint::EngineEnv;
use super::error::Error;
use super::events::{BuildEvent, StepOrigin};
use super::history::{Done, History};
use super::inputs::Inputs;
use super::request::BuildRequest;

/// Says which steps of a build run again, and records it.
pub(super) struct Recorder {
    env: EngineEnv,
    tags: Vec<String>,
    before: Option<History>,
    this: History,
    /// The steps that run again, as far as that is known before the build.
    again: Vec<Again>,
    /// The steps of interest, by the index of the instruction.
    commands: Vec<(usize, String)>,
}

impl Recorder {
    /// The recorder of a build on `engine`; `None` if builds are not recorded. Another engine has another cache, so its
    /// builds do not count.
    pub(super) fn new(engine: &Engine, request: &BuildRequest, inputs: Inputs) -> Option<Self> {
        if engine.env.cache.is_none() || request.tags.is_empty() {
            return None;
        }
        let host = engine.endpoint.host.clone();
        let before = History::of_last(&engine.env, &request.tags).filter(|before| before.host == host);
        let again = before
            .as_ref()
            .map(|before| Comparison::new(before, &inputs, &request.steps, request.no_cache).again());
        let source = request.steps.iter().rposition(StepOrigin::copies_everything);
        let commands = request.steps[..source.unwrap_or_default()].iter().enumerate();
        let commands = commands.filter(|(_, origin)| origin.is_command());
        Some(Self {
            env: engine.env.clone(),
            tags: request.tags.clone(),
            before,
            again: again.unwrap_or_default(),
            commands: commands.map(|(index, origin)| (index, origin.title().to_owned())).collect(),
            this: History { program: History::PROGRAM.to_owned(), host, inputs, seconds: Vec::new() },
        })
    }

    /// The steps that run again, as events.
    pub(super) fn again(&self) -> Vec<BuildEvent> {
        Again::merged(&self.again).into_iter().map(Again::event).collect()
    }

    /// Records the build; returns the steps that ran again although nothing of the project had changed.
    pub(super) fn record(mut self, done: &[Done]) -> Vec<BuildEvent> {
        let before = self.before.as_ref();
        let known = |index| before.and_then(|before| before.seconds(&self.this.inputs, index));
        let ran = |index| done.iter().find(|done| done.index == index && !done.cached);
        let seconds = (0..self.this.inputs.steps.len())
            .map(|index| ran(index).map_or_else(|| known(index), |done| Some(done.seconds)))
            .collect();
        let is_unexpected = |(index, _): &&(usize, String)| {
            before.is_some() && ran(*index).is_some() && self.again.iter().all(|again| again.index != *index)
        };
        let unexpected = self.commands.iter().filter(is_unexpected);
        let unexpected = unexpected.map(|(index, step)| BuildEvent::RunsAgain {
            step: step.clone(),
            cause: "the base image changed, or the engine's cache no longer has it".to_owned(),
            seconds: known(*index),
        });
        let unexpected = unexpected.collect();
        self.this.seconds = seconds;
        // Without a record, the next build does not say why steps run again.
        self.this.save(&self.env, &self.tags).ok();
        unexpected
    }
}

impl BuildRequest {
    /// The steps before the source that run again since the last build of the first name, and why; `None` if there is no
    /// record of it. No engine is asked, so that another base image or an emptied cache is not seen.
    ///
    /// # Errors
    ///
    /// The context cannot be read.
    pub fn again(&self, env: &EngineEnv) -> Result<Option<Vec<Again>>, Error> {
        let Some(before) = History::of_last(env, &self.tags) else { return Ok(None) };
        let inputs = Inputs::new(self, &self.context.list()?)?;
        Ok(Some(Again::merged(&Comparison::new(&before, &inputs, &self.steps, self.no_cache).again())))
    }
}
