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
    /// What has to be installed; absent in the JavaScript server.
    pub python: Option<PythonPackages>,
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
    /// Directories that are imported from without being packages.
    pub path: Vec<String>,
    /// Files whose contents decide what is installed.
    pub manifests: Vec<String>,
    /// Whether pip installs, rather than uv where there is one.
    pub uses_pip: bool,
    /// The pip configuration, where something reads it.
    pub pip_config: Option<String>,
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
