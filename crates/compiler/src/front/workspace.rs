//! The package that `source` names, with everything that the lock file of its workspace holds for it; and lock files
//! beside other local packages.

mod beside;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::str::FromStr;

use pep508_rs::pep440_rs::{Version, VersionSpecifiers};

use crate::files::Files;
use crate::front::base_image;
use crate::front::config::{Config, SourceConfig};
use crate::manifests::dependency::{Local, LocalKind};
use crate::manifests::uv_lock::{self, Lock, Package, Request, Selected, Source};
use crate::manifests::{self, Broken};
use crate::tree::Tree;
use crate::{paths, server};

pub use beside::{Unused, beside, included_python, lock_beside};

/// A workspace, by its lock file.
pub struct Workspace<'a> {
    source: &'a SourceConfig,
    files: &'a Tree,
    /// The Python version of the server, major.minor.
    pub python: String,
    /// The content of the lock file.
    pub lock: Rc<Lock>,
}

/// The packages that are installed for a target.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The lock file, relative to the configuration's directory.
    pub file: String,
    /// Its directory.
    pub root: String,
    /// The Python version that they are chosen for, major.minor.
    pub python: String,
    /// The name of the package of the workspace that is run, if `source` chooses one.
    pub target: Option<String>,
    /// Packages that are neither directories nor the server's own.
    pub packages: Vec<Selected>,
    /// Whether the lock is that of a workspace with several members.
    pub has_members: bool,
    /// The names of the others, but for members: the server's own, those that the server does not work with, and
    /// directories outside of the workspace.
    pub left_out: Vec<String>,
    /// Directories, the target first.
    pub locals: Vec<Local>,
}

impl Locked {
    /// The lock file and the manifest beside it, relative to the configuration's directory. A service that builds the
    /// source reads them.
    pub fn manifests(&self, files: &Tree) -> Vec<String> {
        let all = [self.file.clone(), paths::join(&self.root, "pyproject.toml")];
        all.into_iter().filter(|path| files.is_file(path)).collect()
    }

    /// Removes the packages that the server does not work with, and returns their names: the server keeps its own.
    pub fn remove_conflicts(&mut self, config: &Config) -> Vec<String> {
        let removed = self.packages.extract_if(.., |it| conflict(config, &it.package).is_some());
        let names: Vec<String> = removed.map(|it| it.package.name).collect();
        self.left_out.extend(names.iter().cloned());
        names
    }

    /// The names of the packages of the default index whose versions exclude what the server needs.
    pub fn excluding(&self, config: &Config) -> Vec<String> {
        let is_excluding = |it: &&Selected| {
            config.has_newest_server() && it.is_from_default_index() && excluded(&it.package).next().is_some()
        };
        self.packages.iter().filter(is_excluding).map(|it| it.package.name.clone()).collect()
    }

    /// The names of the packages, with their versions.
    pub fn versions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        self.packages.iter().map(|it| (it.package.name.clone(), it.package.version.clone()))
    }

    /// The indexes of packages that do not come from the default one.
    pub fn indexes(&self) -> Vec<String> {
        let indexes: BTreeSet<&str> = self.packages.iter().filter_map(Selected::index).collect();
        indexes.into_iter().map(str::to_owned).collect()
    }

    /// Requirements for exactly these versions, for an installer in the configuration's directory.
    pub fn requirements(&self) -> Vec<String> {
        let place = |path: &str| paths::join(&self.root, path);
        self.packages.iter().map(|package| package.requirement(&self.python, place)).collect()
    }
}

/// The versions that the server requires of a locked package, if it has another one. Known for the current server only.
pub fn conflict(config: &Config, package: &Package) -> Option<&'static str> {
    if !config.has_newest_server() {
        return None;
    }
    let (_, required) = server::REQUIREMENTS.iter().find(|(name, _)| *name == package.name)?;
    let version = Version::from_str(package.version.as_deref()?).ok()?;
    let is_met = VersionSpecifiers::from_str(required).ok()?.contains(&version);
    (!is_met).then_some(*required)
}

/// The packages that the server needs in versions that the locked package excludes, while other versions of it allow them.
/// Known for the current server only.
pub fn excluded(package: &Package) -> impl Iterator<Item = &'static str> {
    let version = package.version.as_deref().and_then(|version| Version::from_str(version).ok());
    let rows = server::EXCLUDING.iter().filter(|(name, range, _)| *name == package.name && !range.is_empty());
    rows.filter(move |(_, range, _)| {
        let range = VersionSpecifiers::from_str(range).ok();
        range.zip(version.as_ref()).is_some_and(|(range, version)| range.contains(version))
    })
    .map(|(_, _, needed)| *needed)
}

