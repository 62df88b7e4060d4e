//! Config → [`Resolved`]: the decisions that the image and `dev` share, made once.

use std::rc::Rc;

use indexmap::IndexSet;

use crate::back::plan::Installer;
use crate::files::Files;
use crate::front::base_image::{self, BaseImage};
use crate::front::config::{Config, Variant};
use crate::front::workspace::{self, Locked};
use crate::manifests::dependency::{self, Dependency, Local, LocalKind};
use crate::manifests::installation::{self, Installation};
use crate::manifests::local_requirements::{Archive, Closure};
use crate::manifests::package::{self, Metadata, Skeleton, Source, UvSettings, local_path, uv_settings_for};
use crate::manifests::pyproject::{Pyproject, strings, table};
use crate::manifests::requirement;
use crate::manifests::requirements_txt::{self, RequirementsFile, is_archive};
use crate::manifests::requires_python::RequiresPython;
use crate::options::Options;
use crate::paths;
use crate::tree::Tree;

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
    /// Whether packages may come from an index that asks for credentials: one that is named.
    pub has_index: bool,
    /// The indexes that the tools of local projects take packages from, beside the default one.
    pub other_indexes: Vec<String>,
    /// The packages of `source` that are not directories.
    pub locked: Option<Locked>,
    /// The packages of lock files beside local dependencies.
    pub pins: Vec<Pins>,
    /// The local dependencies and what they require, each directory once.
    pub locals: Vec<Local>,
    /// The archives that they require.
    pub archives: Vec<Archive>,
    /// Packages from an index or a URL: those that `dependencies` names, or those of the lock file.
    pub requirements: Vec<String>,
    /// The requirements files of local dependencies.
    pub files: Vec<Rc<RequirementsFile>>,
    /// The local dependencies that can be installed.
    pub packages: Vec<LocalPackage>,
    /// Local dependencies of which only the requirements are installed.
    pub virtuals: Vec<LocalPackage>,
    /// Directories to import from that are not packages, in the order in which they are searched.
    pub import_path: Vec<String>,
    /// The JavaScript packages of the project or its workspace, if it has a package.json and is no Python project.
    pub installation: Option<Installation>,
    /// Whether installers would look up a local package, or refuse it, if they read the requirements of another.
    is_separate: bool,
    /// Whether a local project requires another one.
    requires_locals: bool,
}

/// The packages of the lock file beside a local dependency, without those that the server does not work with.
pub(super) struct Pins {
    /// The index of the entry of `dependencies` that leads to it.
    pub index: Option<usize>,
    pub locked: Locked,
    /// The names of the packages that the server keeps at a version of its own.
    pub removed: Vec<String>,
    /// The names of those whose versions exclude what the server needs.
    pub excluding: Vec<String>,
}

/// A local project.
pub(super) struct LocalPackage {
    /// The index of the entry of `dependencies` that it is, or that leads to it; a package of `source` has none.
    pub index: Option<usize>,
    pub path: String,
    /// The normalised distribution name.
    pub name: Option<String>,
    /// Its requirements without local ones, or `None` if only its build backend can tell them.
    pub requirements: Option<Vec<String>>,
    /// The files from which it can be installed before its source is there, or why the source is needed.
    pub skeleton: Result<Skeleton, String>,
    /// Requirements that only uv finds, in an index of their own.
    pub indexed: Vec<String>,
    /// The settings that uv installs it with.
    pub settings: Option<UvSettings>,
    /// The indexes that its tool takes packages from, beside the default one.
    pub indexes: Vec<String>,
    /// The variable by which its back end takes its version instead of reading the history of git.
    pub version_variable: Option<&'static str>,
    /// Whether its pyproject.toml lists its requirements in the standard way.
    pub has_static_requirements: bool,
    metadata: Metadata,
    /// The extras that others ask for.
    extras: Vec<String>,
}

