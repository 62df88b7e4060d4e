//! The part of the plan for `dev`: the server on this machine, without a container.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::front::keys;
use crate::manifests::requires_python::RequiresPython;

/// The server beside the user's source. All paths are relative to the configuration's directory, which is also the
/// server's working directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Local {
    /// Server settings: variable to JSON value, the same as in an image but for the paths.
    #[serde(skip)]
    pub contract: IndexMap<String, Value>,
    /// Variables that make the server run without databases. They take precedence over the user's.
    #[serde(skip)]
    pub variables: IndexMap<String, String>,
    /// The Python environment; absent on the JavaScript server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonPackages>,
    /// The Node.js environment; absent without JavaScript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub javascript: Option<JavascriptPackages>,
    /// Settings that the server takes as arguments: its name for each, and the variable in `contract`.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub settings: IndexMap<String, String>,
    /// Keys of the configuration that the server does not support here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The directory of the server's state.
    pub state: String,
    /// Changes that restart the server.
    #[serde(skip)]
    pub watch: Watch,
}

impl Local {
    /// The variables of sections that the configuration does not have; they are removed from the environment.
    pub fn unset(&self) -> Vec<&'static str> {
        let variables = keys::handed_over().map(|(_, variable)| variable);
        variables.filter(|variable| !self.contract.contains_key(*variable)).collect()
    }
}

/// Packages of the Python environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PythonPackages {
    /// Python version, major.minor, if the configuration pins it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The Python versions that the local packages support.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requires_python: Vec<RequiresPython>,
    /// The server itself.
    pub server: Vec<ServerPackage>,
    /// Packages that `dependencies` names, or those of a lock file, as requirements (PEP 508).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Indexes of some of them, beside the default one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// Lock files beside local packages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Their versions, as lines of a constraints file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// Requirements that replace those of other packages, which uv alone can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<String>,
    /// Requirements files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Those of them that have hashes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hashed: Vec<String>,
    /// Local packages, installed as editable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub editable: Vec<String>,
    /// Whether the user's own environment cannot be used, since JavaScript packages are installed into it.
    #[serde(skip_serializing_if = "super::is_false")]
    pub own: bool,
    /// Directories to import from that are not packages, in the order in which they are searched, after installed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Indexes of other tools, which packages are looked up in first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_indexes: Vec<String>,
    /// Files that decide what is installed.
    pub manifests: Vec<String>,
    /// Whether uv ignores the sources of local packages: some are paths, and those packages are installed in place.
    #[serde(skip_serializing_if = "super::is_false")]
    pub without_sources: bool,
    /// Whether the editable packages are installed without their requirements, after everything else: an installer would
    /// look up local ones in an index, or refuse them.
    #[serde(skip_serializing_if = "super::is_false")]
    pub without_requirements: bool,
    /// Whether pip installs even if there is uv.
    #[serde(skip_serializing_if = "super::is_false")]
    pub uses_pip: bool,
    /// The pip configuration, if something reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pip_config: Option<String>,
    /// The project above the configuration, whose packages are not installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above: Option<AboveProject>,
}

/// A project above a configuration without a manifest, which `dependencies` does not list.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AboveProject {
    /// The file with its requirements.
    pub manifest: String,
    /// Its directory, and where its code is.
    pub directories: Vec<String>,
    /// The names of its requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// How to list it, as an imperative.
    pub help: String,
}

/// A package of the server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServerPackage {
    /// Its name.
    pub name: String,
    /// The versions that `api_version` selects, as in a requirement; empty for all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selected: String,
    /// The newest version that is installed, unless `api_version` selects one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// The oldest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<String>,
}

impl ServerPackage {
    /// This version and no other.
    pub fn exactly(name: &str, version: &str) -> Self {
        Self { name: name.to_owned(), selected: format!("=={version}"), newest: None, oldest: None }
    }

    /// The requirement (PEP 508) that an environment of the user has to meet. It may have a newer version.
    pub fn accepted(&self) -> String {
        format!("{}{}", self.name, self.selected)
    }

    /// The requirement (PEP 508) to install. A project that requires older packages gets the server that fits them from uv.
    /// pip would download one version after the other to find it, and gets a single one.
    pub fn installed(&self, uses_pip: bool) -> String {
        match (&self.newest, &self.oldest) {
            (Some(newest), Some(oldest)) if !uses_pip => format!("{}>={oldest},<={newest}", self.name),
            (Some(newest), None) if !uses_pip => format!("{}<={newest}", self.name),
            _ => self.tested(),
        }
    }

    /// The requirement (PEP 508) for the newest version.
    pub fn tested(&self) -> String {
        let newest = self.newest.iter().map(|version| format!("=={version}"));
        [self.accepted()].into_iter().chain(newest).collect()
    }
}

/// Packages of the JavaScript server, or of the JavaScript part of the Python server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JavascriptPackages {
    /// Major version of Node.js, if the configuration pins it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The server and its requirements, name to version.
    pub server: IndexMap<String, String>,
    /// The JavaScript part of the Python server, relative to site-packages.
    pub bridge: Option<String>,
    /// The packages of the project's package.json, if it has any.
    pub project: Option<NodeProject>,
}

/// The package.json beside the configuration, or its workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeProject {
    /// The directory that the command runs in.
    pub root: String,
    /// The words of the command that installs its packages and changes no file of the user's.
    pub install: Vec<String>,
    /// The package of the npm registry with the program of that command, for machines that lack it.
    pub package: String,
    /// Files that decide what is installed.
    pub manifests: Vec<String>,
}

/// Changes of the user's tree that restart the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Watch {
    /// The watched directory.
    pub root: String,
    /// Lines of a .dockerignore at the root; ignored files do not count.
    pub ignore: Vec<String>,
    /// Files that count even if they are ignored or outside of the root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}
