//! The plan: all decisions about one configuration, in order.
//!
//! `agentcli plan` prints it, and every output is a rendering of it. A null value is absent; it never means that a
//! default is still to be chosen. Paths in the image are absolute, paths in the user's tree are relative to the context
//! root.

mod lines;
mod local;
mod setup;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use crate::front::config::Variant;
use crate::server::files::{self, ServerFile};
use crate::server::product::Product;
pub use local::{AboveProject, JavascriptPackages, Local, NodeProject, PythonPackages, ServerPackage, Watch};
pub use setup::{Health, Port, Service, ServiceImage, Setup, Variable, VolumeMount};

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Version of the format.
    pub version: u32,
    /// The configuration.
    pub config: ConfigFile,
    /// The server.
    pub server: Server,
    /// The build context.
    pub context: Context,
    /// Server settings: environment variable to JSON value. Part of the image.
    pub contract: IndexMap<String, Value>,
    /// The user's `env`, which the server gets when it starts. Never part of an image.
    pub env: Env,
    /// Images by name with their digests, as agent.lock has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, String>,
    /// The build steps, in order.
    pub steps: Vec<Step>,
    /// The server for `dev`, without an image.
    pub local: Local,
    /// Remarks for the user.
    pub notes: Vec<Note>,
}

/// The configuration of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigFile {
    /// File name.
    pub name: String,
    /// SHA-256 of its JSON value, in lowercase hexadecimal. Formatting does not matter.
    pub sha256: String,
}

/// The server of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// The server; written with its name, unless it is the default.
    #[serde(rename = "name", serialize_with = "name", skip_serializing_if = "is_default")]
    pub product: &'static Product,
    /// Kind of server.
    pub variant: Variant,
    /// Base image, with its tag.
    pub image: String,
    /// Python version of the image, major.minor; null on the JavaScript server, and if `base_image` has a tag or digest.
    pub python: Option<String>,
    /// Major version of Node.js; null without JavaScript, and if `base_image` decides it with a tag or digest.
    pub node: Option<String>,
    /// Port of the server in its container.
    pub port: u16,
    /// Health check command.
    pub healthcheck: Vec<String>,
    /// Working directory in the image.
    pub directory: String,
    /// Directory of the context with the files of a server that the image installs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<String>,
}

/// The build context.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    /// The context root, relative to the configuration's directory: `.`, or a path of `..`.
    pub root: String,
    /// The configuration's directory, relative to the root.
    pub project: String,
    /// Directories and files of the root that the build needs; `.` for all of it.
    pub include: Vec<String>,
    /// The lines of the .dockerignore that selects them.
    pub ignore: Vec<String>,
    /// The .dockerignore files that these lines come from.
    pub ignore_from: Vec<String>,
    /// Configurations in the context that hold values of `env`: agentcli sends them without these values, and the
    /// .dockerignore for other programs leaves them out.
    pub withheld: Vec<String>,
}

/// The user's `env`, without values: they are read when the server starts.
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
    /// Purpose of the step in a few words; may be empty.
    pub why: String,
    /// JSON Pointer to the key of the configuration that it comes from.
    pub key: String,
    /// The action.
    #[serde(flatten)]
    pub action: Action,
}

/// The action of a step: one Dockerfile instruction, except for `dockerfile_lines`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Action {
    /// Copies files from the context or from a stage.
    Copy {
        /// The stage; null for the context.
        from: Option<String>,
        /// Relative to the context root; absolute in a stage.
        sources: Vec<String>,
        /// A directory in the image, with a `/` at its end; or a file if there is one source.
        target: String,
    },
    /// Sets environment variables to compact JSON, strings without quotes.
    Env {
        /// Variable to value.
        variables: IndexMap<String, Value>,
    },
    /// Starts a stage.
    From {
        /// The image.
        image: String,
        /// The name of the stage; null for the last one.
        stage: Option<String>,
    },
    /// Instructions: lines of `dockerfile_lines`, or how the container starts.
    Lines {
        /// As written.
        lines: Vec<String>,
    },
    /// Runs commands until one fails.
    Run {
        /// Mounts for the commands.
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

/// A mount while commands run; it does not become part of the image. Paths are chosen by the compiler and plain: not every
/// BuildKit can read quoted ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Mount {
    /// A file or directory of a stage.
    Bind {
        /// The stage.
        from: String,
        /// Absolute.
        source: String,
        /// Absolute.
        target: String,
        /// Whether commands can write to it. What they write is discarded.
        is_writable: bool,
    },
    /// A directory that is kept between builds.
    Cache {
        /// Absolute.
        target: String,
    },
    /// A secret of the build. Without it, there is no file.
    Secret {
        /// Its ID.
        id: String,
        /// Absolute.
        target: String,
    },
}

/// One command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Command {
    /// A shell command from the server's contract or from the user.
    Shell(String),
    /// Commands that run unless a shell command succeeds.
    Unless {
        /// The shell command.
        check: String,
        /// The commands.
        commands: Vec<Command>,
    },
    /// Writes a file.
    Write {
        /// The lines of the file.
        lines: Vec<String>,
        /// The path, as a word of the shell.
        file: String,
    },
    /// A program and its arguments.
    Words {
        /// Environment variables.
        #[serde(skip_serializing_if = "IndexMap::is_empty")]
        variables: IndexMap<String, String>,
        /// Program and arguments.
        words: Vec<String>,
    },
}

/// A remark about the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// JSON Pointer to the key that it is about.
    pub key: String,
    /// The text, a lowercase fragment.
    pub message: String,
}

impl Plan {
    /// The files of a server that the image installs, by their paths in the context.
    pub fn server_files(&self) -> impl Iterator<Item = ServerFile> {
        let inside = |directory: &String| {
            let place = |file: ServerFile| ServerFile { path: format!("{directory}/{}", file.path), ..file };
            files::files(self.server.product).into_iter().map(place).collect::<Vec<_>>()
        };
        self.server.files.iter().flat_map(inside)
    }

    /// Moves these files to another directory of the context.
    pub fn move_server_files(&mut self, directory: String) {
        let Some(before) = self.server.files.replace(directory.clone()) else { return };
        for step in &mut self.steps {
            if let Action::Copy { from: None, sources, .. } = &mut step.action
                && *sources == [format!("{before}/")]
            {
                *sources = vec![format!("{directory}/")];
            }
        }
    }
}

fn name<S: Serializer>(product: &Product, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(product.name)
}

fn is_default(product: &&'static Product) -> bool {
    *product == <&Product>::default()
}