impl Resolved {
    pub(super) fn new(config: &Config, files: &Tree, options: &Options) -> Self {
        let variant = config.variant();
        let has_python = variant != Variant::Javascript;
        let installer = if config.uses_pip() { Installer::Pip } else { Installer::Uv };
        let is_read = has_python && installer == Installer::Pip;
        let mut locked = workspace::locked(config, files).filter(|_| has_python);
        // A check names the conflicts.
        locked.iter_mut().for_each(|locked| drop(locked.remove_conflicts(config)));
        let Closure { locals, archives, .. } = match &locked {
            Some(locked) => Closure { locals: locked.locals.clone(), ..Closure::default() },
            None => Closure::of_directories(config.entries(), files),
        };
        let has_pins = has_python && locked.is_none() && !options.no_lock;
        let pins = if has_pins { pins(&locals, config, files) } else { Vec::new() };
        let of_kind = |kind| {
            let all = locals.iter().filter(move |local| has_python && local.kind == kind);
            all.map(|local| LocalPackage::new(local, installer, files)).collect::<Vec<_>>()
        };
        let (mut packages, mut virtuals) = (of_kind(LocalKind::Package), of_kind(LocalKind::Virtual));
        let read = |one| Requirements::of(one, &packages, &virtuals, files);
        let found: Vec<_> = packages.iter().chain(&virtuals).map(read).collect();
        let is_separate = found.iter().any(|it| it.is_local);
        let requires_locals = found.iter().any(|it| it.requires_locals);
        let found: Vec<_> = found.into_iter().map(|it| it.all).collect();
        for (project, all) in packages.iter_mut().chain(&mut virtuals).zip(found) {
            project.requirements = all.filter(|_| project.requirements.is_some());
        }
        let computed = packages.iter().filter(|it| it.metadata.requirements.is_none());
        let computed: Vec<&str> = computed.map(|it| &*it.path).collect();
        let has_file = |local: &&Local| {
            !local.is_project() || computed.contains(&&*local.path) && names_requirements(local, files)
        };
        let requirements_files = locals.iter().filter(|local| locked.is_none() && has_file(local));
        let installation = (variant != Variant::Python)
            .then(|| installation::find(&config.package_directories(files), files)?.ok());
        let projects = packages.iter().chain(&virtuals).map(|it| it.settings.clone());
        let directories = locals.iter().filter(|it| !it.is_project());
        let requirements = match &locked {
            Some(locked) => locked.requirements(),
            None => requirements(config, files),
        };
        // Packages from an index are installed with the settings of the project.
        let own = installer == Installer::Uv && locked.is_none() && !requirements.is_empty();
        let own = own.then(|| uv_settings_for(".", files));
        let settings = projects.chain(directories.map(|it| uv_settings(it, installer, files))).chain(own);
        let mut settings = settings.flatten();
        let other_indexes = packages.iter().chain(&virtuals).flat_map(|it| &it.indexes);
        let other_indexes: IndexSet<String> = other_indexes.cloned().collect();
        let names_index = !other_indexes.is_empty()
            || settings.any(|it| it.has_index)
            || locked.iter().chain(pins.iter().map(|pins| &pins.locked)).any(|it| !it.indexes().is_empty());
        Self {
            variant,
            other_indexes: other_indexes.into_iter().collect(),
            has_index: names_index || config.pip_config_file.is_some(),
            base_image: pinned(base_image::base_image(config), options),
            pinned_python: config.python().map(str::to_owned),
            requires_python: locals.iter().filter_map(|it| RequiresPython::read(it, files)).collect(),
            node: (variant != Variant::Python).then(|| base_image::node(config).to_owned()),
            installer,
            pip_config: config.pip_config_file.as_deref().filter(|_| is_read).map(paths::normalize),
            requirements,
            files: requirements_files
                .filter_map(|local| requirements_txt::find(&local.path, files))
                .collect(),
            packages,
            virtuals,
            is_separate,
            requires_locals,
            import_path: import_path(&locals, files),
            installation: installation.flatten(),
            locked,
            pins,
            locals,
            archives,
        }
    }

    /// The settings that uv installs the requirements of the directory `path` with.
    pub(super) fn uv_settings(&self, path: &str, files: &Tree) -> Option<UvSettings> {
        if self.installer == Installer::Uv { uv_settings_for(path, files) } else { None }
    }

    /// The packages of all lock files.
    pub(super) fn locks(&self) -> impl Iterator<Item = &Locked> {
        self.locked.iter().chain(self.pins.iter().map(|pins| &pins.locked))
    }

    /// Whether the local packages are installed before their source is there. One that needs its source makes all wait,
    /// since the others may require it.
    pub(super) fn is_early(&self) -> bool {
        self.packages.iter().all(|it| it.skeleton.is_ok())
    }

    /// The local projects, installed or not.
    pub(super) fn projects(&self) -> impl Iterator<Item = &LocalPackage> {
        self.packages.iter().chain(&self.virtuals)
    }

    /// Whether installing all requirements of the local packages first leaves just the packages themselves.
    pub(super) fn has_all_requirements(&self) -> bool {
        let reads_sources = self.reads_sources();
        self.locked.is_some()
            || self
                .packages
                .iter()
                .all(|it| it.requirements.is_some() && (it.indexed.is_empty() || !reads_sources))
    }

