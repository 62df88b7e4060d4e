//! The facts of an image: what is in it, not how a Dockerfile makes it.
//!
//! Paths are relative to the context root, which is [`Image::root`] in the image.

use indexmap::IndexMap;
use serde::Serialize;

/// What is in an image, beside the settings of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Image {
    /// The directory of the context root in the image, absolute.
    pub root: String,
    /// The server, where the base image does not bring it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerInstall>,
    /// Lines of `dockerfile_lines`, as written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// The Python packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub python: Option<Python>,
    /// The JavaScript packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
    /// Whether equal sources are to make equal layers: files with the time of the installation are left out.
    #[serde(skip_serializing_if = "super::is_false")]
    pub is_reproducible: bool,
    /// Files of the context that hold credentials. They are mounted where a tool reads them, and are not in the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_files: Vec<String>,
}

/// A server that the image installs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ServerInstall {
    /// Its own packages, as requirements; those of the JavaScript server are in its package.json.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// The command that starts it.
    pub start: Vec<String>,
    /// Environment variables of the image, which those of the container overrule.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub variables: IndexMap<String, String>,
    /// User and group that it runs as, by number.
    pub user: u32,
    /// Directory of its state, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Link to it in the working directory, absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_link: Option<String>,
}

/// The installer of Python packages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Installer {
    /// pip.
    Pip,
    /// uv.
    #[default]
    Uv,
}

/// The Python packages of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Python {
    /// The program that installs them.
    pub installer: Installer,
    /// Files that decide what is installed, and are there before the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    /// Files that a build backend looks for. They are empty until the source is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placeholders: Vec<String>,
    /// Lock files: their versions are installed first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Lock>,
    /// What is installed before the source is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub installs: Vec<Install>,
    /// What needs the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Install>,
    /// Whether a requirement or a lock may replace the server's own packages.
    #[serde(skip_serializing_if = "super::is_false")]
    pub replaces_server: bool,
    /// Whether packages come from an index that may ask for credentials.
    #[serde(skip_serializing_if = "super::is_false")]
    pub has_index: bool,
    /// Variables that requirements files name, and secrets of a build may have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Indexes of other tools, which packages are looked up in first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// Variables with the version of packages that take it from the history of git.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_variables: Vec<String>,
    /// The pip configuration, which is only there while packages are installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pip_config: Option<SecretFile>,
    /// Directories to import from that are not packages, in the order in which they are searched, after installed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub import_path: Vec<String>,
    /// Package tools that are not in the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_tools: Vec<String>,
    /// Whether uv is not in the image, either.
    #[serde(skip_serializing_if = "super::is_false")]
    pub removes_uv: bool,
}

/// A lock file, and what of it is installed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// The file.
    pub file: String,
    /// Its directory.
    pub root: String,
    /// How it is read.
    pub format: LockFormat,
    /// The package of the workspace whose packages are installed; without it, that of the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Extras of that package.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extras: Vec<String>,
    /// Its dependency groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Whether the lock is that of a workspace.
    #[serde(skip_serializing_if = "super::is_false")]
    pub has_members: bool,
    /// Packages of the lock that are not installed: the server's own, and directories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Indexes of packages that do not come from the default one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// The requirements file that has its packages instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<GeneratedFile>,
}

/// A file beside the Dockerfile, which the Dockerfile copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratedFile {
    /// Its path.
    pub path: String,
    /// What follows the name of the Dockerfile in its name.
    #[serde(skip)]
    pub ending: String,
    /// The whole of it.
    #[serde(skip)]
    pub text: String,
}

/// The way to read a lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LockFormat {
    /// `uv.lock`, which uv exports.
    Uv,
    /// `pylock.toml`, which uv reads.
    Pylock,
    /// One that no tool in the image reads: a requirements file beside the Dockerfile has its packages.
    Requirements,
}

/// One installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Install {
    /// The directory whose settings uv reads, if it is not the root. Paths are absolute then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Directories of local packages, which are installed as editable.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<String>,
    /// Requirements files, and manifests of which only the requirements are installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Requirements (PEP 508).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// Whether only the packages are installed, without what they require.
    #[serde(skip_serializing_if = "super::is_false")]
    pub alone: bool,
    /// Whether uv ignores the sources that manifests name: some are directories, which are installed in place.
    #[serde(skip_serializing_if = "super::is_false")]
    pub without_sources: bool,
}

impl Install {
    /// Whether it installs nothing.
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty() && self.files.is_empty() && self.requirements.is_empty()
    }
}

/// Node.js and the JavaScript packages of an image.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// Major version, where the base image does not bring Node.js.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The packages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install: Option<NodeInstall>,
    /// A command of the user that installs them instead, and its directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_command: Option<UserCommand>,
    /// A command of the user that builds the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_command: Option<String>,
    /// Variables that the settings of the package manager name, and secrets of a build may have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Files with credentials at the root, with the places where the package manager reads them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretFile>,
}

/// A command of the user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserCommand {
    /// The directory that it runs in.
    pub directory: String,
    /// The command, for a shell.
    pub command: String,
}

/// A file with credentials.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecretFile {
    /// The file in the context.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Where it is read in the image, absolute.
    pub place: String,
}

/// An installation of JavaScript packages.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeInstall {
    /// The directory that the package manager runs in.
    pub directory: String,
    /// The package manager.
    pub manager: String,
    /// Its package in the npm registry, where the base image may lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Its command.
    pub command: String,
    /// Its download cache, absolute.
    pub cache: String,
    /// Files that it reads, and that are there before the source; empty if it needs the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    /// Whether it needs the source.
    #[serde(skip_serializing_if = "super::is_false")]
    pub late: bool,
}
