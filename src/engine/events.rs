//! Events of a build.

use std::path::PathBuf;

use serde::Serialize;

/// An instruction of the Dockerfile and the configuration key that causes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepOrigin {
    /// The instruction as the Dockerfile has it, such as `RUN make`; continuation lines may be joined.
    pub instruction: String,
    /// JSON Pointer to the configuration key.
    pub key: Option<String>,
    /// Purpose of its step in a few words.
    pub purpose: String,
    /// Paths of the build context that it copies; `.` for all of it.
    pub sources: Vec<String>,
    /// Stages that it starts from, copies from or mounts.
    pub stages: Vec<String>,
}

impl StepOrigin {
    /// Its purpose without details.
    pub(super) fn title(&self) -> &str {
        self.purpose.split([',', ';', ':', '(']).next().unwrap_or_default().trim_end()
    }

    /// Whether it begins with this keyword, in any case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        self.word(0).is_some_and(|word| word.eq_ignore_ascii_case(keyword))
    }

    /// Whether it runs a command.
    pub(super) fn is_command(&self) -> bool {
        self.is("run")
    }

    /// The argument that it declares.
    pub(super) fn argument(&self) -> Option<&str> {
        self.word(1).filter(|_| self.is("arg"))?.split('=').next()
    }

    /// The name of the stage that it starts; empty for one without a name.
    pub(super) fn starts_stage(&self) -> Option<&str> {
        let mut words = self.instruction.split_whitespace();
        let name = || words.find(|word| word.eq_ignore_ascii_case("as")).and_then(|_| words.next());
        self.is("from").then(name).map(Option::unwrap_or_default)
    }

    /// The image that it starts a stage from, which may be another stage.
    pub(super) fn base_image(&self) -> Option<&str> {
        self.word(1).filter(|_| self.is("from"))
    }

    fn word(&self, index: usize) -> Option<&str> {
        self.instruction.split_whitespace().nth(index)
    }
}

/// An event of a build. Each step starts once and then ends once, with [`BuildEvent::StepDone`] or
/// [`BuildEvent::StepFailed`], except for the steps that were running when the build ended or that the engine stopped.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum BuildEvent {
    /// The build context was read, and is being sent.
    Context {
        /// Number of files.
        files: u64,
        /// Their size in bytes.
        bytes: u64,
        /// The largest paths and their sizes in bytes, at most five.
        #[serde(skip)]
        largest: Vec<(PathBuf, u64)>,
    },
    /// The image is up to date and is not built; there are no other events.
    UpToDate {
        /// Number of files of the context.
        files: u64,
        /// Their size in bytes.
        bytes: u64,
    },
    /// A step before the source runs again since the last build of this name.
    RunsAgain {
        /// Purpose of the step in a few words.
        step: String,
        /// The change that causes it, as a fragment.
        cause: String,
        /// Duration when it ran the last time, if known.
        seconds: Option<f64>,
    },
    /// A step started.
    StepStarted(Step),
    /// A step printed a line.
    StepLog {
        /// The step.
        id: usize,
        /// The line, without control characters.
        line: String,
    },
    /// A part of a step, such as the download of a layer, advanced.
    StepProgress {
        /// The step.
        id: usize,
        /// The engine's name of the part.
        part: String,
        /// Current progress, usually in bytes.
        current: u64,
        /// Total; 0 if unknown.
        total: u64,
    },
    /// A step is still running: reported at intervals.
    StepRunning {
        /// The step.
        id: usize,
        /// Seconds since it started.
        seconds: u64,
    },
    /// A step is done.
    StepDone {
        /// The step.
        id: usize,
        /// Whether the step came from the cache.
        cached: bool,
        /// Duration, if the engine reports it.
        seconds: Option<f64>,
    },
    /// A step failed, and with it the build.
    StepFailed {
        /// The step.
        id: usize,
        /// The engine's message.
        reason: String,
    },
    /// A problem that does not stop the build.
    Warning {
        /// A fragment.
        message: String,
    },
}

/// A step of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Index of the step, from 0, in the order in which the steps start.
    pub id: usize,
    /// Its number in its stage, from 1; internal steps have none.
    pub number: Option<u32>,
    /// Number of steps of its stage.
    pub total: Option<u32>,
    /// The stage, if the Dockerfile has several.
    pub stage: Option<String>,
    /// The instruction, or the engine's name of the step.
    pub name: String,
    /// Whether the step is internal to the engine, not an instruction of the Dockerfile.
    pub internal: bool,
    /// JSON Pointer to the configuration key.
    pub key: Option<String>,
}

impl Step {
    /// The instruction on one line, without its mounts, the files that it writes first, and the variables of its first
    /// command.
    pub fn summary(&self) -> String {
        let mut words = self.name.split_whitespace().filter(|word| !word.starts_with("--mount="));
        let instruction = words.next();
        let words = words.collect::<Vec<_>>().join(" ");
        let words = after_files(&words).split(' ');
        let is_variable = |word: &&str| {
            let name = word.split_once('=').map_or("", |(name, _)| name);
            instruction == Some("RUN")
                && !name.is_empty()
                && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        instruction.into_iter().chain(words.skip_while(is_variable)).collect::<Vec<_>>().join(" ")
    }
}

/// The rest of a shell command, after those of its parts that write files.
fn after_files(command: &str) -> &str {
    let is_writing = |rest: &str| rest.starts_with("mkdir ") || rest.starts_with("printf ");
    let mut rest = command;
    while let Some((_, after)) = rest.split_once(" && ").filter(|_| is_writing(rest)) {
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_start_with_the_command() {
        let summary = |name: &str| Step { name: name.to_owned(), ..Step::default() }.summary();
        assert_eq!(
            summary("RUN --mount=type=cache,target=/c A_B=1 C=x uv pip install a==1"),
            "RUN uv pip install a==1"
        );
        assert_eq!(
            summary(
                "RUN --mount=type=cache,target=/c mkdir /d && printf '%s\\n' 'a==1' > /d/1 && A=1 uv pip"
            ),
            "RUN uv pip"
        );
        assert_eq!(summary("RUN mkdir /d"), "RUN mkdir /d");
        assert_eq!(summary("ENV A=1 B=2"), "ENV A=1 B=2");
        assert_eq!(summary("COPY . /deps/app/"), "COPY . /deps/app/");
    }
}