    /// Whether the local packages are installed without their requirements, which are installed by themselves.
    pub(super) fn installs_alone(&self) -> bool {
        (self.locked.is_some() || self.is_separate) && self.has_all_requirements()
    }

    /// Whether requirements are listed and local packages are installed after them: an installer would look up some of the
    /// local packages, or refuse them, if it read the manifests.
    pub(super) fn has_separate_requirements(&self) -> bool {
        self.is_separate && self.has_all_requirements()
    }

    /// Whether a local project requires another one.
    pub(super) fn requires_locals(&self) -> bool {
        self.requires_locals
    }

    /// Whether an installer does not find all requirements of the local packages in their manifests.
    pub(super) fn lists_requirements(&self) -> bool {
        let has_url = |it: &LocalPackage| it.metadata.sources.values().any(|it| matches!(it, Source::Url(_)));
        self.installs_alone() || !self.reads_sources() && self.packages.iter().any(has_url)
    }

    /// Whether uv reads the sources of local packages. It must not if some are paths: those packages are installed in
    /// place.
    pub(super) fn reads_sources(&self) -> bool {
        let is_path = |source: &Source| matches!(source, Source::Path(_));
        self.installer == Installer::Uv
            && self.locked.is_none()
            && !self.packages.iter().any(|it| it.metadata.sources.values().any(is_path))
    }

    /// Whether uv is told not to read them.
    pub(super) fn is_without_sources(&self) -> bool {
        self.installer == Installer::Uv && !self.reads_sources()
    }
}

impl LocalPackage {
    fn new(local: &Local, installer: Installer, files: &Tree) -> Self {
        let metadata = package::metadata(local, files);
        let mut requirements = metadata.requirements.clone();
        let mut skeleton = match local.kind {
            LocalKind::Virtual => Ok(Skeleton::default()),
            _ => package::skeleton(local, files),
        };
        let settings = uv_settings(local, installer, files);
        if settings.as_ref().is_some_and(|settings| settings.need_source) && local.kind == LocalKind::Package
        {
            requirements = None;
            skeleton = Err("uv's settings name a directory of the source".to_owned());
        }
        let name = metadata.name.clone().or_else(|| local.distribution_name(files));
        let is_index = |(_, source): &(&String, &Source)| **source == Source::Index;
        Self {
            index: local.index,
            path: local.path.clone(),
            name: name.map(|name| requirement::normalized_name(&name)),
            requirements,
            skeleton,
            indexed: metadata.sources.iter().filter(is_index).map(|(name, _)| name.clone()).collect(),
            settings,
            metadata,
            extras: local.extras.clone(),
            indexes: package::other_indexes(local),
            version_variable: package::version_variable(local, files),
            has_static_requirements: has_static_requirements(local),
        }
    }

    /// Requirements that its manifest names without the URL that they come from.
    pub(super) fn url_requirements(&self) -> impl Iterator<Item = &String> {
        let has_url = self.metadata.sources.values().any(|it| matches!(it, Source::Url(_)));
        self.requirements.iter().flatten().filter(move |text| has_url && text.contains(" @ "))
    }
}

/// Whether installers read the requirements of a project from its pyproject.toml without its build backend.
fn has_static_requirements(local: &Local) -> bool {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return false };
    let project = table(manifest, &["project"]);
    project.is_some_and(|it| {
        it.contains_key("dependencies") && !strings(it, "dynamic").iter().any(|key| key == "dependencies")
    })
}

/// The base image by its digest, if it is locked.
fn pinned(image: BaseImage, options: &Options) -> BaseImage {
    let Some(lock) = &options.agent_lock else { return image };
    BaseImage { reference: lock.pinned(&image.reference), ..image }
}

/// The packages of the lock files beside `locals`.
fn pins(locals: &[Local], config: &Config, files: &Tree) -> Vec<Pins> {
    let beside = |local: &Local| {
        let mut locked = Rc::unwrap_or_clone(workspace::beside(local, config, files)?.ok()?);
        let removed = locked.remove_conflicts(config);
        let excluding = locked.excluding(config);
        Some(Pins { index: local.index, locked, removed, excluding })
    };
    locals.iter().filter_map(beside).collect()
}

/// The settings that uv installs a local dependency with.
fn uv_settings(local: &Local, installer: Installer, files: &Tree) -> Option<UvSettings> {
    if installer == Installer::Uv { uv_settings_for(&local.path, files) } else { None }
}

