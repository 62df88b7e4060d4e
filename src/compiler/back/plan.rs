//! The plan: everything that was decided about one configuration, in order, with nothing left open.
//!
//! `agentcli plan` prints it, and every output is a rendering of it. An absent value is truly absent, never a
//! default to be chosen later. Paths inside the image are absolute, paths of the user's tree are relative to the
//! context root.

mod lines;
mod local;
mod setup;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

pub use crate::compiler::front::config::Variant;
pub use local::{JavascriptPackages, Local, NodeProject, PythonPackages, Watch};
pub use setup::{Health, Port, Service, ServiceImage, Setup, Variable, VolumeMount};

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Version of this format.
    pub version: u32,
    /// What it was made from.
    pub config: ConfigFile,
    /// The server that runs.
    pub server: Server,
    /// What a build sees of the user's tree.
    pub context: Context,
    /// What the server reads from its environment: variable to JSON value. Part of the image.
    pub contract: IndexMap<String, Value>,
    /// What the user's `env` adds when the server runs. Never part of an image.
    pub env: Env,
    /// How the image is made, in order.
    pub steps: Vec<Step>,
    /// How the server runs without an image.
    pub local: Local,
    /// What the user should know of the choices made.
    pub notes: Vec<Note>,
}

/// The configuration that a plan was made from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigFile {
    /// Its file name.
    pub name: String,
    /// SHA-256 of its content, in lowercase hexadecimal; formatting does not count.
    pub sha256: String,
}

/// The server that runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// Its kind.
    pub variant: Variant,
    /// The image that the project's image is built on, with its tag.
    pub image: String,
    /// Python, as major.minor; absent in the JavaScript server.
    pub python: Option<String>,
    /// Node.js, major version; absent where there is no JavaScript.
    pub node: Option<String>,
    /// The port it listens on in its container.
    pub port: u16,
    /// The command that tells whether it is well.
    pub healthcheck: Vec<String>,
    /// The working directory in the image.
    pub directory: String,
}

/// What a build sees of the user's tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    /// The context root, relative to the configuration's directory: `.`, or as many `..` as it takes.
    pub root: String,
    /// The configuration's directory, relative to the root.
    pub project: String,
    /// Directories and files of the root that are needed; `.` for all of it.
    pub include: Vec<String>,
    /// The lines of the .dockerignore that selects them.
    pub ignore: Vec<String>,
    /// Where the project's own ignore rules come from.
    pub ignore_from: Vec<String>,
}

/// The user's `env`, by name only: values are read where the server is started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Env {
    /// The .env file, relative to the configuration's directory.
    pub file: Option<String>,
    /// Names of the variables given in the configuration itself.
    pub names: Vec<String>,
}

/// One step of the build.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Why the step is there, in a few words; empty where that goes without saying.
    pub why: String,
    /// JSON Pointer to what asks for it in the configuration.
    pub key: String,
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
}

/// What a step does. One instruction of a Dockerfile each, but for the user's own lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    /// Copies files of the context, or of an earlier stage.
    Copy {
        /// The stage; absent for the context.
        from: Option<String>,
        /// Relative to the context root (or absolute, in the stage).
        sources: Vec<String>,
        /// A directory in the image, with a `/` at its end; or a file, for one source.
        target: String,
    },
    /// Sets variables to JSON values, written as compact JSON (a string as its text).
    Env {
        /// Variable to value.
        variables: IndexMap<String, Value>,
    },
    /// Starts a stage.
    From {
        /// The image.
        image: String,
        /// The stage's name; absent for the last one.
        stage: Option<String>,
    },
    /// The user's own lines.
    Lines {
        /// As they are.
        lines: Vec<String>,
    },
    /// Runs commands, each after the one before succeeded.
    Run {
        /// What is mounted meanwhile.
        mounts: Vec<Mount>,
        /// The commands.
        commands: Vec<Command>,
    },
    /// Changes the working directory.
    Workdir {
        /// Absolute.
        path: String,
    },
}

/// Something mounted while commands run; none of it becomes part of the image. Its paths are the compiler's own, of
/// plain characters: there is no way to quote others that every BuildKit reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Mount {
    /// A file or a folder of an earlier stage.
    Bind {
        /// The stage.
        from: String,
        /// Absolute.
        source: String,
        /// Absolute.
        target: String,
    },
    /// A folder that is kept between builds.
    Cache {
        /// Absolute.
        target: String,
    },
    /// An empty folder in memory.
    Tmpfs {
        /// Absolute.
        target: String,
    },
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// A line of shell that is part of the server's contract, or that the user gave.
    Shell(String),
    /// Commands, each after the one before succeeded, and another that is run where one of them fails.
    Attempt {
        /// The commands.
        attempt: Vec<Command>,
        /// The other.
        otherwise: Box<Command>,
    },
    /// A program and its arguments, exactly, with variables set for it alone.
    Words {
        /// Variables.
        #[serde(skip_serializing_if = "IndexMap::is_empty")]
        variables: IndexMap<String, String>,
        /// Program and arguments.
        words: Vec<String>,
    },
}

/// Something worth knowing about how the plan came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// JSON Pointer to what it is about.
    pub key: String,
    /// A lowercase fragment.
    pub message: String,
}
