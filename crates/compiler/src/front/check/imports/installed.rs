//! What the image has installed, as far as that is certain: by a lock file, by a virtual environment of the project that has
//! all of its requirements, or by requirements that are known to bring no others.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::Files;
use crate::front::check::Context;
use crate::front::workspace;
use crate::manifests::dependency::{Dependency, classify};
use crate::manifests::requirement::{self, normalized_name};
use crate::manifests::requirements_txt::{self, Kind};
use crate::manifests::{import_names, package};
use crate::{paths, server};

/// Virtual environments, the last of which is that of `dev`.
const ENVIRONMENTS: &[&str] = &[".venv", "venv", ".agentcli/python"];

/// Path files of virtual environments that lead to no modules.
const PATH_FILES: &[&str] = &["_virtualenv.pth", "distutils-precedence.pth"];

/// The installed packages, as far as they are known.
pub(super) enum Installed {
    /// The names of all distributions, by lock files, and of those that the lock files have for extras and groups.
    Locked(BTreeSet<String>, BTreeSet<String>),
    /// The modules of a virtual environment that has all requirements.
    Environment(BTreeSet<String>),
    /// The names of the requirements, which bring no integration of the library that is not listed itself, and whether all of
    /// them are known.
    Listed(BTreeSet<String>, bool),
    /// Too little.
    Unknown,
}

impl Installed {
    /// Whether `module` certainly is not installed.
    pub(super) fn lacks(&self, module: &str) -> bool {
        // Whatever has the name of the module may bring it, or require what does.
        let name = normalized_name(module);
        match self {
            Self::Locked(names, _) | Self::Listed(names, _) if names.contains(&*name) => false,
            Self::Locked(names, others) => match import_names::distributions(module) {
                Some(all) => is_absent(&all, names),
                None => brings(others, &name) && !names.iter().any(|it| it.contains(&*name)),
            },
            Self::Listed(names, all_known) => {
                import_names::integration(module, *all_known).is_some_and(|all| is_absent(&all, names))
            }
            Self::Environment(modules) => !modules.contains(module),
            Self::Unknown => false,
        }
    }

    /// Whether no package brings `module`, which Python had itself, by the names that such packages have.
    pub(super) fn has_no(&self, module: &str) -> bool {
        match self {
            Self::Locked(names, _) | Self::Listed(names, true) => {
                !names.iter().any(|name| name.contains(module))
            }
            Self::Environment(modules) => !modules.contains(module),
            Self::Listed(..) | Self::Unknown => false,
        }
    }
}

/// Whether one of these distributions brings the module with this normalised name: `python-slugify` and the like bring
/// `slugify`.
fn brings(distributions: &BTreeSet<String>, name: &str) -> bool {
    let names = [format!("python-{name}"), format!("{name}-python"), format!("py{name}"), name.to_owned()];
    names.iter().any(|name| distributions.contains(name))
}

fn is_absent(distributions: &[String], names: &BTreeSet<String>) -> bool {
    !distributions.iter().any(|name| names.contains(name))
}

pub(super) fn find(context: &Context<'_>) -> Installed {
    let environment = || Some(Installed::Environment(environment(context)?));
    let listed = || listed(context).map(|(names, all_known)| Installed::Listed(names, all_known));
    let locked = locked(context).map(|all| {
        let names: BTreeSet<String> = all.into_keys().collect();
        let others = in_lock_files(context).filter(|name| !names.contains(name)).collect();
        Installed::Locked(names, others)
    });
    locked.or_else(environment).or_else(listed).unwrap_or(Installed::Unknown)
}

/// The names of the requirements, if none of them brings integrations of the library with it, and what they bring beside; and
/// whether all of them are known.
fn listed(context: &Context<'_>) -> Option<(BTreeSet<String>, bool)> {
    let mut names = BTreeSet::new();
    let mut all_known = true;
    for text in required_texts(context)? {
        let name = requirement::name(&text)?;
        let has_extras = !requirement::extras(&text).is_empty();
        if !is_alone(&name, has_extras) {
            all_known = false;
            if !import_names::is_unrelated(&name) {
                return None;
            }
        }
        names.extend(import_names::brought_dotenv(&name, has_extras).map(str::to_owned));
        names.insert(name);
    }
    Some((names, all_known))
}

/// Whether a distribution, with extras or without, is known to bring nothing of the library but its core.
fn is_alone(distribution: &str, has_extras: bool) -> bool {
    server::DISTRIBUTIONS.contains(&distribution)
        || import_names::brings_no_integration(distribution, has_extras)
}