/// The path of the lock file that `source` names.
pub fn lock_file(source: &SourceConfig) -> String {
    paths::join(&source.root, uv_lock::NAME)
}

impl<'a> Workspace<'a> {
    /// The workspace of `source`; `None` if the configuration has none, or there is no lock file.
    pub fn read(config: &'a Config, files: &'a Tree) -> Option<Result<Self, Broken>> {
        let source = config.source.as_ref()?;
        let lock = manifests::parsed(&lock_file(source), uv_lock::read, files)?;
        let python = python(config).unwrap_or_else(|| server::DEFAULT_PYTHON.to_owned());
        Some(lock.map(|lock| Self { source, files, python, lock }))
    }

    /// The package to run: the named one, or the innermost one around the configuration, or the only one. The package at
    /// the root counts only if the configuration is right there, or there is no other.
    pub fn target(&self) -> Option<&Package> {
        if let Some(name) = &self.source.package {
            return self.lock.local(name);
        }
        let own =
            |directory: &str| self.path(directory) == "." || (directory != "." && self.surrounds(directory));
        let around = self.lock.locals().filter(|(_, directory)| own(directory));
        let innermost = around.max_by_key(|(_, directory)| directory.len());
        let mut all = self.lock.locals();
        let only = all.next().filter(|_| all.next().is_none());
        innermost.or(only).map(|(package, _)| package)
    }

    /// Whether the configuration lies below a directory of the workspace.
    fn surrounds(&self, directory: &str) -> bool {
        self.path(directory).split('/').all(|part| part == "..")
    }

    /// A path of the lock file, relative to the configuration's directory.
    pub fn path(&self, path: &str) -> String {
        paths::shortened(&paths::join(&self.source.root, path), &self.files.directory())
    }

    /// The packages that `target` needs, or why the lock does not tell them, as a lowercase fragment.
    pub fn locked(&self, target: &Package) -> Result<Locked, String> {
        let SourceConfig { extras, groups, root, .. } = self.source;
        let request = Request {
            package: &target.name,
            extras: extras.clone(),
            groups: groups.clone(),
            python: &self.python,
        };
        let closure = self.lock.closure(&request)?;
        let (mut first, rest): (Vec<_>, Vec<_>) =
            closure.iter().partition(|it| it.package.name == target.name);
        first.extend(rest);
        let locals = first.iter().filter_map(|it| self.local(&it.package)).collect();
        let left_out = left_out(&self.lock, &closure, &target.name);
        let has_members = self.lock.has_members();
        let packages = third_party(closure);
        let file = lock_file(self.source);
        let python = self.python.clone();
        let name = Some(target.name.clone());
        Ok(Locked {
            file,
            root: paths::normalize(root),
            python,
            target: name,
            packages,
            has_members,
            left_out,
            locals,
        })
    }

    fn local(&self, package: &Package) -> Option<Local> {
        let mut local = Local::new(None, self.path(package.source.directory()?), self.files);
        local.kind = match package.source {
            Source::Virtual(_) => LocalKind::Virtual,
            _ => LocalKind::Package,
        };
        Some(local)
    }
}

/// The names of the packages of `closure` that are not installed from the lock, but for the target and members.
fn left_out(lock: &Lock, closure: &[Selected], target: &str) -> Vec<String> {
    let is_left_out = |package: &&Package| {
        let is_own = server::DISTRIBUTIONS.contains(&package.name.as_str());
        let is_outside = package.source.directory().is_some() && !lock.is_member(&package.name);
        package.name != target && (is_own || is_outside)
    };
    closure.iter().map(|it| &it.package).filter(is_left_out).map(|it| it.name.clone()).collect()
}

/// The packages to download: not the directories of the workspace, and not the server, which the image has.
fn third_party(closure: Vec<Selected>) -> Vec<Selected> {
    let is_downloaded = |package: &Package| {
        package.source.directory().is_none() && !server::DISTRIBUTIONS.contains(&package.name.as_str())
    };
    closure.into_iter().filter(|it| is_downloaded(&it.package)).collect()
}

/// The packages that `source` asks for, if the configuration has one without errors.
pub fn locked(config: &Config, files: &Tree) -> Option<Locked> {
    let workspace = Workspace::read(config, files)?.ok()?;
    workspace.locked(workspace.target()?).ok()
}

/// The Python version of the server, major.minor, if it is known.
fn python(config: &Config) -> Option<String> {
    base_image::python(config).map(|((major, minor), _)| format!("{major}.{minor}"))
}