/// Requirements of a local project, and of the extras of local projects that it asks for.
struct Requirements<'a> {
    projects: Vec<&'a LocalPackage>,
    virtuals: &'a [LocalPackage],
    files: &'a Tree,
    all: Option<Vec<String>>,
    /// See [`Resolved::is_separate`].
    is_local: bool,
    /// See [`Resolved::requires_locals`].
    requires_locals: bool,
    /// Extras that were followed, by project.
    seen: Vec<(String, String)>,
}

impl<'a> Requirements<'a> {
    /// The requirements of `project`.
    fn of(
        project: &'a LocalPackage,
        packages: &'a [LocalPackage],
        virtuals: &'a [LocalPackage],
        files: &'a Tree,
    ) -> Self {
        let projects = packages.iter().chain(virtuals).collect();
        let all = Some(Vec::new());
        let is_local = !project.extras.is_empty();
        let seen = Vec::new();
        let mut found = Self { projects, virtuals, files, all, is_local, requires_locals: false, seen };
        match &project.metadata.requirements {
            Some(requirements) => found.add(project, requirements),
            None => found.all = None,
        }
        project.extras.iter().for_each(|extra| found.add_extra(project, extra));
        found
    }

    fn add(&mut self, project: &'a LocalPackage, requirements: &[String]) {
        for text in requirements {
            let name = requirement::written_name(text).unwrap_or_default();
            let source = project.metadata.sources.get(&name);
            let has_url = local_path(text, &project.path, self.files).is_some();
            let own = self.projects.iter().find(|it| it.name.as_ref() == Some(&name)).copied();
            if own.is_some() || has_url || matches!(source, Some(Source::Path(_) | Source::MissingMember)) {
                self.requires_locals = true;
                // A directory is installed by its name, an archive only by its path.
                let is_archive = matches!(source, Some(Source::Path(path)) if is_archive(path));
                self.is_local |=
                    has_url || is_archive || self.virtuals.iter().any(|it| it.name.as_ref() == Some(&name));
                for extra in requirement::extras(text) {
                    own.into_iter().for_each(|own| self.add_extra(own, &extra));
                }
                continue;
            }
            let kept = match source {
                Some(Source::Url(url)) => requirement::with_url(text, url),
                _ => text.clone(),
            };
            self.all.iter_mut().for_each(|all| all.push(kept.clone()));
        }
    }

    fn add_extra(&mut self, project: &'a LocalPackage, extra: &str) {
        let name = requirement::normalized_name(extra);
        if self.seen.iter().any(|(path, seen)| *path == project.path && *seen == name) {
            return;
        }
        self.seen.push((project.path.clone(), name.clone()));
        match &project.metadata.extras {
            Some(extras) => extras.get(&name).into_iter().for_each(|it| self.add(project, it)),
            None => self.all = None,
        }
    }
}

fn requirements(config: &Config, files: &Tree) -> Vec<String> {
    let packages = config.entries().filter_map(|(_, entry)| match dependency::classify(entry, files) {
        Dependency::Package(requirement) => Some(requirement),
        Dependency::Local { .. } => None,
    });
    packages.collect()
}

/// Whether the setup.py of a package names its requirements.txt. If its requirements are computed, they are probably those.
fn names_requirements(local: &Local, files: &Tree) -> bool {
    let setup = files.text(&paths::join(&local.path, "setup.py"));
    setup.is_some_and(|text| text.contains("requirements.txt"))
}

/// The directories that the code of `locals` is imported from, in their order, and those of installed packages that would
/// be hidden: Python takes any directory with the name of a package for that package before it asks for editable ones.
fn import_path(locals: &[Local], files: &Tree) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    for directory in locals.iter().flat_map(|local| local.import_roots(files)) {
        if !path.contains(&directory) {
            path.push(directory);
        }
    }
    let root = |local: &Local, name: &str| {
        let mut roots = [".", "src"].iter().map(|root| paths::normalize(&paths::join(&local.path, root)));
        roots.find(|root| name != "." && files.is_directory(&paths::join(root, name)))
    };
    let hidden = |local: &Local| {
        let mut names = path.iter().filter_map(|it| paths::below(&local.path, it)?.split('/').next());
        names.find_map(|name| root(local, name))
    };
    let packages = locals.iter().filter(|local| local.kind == LocalKind::Package);
    let hidden: Vec<String> = packages.filter_map(hidden).collect();
    path.into_iter().chain(hidden).collect()
}
