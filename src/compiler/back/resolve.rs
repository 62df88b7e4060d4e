//! Config → [`Resolved`]: the decisions that the image and `dev` share, made once.

use crate::compiler::files::Files;
use crate::compiler::front::base_image::{self, BaseImage};
use crate::compiler::front::config::{Config, Variant};
use crate::compiler::front::workspace::{self, Locked};
use crate::compiler::manifests::dependency::{self, Dependency, Local, LocalKind};
use crate::compiler::manifests::package::{self, Package, UvSettings, uv_settings_for};
use crate::compiler::manifests::package_json::{self, Manifest};
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::requirements_txt::{self, RequirementsFile};
use crate::compiler::manifests::requires_python::RequiresPython;
use crate::compiler::paths;

/// The installer of Python packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Installer {
    Pip,
    Uv,
}

/// A configuration with its defaults chosen, and what the manifests of the project say. Paths are relative to the
/// configuration's directory.
pub(super) struct Resolved {
    pub variant: Variant,
    pub base_image: BaseImage,
    /// The Python version that the configuration pins, major.minor.
    pub pinned_python: Option<String>,
    /// The Python versions that the local dependencies support, where they say so.
    pub requires_python: Vec<RequiresPython>,
    /// The major version of Node.js; absent without JavaScript.
    pub node: Option<String>,
    pub installer: Installer,
    /// The pip configuration, where something reads it.
    pub pip_config: Option<String>,
    /// The packages of `source` that are not directories.
    pub locked: Option<Locked>,
    /// The packages of lock files beside local dependencies.
    pub pins: Vec<Locked>,
    /// The local dependencies, each directory once.
    pub locals: Vec<Local>,
    /// Packages from an index or a URL: those that `dependencies` names, or those of the lock file.
    pub requirements: Vec<String>,
    /// The requirements files of local dependencies.
    pub files: Vec<RequirementsFile>,
    /// The local dependencies that can be installed.
    pub packages: Vec<LocalPackage>,
    /// Directories to import from that are not packages, in the order in which they are searched.
    pub import_path: Vec<String>,
    /// The project's package.json, unless it is a Python project.
    pub package_json: Option<Manifest>,
}

/// A local dependency that can be installed.
pub(super) struct LocalPackage {
    /// Its index in `dependencies`; a package of `source` has none.
    pub index: Option<usize>,
    pub path: String,
    /// The normalised distribution name.
    pub name: Option<String>,
    pub package: Package,
    /// The settings that uv installs it with.
    pub settings: Option<UvSettings>,
}

impl Resolved {
    pub(super) fn new(config: &Config, files: &dyn Files) -> Self {
        let variant = config.variant();
        let has_python = variant != Variant::Javascript;
        let installer = if config.uses_pip() { Installer::Pip } else { Installer::Uv };
        let is_read = has_python && installer == Installer::Pip;
        let mut locked = workspace::locked(config, files).filter(|_| has_python);
        // A check names the conflicts.
        locked.iter_mut().for_each(|locked| drop(locked.remove_conflicts(config)));
        let locals = locked.as_ref().map_or_else(|| locals(config, files), |locked| locked.locals.clone());
        let packages = locals.iter().filter(|local| has_python && local.kind == LocalKind::Package);
        let requirements_files =
            locals.iter().filter(|local| locked.is_none() && local.kind != LocalKind::Package);
        let javascript = (variant != Variant::Python).then(|| package_json::find(files)?.ok());
        Self {
            variant,
            base_image: base_image::base_image(config),
            pinned_python: config.python().map(str::to_owned),
            requires_python: locals.iter().filter_map(|it| RequiresPython::read(it, files)).collect(),
            node: (variant != Variant::Python).then(|| base_image::node(config).to_owned()),
            installer,
            pip_config: config.pip_config_file.as_deref().filter(|_| is_read).map(paths::normalize),
            requirements: match &locked {
                Some(locked) => locked.requirements(),
                None => requirements(config, files),
            },
            files: requirements_files
                .filter_map(|local| requirements_txt::find(&local.path, files))
                .collect(),
            packages: packages.map(|local| LocalPackage::new(local, installer, files)).collect(),
            import_path: import_path(&locals),
            package_json: javascript.flatten(),
            locked,
            pins: Vec::new(),
            locals,
        }
    }

