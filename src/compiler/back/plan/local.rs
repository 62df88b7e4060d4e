//! The part of a plan that runs the server on the user's own machine, without a container.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

/// How the server runs beside the user's source. Every path is relative to the configuration's directory, which is
/// also where the server works.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Local {
    /// What the server reads from its environment: the same as in an image, with paths as they are here.
    pub contract: IndexMap<String, Value>,
    /// Variables that the server needs in order to run without databases. They win over the user's.
    pub variables: IndexMap<String, String>,
    /// Variables of the server that nothing sets here, and that must not come from outside.
    pub unset: Vec<String>,
    /// What Python has to have; absent in the JavaScript server.
    pub python: Option<PythonPackages>,
    /// What Node.js has to have; absent where there is no JavaScript.
    pub javascript: Option<JavascriptPackages>,
    /// What the server is started with rather than told by its environment: its own words, and the name in
    /// `contract`.
    pub settings: IndexMap<String, String>,
    /// Keys of the configuration that the server does not know here.
    pub unknown: Vec<String>,
    /// The directory that the server keeps its state in.
    pub state: String,
    /// Which changes count.
    pub watch: Watch,
}

/// What the Python server's environment holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PythonPackages {
    /// Python, as major.minor, where the configuration pins it.
    pub version: Option<String>,
    /// The server itself, as requirements (PEP 508).
    pub server: Vec<String>,
    /// Packages from outside, as requirements (PEP 508).
    pub requirements: Vec<String>,
    /// Requirements files.
    pub files: Vec<String>,
    /// Directories that are installed as packages, in place.
    pub editable: Vec<String>,
    /// Whether the environment is ours in any case: the packages of the JavaScript half lie in it.
    pub own: bool,
    /// Directories that are imported from without being packages.
    pub path: Vec<String>,
    /// Files whose contents decide what is installed.
    pub manifests: Vec<String>,
    /// Whether uv is kept from the packages' own sources, for some lead to directories that are installed in place.
    pub without_sources: bool,
    /// Whether pip installs, rather than uv where there is one.
    pub uses_pip: bool,
    /// The pip configuration, where something reads it.
    pub pip_config: Option<String>,
}

/// What the JavaScript server's environment holds, or the JavaScript half of the Python server's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JavascriptPackages {
    /// Node.js, as its major version, where the configuration pins it.
    pub version: Option<String>,
    /// The server and what it needs, name to version.
    pub server: IndexMap<String, String>,
    /// Where the JavaScript half of the Python server lies, below the directory that Python packages are in.
    pub bridge: Option<String>,
    /// The project's own packages, where it has any.
    pub project: Option<NodeProject>,
}

/// A package.json that packages are installed for, in its own directory, which is the configuration's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeProject {
    /// What installs them and writes no file but those: the words of a command, the package manager's name first.
    pub install: Vec<String>,
    /// Files whose contents decide what is installed.
    pub manifests: Vec<String>,
}

/// Which changes of the user's tree make the server start anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Watch {
    /// The directory that is looked at.
    pub root: String,
    /// The lines of a .dockerignore at the root: what it leaves out does not count.
    pub ignore: Vec<String>,
    /// Files that count whatever they are called and wherever they lie.
    pub files: Vec<String>,
}
