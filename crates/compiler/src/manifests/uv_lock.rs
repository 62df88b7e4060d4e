//! `uv.lock`: which versions and files uv chose for the packages of a workspace.
//!
//! Paths in it are relative to its directory. Nothing here depends on the order of packages.

mod closure;
mod difference;
mod foreign;
mod requirement;
mod source;
mod target;
mod wheel;

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use super::Broken;
use super::requirement::normalized_name;

pub use closure::{Request, Selected};
pub use difference::Difference;
pub use source::Source;

/// Name of the file.
pub const NAME: &str = "uv.lock";

/// A lock file of some tool.
#[derive(Debug)]
pub struct Format {
    /// Name of the file.
    pub name: &'static str,
    /// Reads it. In the lock of another tool than uv, one package without a name requires all others.
    pub read: fn(&str) -> Result<Lock, Broken>,
    /// The command that updates it.
    pub update: &'static str,
}

/// All formats, those that are preferred first.
pub const FORMATS: &[Format] = &[
    Format { name: NAME, read, update: "uv lock" },
    Format { name: "pylock.toml", read: foreign::pylock, update: "uv export --output-file pylock.toml" },
    Format { name: "poetry.lock", read: foreign::grouped, update: "poetry lock" },
    Format { name: "pdm.lock", read: foreign::grouped, update: "pdm lock" },
];

/// The index that installers use by default.
const DEFAULT_INDEX: &str = "https://pypi.org/simple";

/// The supported version of the format. Its revisions are compatible with each other.
const VERSION: i64 = 1;

/// The content of a lock file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Lock {
    version: Option<Spanned<i64>>,
    /// The Python versions that it is made for, as version specifiers.
    pub requires_python: Option<String>,
    /// The environments that it is made for, as markers; empty for all.
    #[serde(default)]
    pub supported_markers: Vec<String>,
    /// All packages.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
    #[serde(default)]
    manifest: LockManifest,
}

/// The workspace of a lock.
#[derive(Clone, Debug, Default, Deserialize)]
struct LockManifest {
    #[serde(default)]
    members: Vec<String>,
}

/// One version of a package.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Package {
    /// The normalised name.
    pub name: String,
    /// The version; local packages may compute it.
    pub version: Option<String>,
    /// The place it comes from.
    pub source: Source,
    #[serde(default)]
    dependencies: Vec<Dependency>,
    #[serde(default)]
    optional_dependencies: IndexMap<String, Vec<Dependency>>,
    #[serde(default)]
    dev_dependencies: IndexMap<String, Vec<Dependency>>,
    /// The source archive.
    pub sdist: Option<File>,
    /// The wheels for all platforms.
    #[serde(default)]
    pub wheels: Vec<File>,
    #[serde(default)]
    metadata: Metadata,
}

/// A reference to another package.
#[derive(Clone, Debug, Deserialize)]
struct Dependency {
    name: String,
    /// Present where the name alone is ambiguous.
    version: Option<String>,
    /// Present where the name alone is ambiguous.
    source: Option<Source>,
    #[serde(default)]
    extra: Vec<String>,
    marker: Option<String>,
}

/// A wheel or source archive.
#[derive(Clone, Debug, Deserialize)]
pub struct File {
    /// Its URL, in a registry.
    pub url: Option<String>,
    /// Its path, in a local registry.
    pub path: Option<String>,
    /// Its name, where the package's source has the rest.
    pub filename: Option<String>,
    /// Algorithm and digest, such as `sha256:…`. Missing in registries that have none.
    pub hash: Option<String>,
}

/// The parts of a local package's manifest that the lock was made from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Metadata {
    #[serde(default)]
    requires_dist: Vec<Required>,
    #[serde(default)]
    provides_extras: Vec<String>,
}

/// A requirement of a manifest.
#[derive(Clone, Debug, Deserialize)]
struct Required {
    name: String,
    #[serde(default)]
    extras: Vec<String>,
    specifier: Option<String>,
    marker: Option<String>,
    git: Option<String>,
    url: Option<String>,
    path: Option<String>,
    directory: Option<String>,
    editable: Option<String>,
    r#virtual: Option<String>,
}

