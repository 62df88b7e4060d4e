//! The servers that a project can run on, as data: what differs between them.

mod licensed;
mod memory;
mod pg;

use std::fmt;

use sha2::{Digest as _, Sha256};

pub use licensed::LICENSED;
pub use memory::MEMORY;
pub use pg::PG;

use crate::server::setup::Key;

/// All servers, the default first.
pub const PRODUCTS: &[&Product] = &[&LICENSED, &MEMORY, &PG];

/// The user and the group that a server runs as that agentcli installs, by number: so an orchestrator knows that it is not
/// root.
pub const USER: u32 = 10001;

/// The variable that chooses a server.
pub const VARIABLE: &str = "AGENTCLI_SERVER";

/// The label of an image with the name of its server, unless that is the default.
pub const LABEL: &str = "agentcli.server";

/// Environment variables of every server that agentcli installs, which overrule those of the container.
pub const VARIABLES: &[(&str, &str)] = &[
    // A path with `inmem` enables routes for tests of the server, which need no authentication.
    ("MIGRATIONS_PATH", "off"),
    // Not `local_dev`: there, a header of the hosted studio replaces the authentication of the project.
    ("LANGSMITH_LANGGRAPH_API_VARIANT", "local"),
    ("LANGGRAPH_NO_VERSION_CHECK", "true"),
    ("LANGGRAPH_CLI_NO_ANALYTICS", "1"),
    // With keys of a hosted service, the server would report runs; tracing has its own key.
    ("LANGSMITH_CONTROL_PLANE_API_KEY", ""),
    ("LANGGRAPH_CLOUD_LICENSE_KEY", ""),
];

/// Parts of a configuration that no server for Python supports that agentcli installs.
const REFUSED: &[Refusal] = &[
    Refusal { pointer: "/ui", values: &[], why: "it has no Node.js for UI components" },
    Refusal { pointer: "/node_version", values: &[], why: "it has no Node.js" },
    NO_WOLFI,
];

/// Parts of a configuration that the server for JavaScript does not support that agentcli installs.
const REFUSED_IN_JAVASCRIPT: &[Refusal] = &[
    Refusal { pointer: "/api_version", values: &[], why: "its version follows from the graph library" },
    Refusal { pointer: "/checkpointer", values: &[], why: WITHOUT_SETTINGS },
    Refusal { pointer: "/http/mount_prefix", values: &[], why: "it has no prefix of its routes" },
    Refusal { pointer: "/store", values: &[], why: WITHOUT_SETTINGS },
    Refusal { pointer: "/ui", values: &[], why: "it builds no UI components" },
    Refusal { pointer: "/webhooks", values: &[], why: "it has no settings of webhooks" },
    NO_WOLFI,
];

const NO_WOLFI: Refusal =
    Refusal { pointer: "/image_distro", values: &["wolfi"], why: "there is no such base image for it" };

const WITHOUT_SETTINGS: &str = "it keeps its state in memory, without settings, when it runs JavaScript";

/// A server that projects can run on.
pub struct Product {
    /// Its name, for `--server`.
    pub name: &'static str,
    /// What it is, as a lowercase fragment.
    pub summary: &'static str,
    /// Its purpose, as a lowercase fragment.
    pub purpose: &'static str,
    /// Base image of Python projects, without a tag.
    pub python_image: &'static str,
    /// Base image of JavaScript projects, without a tag; absent where the server does not run them.
    pub javascript_image: Option<&'static str>,
    /// What follows the version of the language in a tag of the base image.
    pub tag_suffix: &'static str,
    /// How the server gets into the image, where the base image does not bring it.
    pub installation: Option<Installation>,
    /// Where it keeps its state.
    pub state: State,
    /// The keys that it accepts; it may need one of them.
    pub keys: &'static [Key],
    /// Further parts of a configuration that it does not support.
    pub refused: &'static [Refusal],
}

/// The installation of a server in an image with Python.
pub struct Installation {
    /// Version of the server, which `api_version` has to match.
    pub version: &'static str,
    /// The server's own packages with their versions.
    pub own: &'static [&'static str],
    /// All packages, as a requirements file with hashes. Made by `python/lock`.
    pub requirements: &'static str,
    /// Further files, by their names.
    pub files: &'static [(&'static str, &'static str)],
    /// The ASGI application; modules are also looked for beside the files.
    pub application: &'static str,
    /// Environment variables of the image, which those of the container overrule.
    pub defaults: &'static [(&'static str, &'static str)],
    /// Further environment variables of the server, which overrule those of the container.
    pub variables: &'static [(&'static str, &'static str)],
}

/// Where a server keeps its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In PostgreSQL and Redis.
    Databases {
        /// The command that migrates the database before the server starts; absent where the server does it.
        migrations: Option<&'static [&'static str]>,
    },
    /// In a directory, for one replica.
    Directory {
        /// Name of its volume.
        volume: &'static str,
        /// Its path in the container.
        path: &'static str,
    },
}

/// A part of a configuration that a server does not support.
#[derive(Debug)]
pub struct Refusal {
    /// JSON Pointer of the key.
    pub pointer: &'static str,
    /// The values that it does not support; empty for all of them.
    pub values: &'static [&'static str],
    /// Why, as a lowercase fragment.
    pub why: &'static str,
}

impl Product {
    /// Whether several replicas can share its state.
    pub fn has_replicas(&self) -> bool {
        matches!(self.state, State::Databases { .. })
    }

    /// What `dev` installs to run it with its databases; absent where `dev` runs the server in memory instead.
    pub fn with_databases(&self) -> Option<&Installation> {
        self.installation.as_ref().filter(|_| self.has_replicas())
    }

    /// The parts of a JavaScript project's configuration that it does not support.
    pub fn refusals_in_javascript(&self) -> &'static [Refusal] {
        if self.installation.is_some() { REFUSED_IN_JAVASCRIPT } else { &[] }
    }

    /// The parts of another configuration that it does not support.
    pub fn refusals(&self) -> impl Iterator<Item = &'static Refusal> {
        let shared = if self.installation.is_some() { REFUSED } else { &[] };
        shared.iter().chain(self.refused)
    }

    /// The server called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRODUCTS.iter().copied().find(|product| product.name == name)
    }
}

impl Installation {
    /// SHA-256 of its packages and files, in lowercase hexadecimal.
    pub fn digest(&self) -> String {
        let texts = self.files.iter().map(|(_, text)| *text).chain([self.requirements]);
        hex::encode(Sha256::digest(texts.collect::<Vec<_>>().join("\0")))
    }
}

impl Default for &Product {
    fn default() -> Self {
        &LICENSED
    }
}

impl PartialEq for Product {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