/// All distributions with their versions, if everything that is required is in a lock file.
pub(super) fn locked(context: &Context<'_>) -> Option<BTreeMap<String, Option<String>>> {
    let Context { config, files, .. } = *context;
    if config.source.is_some() {
        return workspace::locked(config, files).map(|locked| locked.versions().collect());
    }
    if config.entries().any(|(_, text)| matches!(classify(text, files), Dependency::Package(_))) {
        return None;
    }
    let mut versions = BTreeMap::new();
    for local in context.directories() {
        if local.is_project() {
            versions.extend(workspace::beside(&local, config, files)?.ok()?.versions());
        } else if requirements_txt::find(&local.path, files).is_some() {
            return None;
        }
    }
    Some(versions)
}

/// The names of all packages in the lock files beside the dependencies.
fn in_lock_files(context: &Context<'_>) -> impl Iterator<Item = String> {
    let locked = context
        .directories()
        .into_iter()
        .filter_map(|local| workspace::beside(&local, context.config, context.files)?.ok());
    let texts: Vec<String> = locked.filter_map(|locked| context.files.text(&locked.file)).collect();
    let name = |line: &str| Some(normalized_name(line.strip_prefix("name = \"")?.strip_suffix('"')?));
    texts.into_iter().flat_map(move |text| text.lines().filter_map(name).collect::<Vec<_>>())
}

/// The modules of the first virtual environment of the project, if all requirements are installed there.
fn environment(context: &Context<'_>) -> Option<BTreeSet<String>> {
    let locals = context.directories();
    let roots = [".".to_owned()].into_iter().chain(locals.iter().map(|local| local.path.clone()));
    let mut environments = roots
        .flat_map(|root| ENVIRONMENTS.iter().map(move |name| paths::join(&root, &format!("{name}/lib"))));
    let packages = environments.find_map(|lib| {
        let (python, _) =
            context.files.list(&lib).into_iter().find(|(name, _)| name.starts_with("python"))?;
        Some(context.files.list(&format!("{lib}/{python}/site-packages"))).filter(|it| !it.is_empty())
    })?;
    let names = || packages.iter().map(|(name, _)| name.as_str());
    let distribution =
        |name: &str| Some(normalized_name(name.strip_suffix(".dist-info")?.split('-').next()?));
    let distributions: BTreeSet<String> = names().filter_map(distribution).collect();
    let is_installed = |text: &String| required_name(text).is_some_and(|name| distributions.contains(&name));
    let is_complete = required_texts(context)?.iter().all(is_installed);
    // The modules of other editable packages are elsewhere.
    let own: Vec<String> = locals
        .iter()
        .filter_map(|it| it.distribution_name(context.files))
        .map(|it| normalized_name(&it))
        .collect();
    let is_own =
        |path_file: &str| PATH_FILES.contains(&path_file) || own.contains(&editable_package(path_file));
    let is_closed = names().filter(|name| name.ends_with(".pth")).all(is_own);
    let module = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    (is_complete && is_closed).then(|| names().map(module).collect())
}

/// The normalised name of the package that build backends name the path file of an editable installation after.
fn editable_package(path_file: &str) -> String {
    let name = path_file.trim_end_matches(".pth").trim_start_matches("__editable__.").trim_start_matches('_');
    normalized_name(name.split('-').next().unwrap_or_default())
}

/// The names of the requirements, if all are known.
pub(super) fn required_names(context: &Context<'_>) -> Option<BTreeSet<String>> {
    required_texts(context)?.iter().map(|text| requirement::name(text)).collect()
}

/// The requirements, if all are known.
pub(super) fn required_texts(context: &Context<'_>) -> Option<Vec<String>> {
    let files = context.files;
    let mut texts = Vec::new();
    for (_, text) in context.config.entries() {
        if let Dependency::Package(text) = classify(text, files) {
            texts.push(text);
        }
    }
    for local in context.directories() {
        if local.is_project() {
            texts.extend(package::metadata(&local, files).requirements?);
            continue;
        }
        for part in requirements_txt::parts(&local.path, files) {
            for entry in part.entries.as_ref().ok()? {
                match &entry.kind {
                    Kind::Requirement(text) => texts.push(text.clone()),
                    Kind::Known => {}
                    Kind::Include(file) | Kind::Constraint(file) if !file.contains("://") => {}
                    _ => return None,
                }
            }
        }
    }
    Some(texts)
}

/// The name of a requirement; `None` if it may require more or less than the package of that name.
fn required_name(text: &str) -> Option<String> {
    let requirement = requirement::read(text).ok()?;
    let is_plain = !requirement.is_conditional && requirement::extras(text).is_empty();
    requirement.name.filter(|_| is_plain)
}
