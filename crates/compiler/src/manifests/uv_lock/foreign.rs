//! Lock files of other tools, as a [`Lock`]: a package at the root that requires all packages, each under its condition.
//!
//! Read are the formats that have conditions: `pylock.toml` (PEP 751), and those of poetry 2 and pdm.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Value;

use super::{DEFAULT_INDEX, Dependency, File, Lock, LockManifest, Metadata, Package, Source, checked, parse};
use crate::manifests::Broken;
use crate::manifests::requirement::normalized_name;

/// The group of what the project requires itself, in poetry and pdm.
const GROUPS: [&str; 2] = ["main", "default"];

/// The strategy of pdm that writes conditions.
const PDM_STRATEGY: &str = "inherit_metadata";

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Pylock {
    lock_version: String,
    requires_python: Option<String>,
    #[serde(default)]
    environments: Vec<String>,
    packages: Vec<PylockPackage>,
}

#[derive(Deserialize)]
struct PylockPackage {
    name: String,
    version: Option<String>,
    marker: Option<String>,
    index: Option<String>,
    vcs: Option<Repository>,
    directory: Option<Value>,
    archive: Option<Archive>,
    sdist: Option<Archive>,
    #[serde(default)]
    wheels: Vec<Archive>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Repository {
    url: Option<String>,
    commit_id: String,
    subdirectory: Option<String>,
}

#[derive(Deserialize)]
struct Archive {
    name: Option<String>,
    url: Option<String>,
    path: Option<String>,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
    subdirectory: Option<String>,
}

/// A poetry.lock or pdm.lock.
#[derive(Deserialize)]
struct Grouped {
    metadata: GroupedMetadata,
    #[serde(default)]
    package: Vec<GroupedPackage>,
}

#[derive(Deserialize)]
struct GroupedMetadata {
    #[serde(rename = "lock-version")]
    poetry: Option<String>,
    #[serde(rename = "python-versions")]
    python_versions: Option<String>,
    #[serde(default)]
    strategy: Vec<String>,
}

#[derive(Deserialize)]
struct GroupedPackage {
    name: String,
    version: String,
    #[serde(default)]
    optional: bool,
    groups: Option<Vec<String>>,
    /// A condition; poetry has one for each group if they differ.
    #[serde(alias = "markers")]
    marker: Option<Value>,
    #[serde(default)]
    files: Vec<GroupedFile>,
    source: Option<PoetrySource>,
    git: Option<String>,
    revision: Option<String>,
    url: Option<String>,
    path: Option<String>,
    subdirectory: Option<String>,
}

#[derive(Deserialize)]
struct GroupedFile {
    file: Option<String>,
    url: Option<String>,
    hash: Option<String>,
}

#[derive(Deserialize)]
struct PoetrySource {
    r#type: String,
    url: String,
    resolved_reference: Option<String>,
    subdirectory: Option<String>,
}

/// Reads a `pylock.toml`.
pub(super) fn pylock(text: &str) -> Result<Lock, Broken> {
    let lock: Pylock = parse(text)?;
    if !lock.lock_version.starts_with("1.") {
        let why = format!("version {} of its format is not supported", lock.lock_version);
        return Err(unsupported(why, "write version 1.0 of pylock.toml"));
    }
    let packages = lock.packages.into_iter().filter(|it| it.directory.is_none());
    let packages = packages.map(PylockPackage::read).collect();
    checked(Lock { supported_markers: lock.environments, ..all(lock.requires_python, packages) }, text)
}

/// Reads a `poetry.lock` or `pdm.lock`.
pub(super) fn grouped(text: &str) -> Result<Lock, Broken> {
    let lock: Grouped = parse(text)?;
    match &lock.metadata.poetry {
        Some(version) if ["1.", "2.0"].iter().any(|old| version.starts_with(old)) => {
            return Err(unsupported(
                format!("Poetry 1 wrote it (format {version})"),
                "run `poetry lock` with Poetry 2",
            ));
        }
        None if !lock.metadata.strategy.iter().any(|it| it == PDM_STRATEGY) => {
            let help = format!("run `pdm lock --strategy {PDM_STRATEGY}`");
            return Err(unsupported("it has no conditions of packages".to_owned(), &help));
        }
        _ => {}
    }
    let packages = lock.package.into_iter().filter_map(GroupedPackage::read).collect();
    checked(all(lock.metadata.python_versions, packages), text)
}

/// A lock file that is valid, but cannot be used.
fn unsupported(why: String, help: &str) -> Broken {
    Broken { help: Some(help.to_owned()), ..Broken::new(0..0, why) }
}

/// A lock of a package that requires all of `packages`.
fn all(requires_python: Option<String>, packages: Vec<(Package, Option<String>)>) -> Lock {
    let mut root = package(String::new(), None, Source::Virtual(".".to_owned()));
    let mut lock = Lock {
        requires_python,
        supported_markers: Vec::new(),
        packages: Vec::new(),
        manifest: LockManifest::default(),
        version: None,
    };
    for (package, marker) in packages {
        let Package { name, version, source, .. } = package.clone();
        // pdm repeats a package for its extras.
        let is_known = |it: &Package| it.name == name && it.version == version && it.source == source;
        if !lock.packages.iter().any(is_known) {
            lock.packages.push(package);
        }
        root.dependencies.push(Dependency { name, version, source: Some(source), extra: Vec::new(), marker });
    }
    lock.packages.push(root);
    lock
}

fn package(name: String, version: Option<String>, source: Source) -> Package {
    Package {
        name: normalized_name(&name),
        version,
        source,
        dependencies: Vec::new(),
        optional_dependencies: Default::default(),
        dev_dependencies: Default::default(),
        sdist: None,
        wheels: Vec::new(),
        metadata: Metadata::default(),
    }
}

fn git(url: &str, commit: &str, subdirectory: Option<&str>) -> Source {
    let query = subdirectory.map(|directory| format!("?subdirectory={directory}")).unwrap_or_default();
    Source::Git(format!("{url}{query}#{commit}"))
}

impl Archive {
    fn read(self) -> File {
        let hash = self.hashes.get("sha256").map(|digest| format!("sha256:{digest}"));
        File { url: self.url, path: self.path, filename: self.name, hash }
    }
}

impl PylockPackage {
    fn read(self) -> (Package, Option<String>) {
        let archive = self.archive.as_ref();
        let source = match (
            &self.vcs,
            archive.and_then(|it| it.url.clone()),
            archive.and_then(|it| it.path.clone()),
        ) {
            (Some(vcs), ..) => {
                git(vcs.url.as_deref().unwrap_or_default(), &vcs.commit_id, vcs.subdirectory.as_deref())
            }
            (None, Some(url), _) => {
                Source::Url { url, subdirectory: archive.and_then(|it| it.subdirectory.clone()) }
            }
            (None, None, Some(path)) => Source::Archive(path),
            (None, None, None) => Source::Registry(self.index.unwrap_or_else(|| DEFAULT_INDEX.to_owned())),
        };
        let mut package = package(self.name, self.version, source);
        package.sdist = self.sdist.or(self.archive).map(Archive::read);
        package.wheels = self.wheels.into_iter().map(Archive::read).collect();
        (package, self.marker)
    }
}

impl GroupedPackage {
    /// The package and its condition, unless the project itself does not need it, or it is a directory.
    fn read(self) -> Option<(Package, Option<String>)> {
        let is_needed =
            self.groups.iter().all(|groups| groups.iter().any(|it| GROUPS.contains(&it.as_str())));
        let source = self.source()?;
        let marker = match &self.marker {
            Some(Value::String(marker)) => Some(marker.clone()),
            Some(Value::Table(groups)) => groups.get(GROUPS[0])?.as_str().map(str::to_owned),
            _ => None,
        };
        let mut package = package(self.name, Some(self.version), source);
        for GroupedFile { file, url, hash } in self.files {
            let file = File { url, path: None, filename: file, hash };
            if file.name().is_some_and(|name| name.ends_with(".whl")) {
                package.wheels.push(file)
            } else {
                package.sdist = Some(file)
            }
        }
        (is_needed && !self.optional).then_some((package, marker))
    }

    fn source(&self) -> Option<Source> {
        let subdirectory = self.subdirectory.as_deref();
        if let Some(PoetrySource { r#type, url, resolved_reference, subdirectory }) = &self.source {
            return Some(match r#type.as_str() {
                "legacy" => Source::Registry(url.clone()),
                "git" => git(url, resolved_reference.as_deref()?, subdirectory.as_deref()),
                "url" => Source::Url { url: url.clone(), subdirectory: subdirectory.clone() },
                "file" => Source::Archive(url.clone()),
                _ => return None,
            });
        }
        let is_archive =
            |path: &&String| [".whl", ".tar.gz", ".zip"].iter().any(|ending| path.ends_with(ending));
        Some(match (&self.git, &self.url, &self.path) {
            (Some(url), ..) => git(url, self.revision.as_deref()?, subdirectory),
            (None, Some(url), _) => Source::Url { url: url.clone(), subdirectory: self.subdirectory.clone() },
            (None, None, Some(path)) => Source::Archive(Some(path).filter(is_archive)?.clone()),
            (None, None, None) => Source::Registry(DEFAULT_INDEX.to_owned()),
        })
    }
}
