//! The Python packages of an image: what is installed before the source is there, and what needs it.

use std::collections::{BTreeSet, HashSet};
use std::mem;

use crate::back::lower::{Build, Input, locked, own_server, variables};
use crate::back::plan::{Install, Installer, Python, SecretFile};
use crate::back::resolve::LocalPackage;
use crate::front::config::{Config, KeepPkgTools};
use crate::manifests::package::UvSettings;
use crate::{paths, server};

/// The Python packages of an image.
pub(super) fn python(input: &Input<'_>, build: &mut Build) -> Python {
    let resolved = input.resolved;
    let locks = locked::locks(input);
    let mut manifests = Vec::new();
    let placeholders = placeholders(input, &mut manifests);
    let mut early = Installs::default();
    let mut late = Installs::default();
    requirements(input, &mut early, &mut late, build);
    packages(input, &mut early, &mut late, build);
    if !locks.is_empty() {
        // The versions of a lock are lifted where the server needs others.
        early.group(None).requirements.push(server::DISTRIBUTION.to_owned());
    }
    manifests.extend(mem::take(&mut early.manifests));
    manifests.extend(locks.iter().flat_map(|lock| locked::manifests(input, lock)));
    let (installs, late) = (early.finished(), late.finished());
    if !installs.is_empty() || !locks.is_empty() {
        manifests.extend(resolved.archives.iter().map(|archive| input.layout.in_context(&archive.path)));
    }
    let mut known = Vec::new();
    manifests.retain(|file| {
        !known.contains(file) && {
            known.push(file.clone());
            true
        }
    });
    let removed_tools = removed_tools(input.config);
    Python {
        installer: resolved.installer,
        manifests,
        placeholders,
        locks,
        installs,
        late,
        replaces_server: own_server::is_named(input, build),
        has_index: resolved.has_index,
        variables: variables(input, resolved.files.iter().flat_map(|file| &file.files)),
        indexes: resolved.other_indexes.clone(),
        version_variables: version_variables(input),
        pip_config: resolved.pip_config.as_deref().map(|file| SecretFile {
            file: input.layout.in_context(file),
            name: "pip.conf".to_owned(),
            place: "/etc/pip.conf".to_owned(),
        }),
        import_path: resolved.import_path.iter().map(|path| input.layout.in_image(path)).collect(),
        removes_uv: removed_tools.len() == server::PACKAGE_TOOLS.len(),
        removed_tools: removed_tools.into_iter().map(str::to_owned).collect(),
    }
}

/// The variables with the versions of local packages, unless the user sets them.
fn version_variables(input: &Input<'_>) -> Vec<String> {
    let lines = input.config.dockerfile_lines.as_deref().unwrap_or_default();
    let variables = input.resolved.packages.iter().filter_map(|package| package.version_variable);
    let unset = variables.filter(|name| !lines.iter().any(|line| line.contains(name)));
    let unique: BTreeSet<&str> = unset.collect();
    unique.into_iter().map(str::to_owned).collect()
}

/// Installations, one for each directory whose settings uv reads.
#[derive(Default)]
struct Installs {
    groups: Vec<Install>,
    /// Files that they need, relative to the context root.
    manifests: Vec<String>,
}

impl Installs {
    fn group(&mut self, directory: Option<String>) -> &mut Install {
        if let Some(at) = self.groups.iter().position(|group| group.directory == directory) {
            return &mut self.groups[at];
        }
        self.groups.push(Install { directory, ..Install::default() });
        self.groups.last_mut().expect("it was just added")
    }

    /// The group of these settings.
    fn with_settings(&mut self, input: &Input<'_>, settings: Option<&UvSettings>) -> &mut Install {
        let in_context = |path: &String| input.layout.in_context(path);
        self.manifests.extend(settings.iter().flat_map(|it| &it.manifests).map(in_context));
        let directory = settings.map(|settings| in_context(&settings.directory));
        self.group(directory.filter(|directory| directory != "."))
    }

