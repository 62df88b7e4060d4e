//! What a build reports while it runs.

use std::path::PathBuf;
use std::time::Duration;

/// Where an instruction of the Dockerfile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOrigin {
    /// The instruction as the Dockerfile has it, such as `RUN make`; continuation lines may be joined.
    pub instruction: String,
    /// Where in the configuration it comes from: a JSON Pointer.
    pub key: Option<String>,
}

/// Something that happened in a build. Each step is started once and then ended once, by [`BuildEvent::StepDone`] or
/// [`BuildEvent::StepFailed`], except for the steps that were under way when the build ended.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildEvent {
    /// The context is known and on its way.
    Context {
        /// How many files it has.
        files: u64,
        /// Their bytes together.
        bytes: u64,
        /// The at most five paths that most bytes come from, largest first, with their bytes.
        largest: Vec<(PathBuf, u64)>,
    },
    /// The image is there and a build could only make it again: there is none, and no other event.
    UpToDate {
        /// How many files the context has.
        files: u64,
        /// Their bytes together.
        bytes: u64,
    },
    /// A step has begun.
    StepStarted(Step),
    /// A step printed a line.
    StepLog {
        /// The step.
        id: usize,
        /// The line, without control characters.
        line: String,
    },
    /// A part of a step, such as the download of a layer, has advanced.
    StepProgress {
        /// The step.
        id: usize,
        /// The part, in the engine's words.
        part: String,
        /// How far it is, mostly in bytes.
        current: u64,
        /// How far it goes; 0 where that is not known.
        total: u64,
    },
    /// A step is done.
    StepDone {
        /// The step.
        id: usize,
        /// Whether nothing needed to be done.
        cached: bool,
        /// How long it took on the engine; nothing where the engine does not say.
        duration: Option<Duration>,
    },
    /// A step has failed, and the build with it.
    StepFailed {
        /// The step.
        id: usize,
        /// Why, in the engine's words.
        reason: String,
    },
    /// Something did not work that the build may well do without.
    Warning(String),
}

/// A step of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What other events call it: counted from 0 in the order in which the steps begin.
    pub id: usize,
    /// Its number in its stage of the Dockerfile, from 1; the engine's own steps have none.
    pub number: Option<u32>,
    /// How many steps its stage has.
    pub total: Option<u32>,
    /// The stage, where the Dockerfile has several.
    pub stage: Option<String>,
    /// The instruction, or the engine's words for what it does of its own.
    pub name: String,
    /// Whether it is the engine's own affair and no instruction of the Dockerfile.
    pub internal: bool,
    /// Where in the configuration it comes from: a JSON Pointer.
    pub key: Option<String>,
}
