//! The last build of each name: the inputs of its steps, and how long they ran. A file for each name in the cache
//! directory; if it cannot be read or written, a later build does not say why steps run again.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::endpoint::EngineEnv;
use super::inputs::{Inputs, StepInputs};
use super::records::replace;

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
    pub(super) seconds: Vec<Option<f64>>,
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
    pub(super) fn save(&self, env: &EngineEnv, tags: &[String]) -> std::io::Result<()> {
        let text = serde_json::to_vec(self)?;
        for file in tags.iter().filter_map(|tag| file(env, tag)) {
            replace(&file, &text)?;
            file.parent().map_or(Ok(()), remove_oldest)?;
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