/// Reads `text`.
pub fn read(text: &str) -> Result<Lock, Broken> {
    #[derive(Deserialize)]
    struct Header {
        version: Option<Spanned<i64>>,
    }
    let lock: Result<Lock, Broken> = parse(text);
    // Another version may have another structure.
    let version = match &lock {
        Ok(lock) => lock.version.clone(),
        Err(broken) => parse::<Header>(text).map_err(|_| broken.clone())?.version,
    };
    let version = version.ok_or_else(|| Broken::new(0..0, "missing field `version`"))?;
    if *version.get_ref() == VERSION {
        return checked(lock?, text);
    }
    let message = format!("format version {} is not supported", version.get_ref());
    let help = Some("run `uv lock` with a uv release that writes version 1".to_owned());
    Err(Broken { help, ..Broken::new(version.span(), message) })
}

/// `lock`, unless one of its values has white space: values become words of requirements.
fn checked(lock: Lock, text: &str) -> Result<Lock, Broken> {
    let is_spaced = |value: &&str| value.contains(|c: char| c.is_whitespace() || c.is_control());
    let value = lock.packages.iter().flat_map(Package::words).find(is_spaced).map(str::to_owned);
    let Some(value) = value else { return Ok(lock) };
    let start = text.find(&value).unwrap_or_default();
    Err(Broken::new(start..start + value.len(), "unexpected white space"))
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Broken> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        Broken::new(error.span().unwrap_or_default(), error.message().lines().next().unwrap_or_default())
    })
}

impl Lock {
    /// The packages of the workspace and other local ones, which have a directory.
    pub fn locals(&self) -> impl Iterator<Item = (&Package, &str)> {
        self.packages.iter().filter_map(|package| Some((package, package.source.directory()?)))
    }

    /// Whether it is the lock of a workspace with several members.
    pub fn has_members(&self) -> bool {
        !self.manifest.members.is_empty()
    }

    /// Whether the package with this normalised name is a member of the workspace.
    pub fn is_member(&self, name: &str) -> bool {
        self.manifest.members.iter().any(|member| member == name)
    }

    /// The local package with this name, in any spelling.
    pub fn local(&self, name: &str) -> Option<&Package> {
        let name = normalized_name(name);
        self.locals().find(|(package, _)| package.name == name).map(|(package, _)| package)
    }
}

impl Package {
    /// The names of its extras.
    pub fn extras(&self) -> BTreeSet<&str> {
        self.optional_dependencies.keys().chain(&self.metadata.provides_extras).map(String::as_str).collect()
    }

    /// The names of its dependency groups.
    pub fn groups(&self) -> BTreeSet<&str> {
        self.dev_dependencies.keys().map(String::as_str).collect()
    }

    /// The files that can be installed on Linux with CPython `python`, given as major.minor: wheels for any of
    /// `machines`, and the source archive.
    pub fn files(&self, python: &str, machines: &[&str]) -> impl Iterator<Item = &File> {
        let wheels = self.wheels.iter().filter(move |wheel| {
            wheel.name().is_none_or(|name| machines.iter().any(|machine| wheel::fits(name, python, machine)))
        });
        wheels.chain(&self.sdist)
    }

    /// The values that become words of a requirement.
    fn words(&self) -> impl Iterator<Item = &str> {
        let files = self.wheels.iter().chain(&self.sdist);
        let files = files.flat_map(|file| [&file.url, &file.hash]).flatten();
        let own = [&self.name].into_iter().chain(&self.version).chain(self.source.words());
        own.chain(files).map(String::as_str)
    }
}

impl File {
    /// The name of the file.
    pub fn name(&self) -> Option<&str> {
        let place = self.filename.as_ref().or(self.path.as_ref()).or(self.url.as_ref())?;
        place.split(['#', '?']).next()?.rsplit('/').next()
    }
}

#[cfg(test)]
mod tests;