    fn finished(self) -> Vec<Install> {
        let mut groups = self.groups;
        groups.retain(|group| !group.is_empty());
        for group in &mut groups {
            let mut known = HashSet::new();
            group.requirements.retain(|requirement| known.insert(requirement.clone()));
        }
        // Packages of an index of their own come first: another index may have the same name.
        groups.sort_by_key(|group| group.directory.is_none());
        groups
    }
}

/// The path of a local package or a file as the argument of an installer that runs in `directory`, or at the root.
fn argument(input: &Input<'_>, directory: Option<&str>, path: &str) -> String {
    let in_context = input.layout.in_context(path);
    match directory {
        Some(directory) if directory == in_context => ".".to_owned(),
        Some(directory) => match paths::below(&in_context, directory) {
            Some(below) => below.to_owned(),
            None => input.layout.in_image(path),
        },
        None => in_context,
    }
}

/// The same for a package: a name alone would be looked up in an index.
fn package_argument(input: &Input<'_>, directory: Option<&str>, path: &str) -> String {
    let argument = argument(input, directory, path);
    if argument.contains('/') || argument == "." { argument } else { format!("./{argument}") }
}

/// Adds the requirements of `dependencies`, of requirements files, and of projects that are not installed themselves.
fn requirements(input: &Input<'_>, early: &mut Installs, late: &mut Installs, build: &mut Build) {
    let resolved = input.resolved;
    if resolved.locked.is_none() && !resolved.requirements.is_empty() {
        let settings = resolved.uv_settings(".", input.files);
        let target = if needs_source(settings.as_ref()) { &mut *late } else { &mut *early };
        let kept = own_server::without(&resolved.requirements, build);
        target.with_settings(input, settings.as_ref()).requirements.extend(kept);
    }
    for file in &resolved.files {
        let settings = resolved.uv_settings(paths::parent(&file.path), input.files);
        let is_late = file.is_local() || needs_source(settings.as_ref());
        if is_late {
            note_late(&file.path, "it names files of the source", "/dependencies", build);
        }
        let target = if is_late { &mut *late } else { &mut *early };
        let group = target.with_settings(input, settings.as_ref());
        match &file.others {
            Some(others) if !file.is_local() => {
                group.requirements.extend(own_server::without(others, build));
            }
            _ => {
                let argument = argument(input, group.directory.as_deref(), &file.path);
                group.files.push(argument);
                if !is_late {
                    target.manifests.extend(file.files.iter().map(|file| input.layout.in_context(file)));
                }
            }
        }
    }
    if resolved.locked.is_some() || resolved.has_separate_requirements() {
        return;
    }
    for project in &resolved.virtuals {
        add_requirements_of(input, project, early, build);
    }
}

/// Adds the requirements of a project, but not the project: from its manifest, where the installer reads that.
fn add_requirements_of(
    input: &Input<'_>,
    project: &LocalPackage,
    installs: &mut Installs,
    build: &mut Build,
) {
    let resolved = input.resolved;
    let group = installs.with_settings(input, project.settings.as_ref());
    if resolved.installer == Installer::Uv && project.has_static_requirements {
        let manifest = paths::join(&project.path, "pyproject.toml");
        let argument = argument(input, group.directory.as_deref(), &manifest);
        group.files.push(argument);
        group.without_sources = resolved.is_without_sources();
        installs.manifests.push(input.layout.in_context(&manifest));
    } else {
        let requirements = own_server::without(project.requirements.iter().flatten(), build);
        group.requirements.extend(requirements);
    }
}

