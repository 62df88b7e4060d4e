//! The last build of each name: the inputs of its steps, and how long they ran. A file for each name in the cache
//! directory; if it cannot be read or written, a later build does not say why steps run again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::again::{Again, Comparison};
use super::build::BuildRequest;
use super::connect::Engine;
use super::endpoint::EngineEnv;
use super::error::Error;
use super::events::{BuildEvent, StepOrigin};
use super::inputs::{Inputs, StepInputs};
use crate::context::Listing;

/// The directory of the files.
const DIRECTORY: &str = "steps";

/// Maximum number of files; the oldest are removed.
const MOST: usize = 200;

/// The last build of a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct History {
    /// Version of the program.
    pub(super) program: String,
    /// The address of the engine.
    pub(super) host: String,
    /// The inputs.
    pub(super) inputs: Inputs,
    /// Seconds that each step took the last time it ran.
    seconds: Vec<Option<f64>>,
}

/// An instruction that was done in a build.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    /// Index of the instruction.
    pub(super) index: usize,
    /// Whether it came from the cache.
    pub(super) cached: bool,
    /// How long it ran.
    pub(super) seconds: f64,
}

impl History {
    /// This version of the program.
    pub(super) const PROGRAM: &str = env!("CARGO_PKG_VERSION");

    /// The last build of the first of `tags`.
    pub(super) fn of_last(env: &EngineEnv, tags: &[String]) -> Option<Self> {
        serde_json::from_slice(&fs::read(file(env, tags.first()?)?).ok()?).ok()
    }

    /// Saves it for each of `tags`.
    fn save(&self, env: &EngineEnv, tags: &[String]) -> std::io::Result<()> {
        let text = serde_json::to_vec(self)?;
        for file in tags.iter().filter_map(|tag| file(env, tag)) {
            let directory = file.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(directory)?;
            // Renaming is atomic.
            let mut whole = NamedTempFile::new_in(directory)?;
            whole.write_all(&text)?;
            whole.persist(&file).map_err(|error| error.error)?;
            remove_oldest(directory)?;
        }
        Ok(())
    }

    /// The step that was what the step `index` of `inputs` is: of the same purpose, the same among those.
    pub(super) fn same_step(&self, inputs: &Inputs, index: usize) -> Option<&StepInputs> {
        self.inputs.steps.get(self.same_index(inputs, index)?)
    }

    /// How long the step took when it ran last.
    pub(super) fn seconds(&self, inputs: &Inputs, index: usize) -> Option<f64> {
        self.seconds.get(self.same_index(inputs, index)?).copied().flatten()
    }

    fn same_index(&self, inputs: &Inputs, index: usize) -> Option<usize> {
        let purpose = &inputs.steps.get(index)?.purpose;
        let before = inputs.steps[..index].iter().filter(|step| step.purpose == *purpose).count();
        let same = self.inputs.steps.iter().enumerate().filter(|(_, step)| step.purpose == *purpose);
        same.map(|(index, _)| index).nth(before)
    }
}

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
    ///
    /// # Errors
    ///
    /// The context cannot be read.
    pub(super) fn new(
        engine: &Engine,
        request: &BuildRequest,
        listing: &Listing,
    ) -> Result<Option<Self>, Error> {
        if engine.env.cache.is_none() || request.tags.is_empty() {
            return Ok(None);
        }
        let host = engine.endpoint.host.clone();
        let before = History::of_last(&engine.env, &request.tags).filter(|before| before.host == host);
        let inputs = Inputs::new(request, listing)?;
        let again = before
            .as_ref()
            .map(|before| Comparison::new(before, &inputs, &request.steps, request.no_cache).again());
        let source = request.steps.iter().rposition(StepOrigin::copies_everything);
        let commands = request.steps[..source.unwrap_or_default()].iter().enumerate();
        let commands = commands.filter(|(_, origin)| origin.is_command());
        Ok(Some(Self {
            env: engine.env.clone(),
            tags: request.tags.clone(),
            before,
            again: again.unwrap_or_default(),
            commands: commands.map(|(index, origin)| (index, origin.title().to_owned())).collect(),
            this: History { program: History::PROGRAM.to_owned(), host, inputs, seconds: Vec::new() },
        }))
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

fn file(env: &EngineEnv, tag: &str) -> Option<PathBuf> {
    let name = hex::encode(&Sha256::digest(tag)[..12]);
    Some(env.cache.as_ref()?.join(DIRECTORY).join(name + ".json"))
}

fn remove_oldest(directory: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    files[..files.len().saturating_sub(MOST)].iter().try_for_each(|(_, path)| fs::remove_file(path))
}
