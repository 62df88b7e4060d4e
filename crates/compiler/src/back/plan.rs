//! The plan: all decisions about one configuration, as facts. It holds no instruction, no shell and no order: the
//! templates do.
//!
//! `agentcli plan` prints it, and every output is a rendering of it. A value that is left out is absent; it never means
//! that a default is still to be chosen.

mod image;
mod lines;
mod local;
mod setup;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use crate::front::config::Variant;
use crate::server::files::{self, SUFFIX};
use crate::server::local::JavascriptServer;
use crate::server::product::Product;
pub use image::{
    GeneratedFile, Image, Install, Installer, Lock, LockFormat, Node, NodeInstall, Python, SecretFile,
    ServerInstall, UserCommand,
};
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
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub contract: IndexMap<String, Value>,
    /// The user's `env`, which the server gets when it starts. Never part of an image.
    #[serde(skip_serializing_if = "Env::is_empty")]
    pub env: Env,
    /// Images by name with their digests, as agent.lock has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub images: BTreeMap<String, String>,
    /// What is in the image.
    pub image: Image,
    /// The server for `dev`, without an image.
    pub local: Local,
    /// Remarks for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Major version of Node.js; null without JavaScript, and if `base_image` decides it with a tag or digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Port of the server in its container.
    pub port: u16,
    /// Health check command.
    pub healthcheck: Vec<String>,
    /// Working directory in the image.
    pub directory: String,
    /// The release of the server that the image of a JavaScript project installs; written with its version.
    #[serde(serialize_with = "version", skip_serializing_if = "Option::is_none")]
    pub release: Option<&'static JavascriptServer>,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore_from: Vec<String>,
    /// Configurations in the context that hold values of `env`: agentcli sends them without these values, and the
    /// .dockerignore for other programs leaves them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

/// The user's `env`, without values: they are read when the server starts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Env {
    /// The .env file, relative to the configuration's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Names of the variables given in the configuration itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A remark about the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// JSON Pointer to the key that it is about.
    pub key: String,
    /// The text, a lowercase fragment.
    pub message: String,
}

impl Env {
    fn is_empty(&self) -> bool {
        self.file.is_none() && self.names.is_empty()
    }
}

impl Plan {
    /// The files beside the Dockerfile that it copies, by their paths in the context.
    pub fn generated_files(&self) -> Vec<GeneratedFile> {
        let locks = self.image.python.iter().flat_map(|python| &python.locks);
        let mut generated: Vec<GeneratedFile> = locks.filter_map(|lock| lock.requirements.clone()).collect();
        if let Some(directory) = &self.server.files {
            generated.extend(files::files(self.server.product, self.server.release).into_iter().map(
                |file| GeneratedFile {
                    path: format!("{directory}/{}", file.path),
                    ending: format!("{SUFFIX}/{}", file.path),
                    text: file.text,
                },
            ));
        }
        generated
    }

    /// Moves these files beside another Dockerfile of the context.
    pub fn move_generated_files(&mut self, dockerfile: &str) {
        if self.server.files.is_some() {
            self.server.files = Some(format!("{dockerfile}{SUFFIX}"));
        }
        let Some(python) = &mut self.image.python else { return };
        for file in python.locks.iter_mut().filter_map(|lock| lock.requirements.as_mut()) {
            let path = format!("{dockerfile}{}", file.ending);
            let before = std::mem::replace(&mut file.path, path.clone());
            python.manifests.iter_mut().filter(|it| **it == before).for_each(|it| it.clone_from(&path));
        }
    }
}

fn name<S: Serializer>(product: &Product, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(product.name)
}

fn version<S: Serializer>(release: &Option<&JavascriptServer>, serializer: S) -> Result<S::Ok, S::Error> {
    release.map(JavascriptServer::version).serialize(serializer)
}

fn is_default(product: &&'static Product) -> bool {
    *product == <&Product>::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}