    /// The settings that uv installs the requirements of the directory `path` with.
    pub(super) fn uv_settings(&self, path: &str, files: &dyn Files) -> Option<UvSettings> {
        if self.installer == Installer::Uv { uv_settings_for(path, files) } else { None }
    }

    /// The packages of all lock files.
    pub(super) fn locks(&self) -> impl Iterator<Item = &Locked> {
        self.locked.iter().chain(&self.pins)
    }

    /// Whether the local packages are installed before their source is there. One that needs its source makes all wait,
    /// since the others may require it.
    pub(super) fn is_early(&self) -> bool {
        self.packages.iter().all(|it| it.package.skeleton.is_ok())
    }

    /// Whether installing all requirements of the local packages first leaves just the packages themselves.
    pub(super) fn has_all_requirements(&self) -> bool {
        let names: Vec<&str> = self.packages.iter().filter_map(|it| it.name.as_deref()).collect();
        let is_extra = |requirement: &String| {
            requirement.contains('[')
                && requirement::name(requirement).is_some_and(|it| names.contains(&it.as_str()))
        };
        let reads_sources = self.reads_sources();
        self.locked.is_some()
            || self.packages.iter().all(|LocalPackage { package, .. }| {
                let requirements = package.requirements.as_ref();
                requirements.is_some_and(|all| !all.iter().any(is_extra))
                    && (package.sources.elsewhere.is_empty() || !reads_sources)
            })
    }

    /// Whether uv reads the sources of local packages. It must not if some are paths: those packages are installed in
    /// place.
    pub(super) fn reads_sources(&self) -> bool {
        self.installer == Installer::Uv
            && self.locked.is_none()
            && !self.packages.iter().any(|it| it.package.sources.has_paths)
    }

    /// Whether uv is told not to read them.
    pub(super) fn is_without_sources(&self) -> bool {
        self.installer == Installer::Uv && !self.reads_sources()
    }
}

impl LocalPackage {
    fn new(local: &Local, installer: Installer, files: &dyn Files) -> Self {
        let mut package = package::package(local, files);
        let name = package.name.clone().or_else(|| local.distribution_name(files));
        let settings = if installer == Installer::Uv { uv_settings_for(&local.path, files) } else { None };
        if settings.as_ref().is_some_and(|settings| settings.need_source) {
            package.requirements = None;
            package.skeleton = Err("uv's settings name a directory of the source".to_owned());
        }
        let name = name.map(|name| requirement::normalized_name(&name));
        Self { index: local.index, path: local.path.clone(), name, package, settings }
    }
}

fn locals(config: &Config, files: &dyn Files) -> Vec<Local> {
    let mut found: Vec<Local> = Vec::new();
    for local in dependency::local_dependencies(config.entries(), files) {
        // A file beside its directory has no effect.
        if local.is_directory() && !found.iter().any(|known| known.path == local.path) {
            found.push(local);
        }
    }
    found
}

fn requirements(config: &Config, files: &dyn Files) -> Vec<String> {
    let packages = config.entries().filter_map(|(_, entry)| match dependency::classify(entry, files) {
        Dependency::Package(requirement) => Some(requirement),
        Dependency::Local { .. } => None,
    });
    packages.collect()
}

/// A directory that is itself a package is imported from its parent.
fn import_path(locals: &[Local]) -> Vec<String> {
    let mut path = Vec::new();
    for local in locals {
        let directory = match local.kind {
            LocalKind::Package => continue,
            LocalKind::Flat => paths::join(&local.path, ".."),
            LocalKind::Plain => local.path.clone(),
        };
        if !path.contains(&directory) {
            path.push(directory);
        }
    }
    path
}