/// Adds the local packages.
fn packages(input: &Input<'_>, early: &mut Installs, late: &mut Installs, build: &mut Build) {
    let resolved = input.resolved;
    let is_early = resolved.is_early();
    note_indexes(input, build);
    let is_separate = resolved.has_separate_requirements();
    if is_separate && resolved.locked.is_none() {
        for project in resolved.projects() {
            let kept = own_server::without(project.requirements.iter().flatten(), build);
            early.with_settings(input, project.settings.as_ref()).requirements.extend(kept);
        }
    }
    for package in &resolved.packages {
        if let Err(why) = &package.skeleton {
            let key = package.index.map_or("/source".to_owned(), |index| format!("/dependencies/{index}"));
            note_late(&package.path, why, &key, build);
        }
        let is_readable = package.has_static_requirements && !needs_source(package.settings.as_ref());
        if !is_early && !is_separate && is_readable && !resolved.requires_locals() {
            add_requirements_of(input, package, early, build);
        }
        let target = if is_early { &mut *early } else { &mut *late };
        let group = target.with_settings(input, package.settings.as_ref());
        let argument = package_argument(input, group.directory.as_deref(), &package.path);
        group.packages.push(argument);
        group.without_sources = resolved.is_without_sources();
        if !is_separate && !resolved.reads_sources() {
            group.requirements.extend(package.url_requirements().cloned());
        }
    }
    let archives = resolved.archives.iter();
    let archives: Vec<_> = archives.map(|it| it.requirement(&input.layout.in_image(&it.path))).collect();
    if archives.is_empty() && !is_separate {
        return;
    }
    if early.groups.is_empty() && late.groups.is_empty() {
        early.group(None);
    }
    for installs in [early, late] {
        installs.groups.iter_mut().for_each(|group| group.requirements.extend_from_slice(&archives));
        if is_separate {
            installs.separate();
        }
    }
}

impl Installs {
    /// Installs local packages by themselves, after everything else.
    fn separate(&mut self) {
        let packages = self.groups.iter_mut().filter(|group| !group.packages.is_empty());
        let alone: Vec<Install> = packages
            .map(|group| Install {
                directory: group.directory.clone(),
                packages: mem::take(&mut group.packages),
                alone: true,
                without_sources: mem::take(&mut group.without_sources),
                ..Install::default()
            })
            .collect();
        self.groups.extend(alone);
    }
}

fn needs_source(settings: Option<&UvSettings>) -> bool {
    settings.is_some_and(|settings| settings.need_source)
}

fn note_late(path: &str, why: &str, key: &str, build: &mut Build) {
    build.note(key, format!("each edit of the source installs `{path}` again: {why}"));
}

/// Notes the requirements whose index the installer does not know.
fn note_indexes(input: &Input<'_>, build: &mut Build) {
    let resolved = input.resolved;
    let installed = resolved.packages.iter().filter(|_| !resolved.reads_sources());
    for name in installed.chain(&resolved.virtuals).flat_map(|it| &it.indexed) {
        let why =
            "pip does not read the indexes in uv's sources, and uv cannot beside sources that are paths";
        build.note("/dependencies", format!("`{name}` is taken from the default package index: {why}"));
    }
}

/// The files that build backends look for, and what is copied of them. Manifests are added to `manifests`.
fn placeholders(input: &Input<'_>, manifests: &mut Vec<String>) -> Vec<String> {
    let mut placeholders = Vec::new();
    if !input.resolved.is_early() {
        return placeholders;
    }
    for package in &input.resolved.packages {
        let Ok(skeleton) = &package.skeleton else { continue };
        let in_context = |file: &String| input.layout.in_context(&paths::join(&package.path, file));
        let is_sent = |file: &String| !input.ignore.excludes(file);
        manifests.extend(skeleton.manifests.iter().map(in_context));
        // The installation fails without the files that the metadata names.
        let (copied, named): (Vec<_>, Vec<_>) = skeleton.metadata.iter().map(in_context).partition(is_sent);
        manifests.extend(copied);
        placeholders.extend(named);
        let code = skeleton.placeholders.iter().filter(|file| !skeleton.metadata.contains(*file));
        placeholders.extend(code.map(in_context).filter(is_sent));
    }
    placeholders
}

/// The package tools that the image does not keep.
fn removed_tools(config: &Config) -> Vec<&'static str> {
    let all = server::PACKAGE_TOOLS.iter().copied();
    match &config.keep_pkg_tools {
        None | Some(KeepPkgTools::All(false)) => all.collect(),
        Some(KeepPkgTools::All(true)) => Vec::new(),
        Some(KeepPkgTools::Some(kept)) => all.filter(|tool| !kept.iter().any(|it| it == tool)).collect(),
    }
}
