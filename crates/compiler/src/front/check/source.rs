//! `source`: does the lock file of the workspace hold what the package needs, for the server's Python on Linux?

mod rules;

use std::collections::BTreeSet;

use super::credentials::in_file;
use super::manifests::{MAX_FINDINGS, invalid};
use super::{Context, boundary, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related};
use crate::files::{Files, Refusal};
use crate::front::config::{SourceConfig, Variant};
use crate::front::workspace::{self, Locked, Workspace, lock_file};
use crate::manifests;
use crate::manifests::pyproject::Pyproject;
use crate::manifests::requirement::normalized_name;
use crate::manifests::uv_lock::{Difference, Package, Selected};
use crate::paths;
use crate::secrecy::urls;
use crate::words::{listed, similar};
use rules::{
    CONFLICTING_SOURCE, INVALID_LOCK, LOCK_FOR_OTHER_TARGET, LOCK_NOT_FOUND, OUTDATED_LOCK,
    SOURCE_PACKAGE_NOT_FOUND,
};
pub(super) use rules::{LOCK_CONFLICTS_WITH_SERVER, RULES};

pub(super) fn check(context: &mut Context<'_>) {
    let Some(source) = &context.config.source else { return };
    check_conflicts(context);
    if context.variant == Variant::Javascript {
        return;
    }
    let found = match Workspace::read(context.config, context.files) {
        None => match refused(context, source) {
            Some((path, refusal)) => {
                let diagnostic = boundary::diagnostic(place("root"), &written(&path), refusal);
                context.refused_paths.insert(path);
                vec![diagnostic]
            }
            None => vec![not_found(context, source)],
        },
        Some(Err(broken)) => {
            let help = broken.help.clone().unwrap_or_else(|| lock_again(source));
            vec![invalid(context, &INVALID_LOCK, place("root"), &lock_file(source), broken).help(help)]
        }
        Some(Ok(workspace)) => check_workspace(context, source, &workspace),
    };
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// The place of a key of `source`, or of `source` itself if it does not have the key.
fn place(key: &str) -> Place {
    Place::Value(Pointer::root().join("source").join(key))
}

fn lock_again(source: &SourceConfig) -> String {
    format!("run `uv lock` in `{}`", written(&paths::normalize(&source.root)))
}

/// Reports keys that `source` replaces.
fn check_conflicts(context: &mut Context<'_>) {
    let config = context.config;
    let mut conflict = |key: &str, message: &str, help: &str| {
        let place = Place::Key(Pointer::root().join(key));
        context.report(Diagnostic::new(&CONFLICTING_SOURCE, place, message).help(help));
    };
    if config.dependencies.as_ref().is_some_and(|list| !list.is_empty()) {
        conflict(
            "dependencies",
            "`source` replaces `dependencies`",
            "remove it, and add the packages to the workspace with `uv add`",
        );
    }
    if config.variant() == Variant::Javascript {
        conflict("source", "`source` is for Python, and all graphs are JavaScript", "remove it");
    }
    if config.pip_installer.as_deref() == Some("pip") {
        conflict("pip_installer", "`source` needs uv", "remove `pip_installer`, or write `\"uv\"`");
    }
    if config.pip_config_file.is_some() {
        let help = "remove it; the lock file names the index of each package";
        conflict("pip_config_file", "uv does not read `pip_config_file`", help);
    }
}

/// The directory of the workspace or its lock file, if it is refused.
fn refused(context: &Context<'_>, source: &SourceConfig) -> Option<(String, Refusal)> {
    let paths = [paths::normalize(&source.root), lock_file(source)];
    paths.into_iter().find_map(|path| Some((path.clone(), context.files.refusal(&path)?)))
}

fn not_found(context: &Context<'_>, source: &SourceConfig) -> Diagnostic {
    let shown = written(&paths::normalize(&source.root));
    let (message, help) = if context.files.is_directory(&paths::normalize(&source.root)) {
        (format!("there is no file `{}`", written(&lock_file(source))), lock_again(source))
    } else {
        (
            format!("there is no directory `{shown}`"),
            "write a path relative to the directory of the configuration".to_owned(),
        )
    };
    Diagnostic::new(&LOCK_NOT_FOUND, place("root"), message).help(help)
}

fn check_workspace(
    context: &Context<'_>,
    source: &SourceConfig,
    workspace: &Workspace<'_>,
) -> Vec<Diagnostic> {
    let secrets = credentials(context, source);
    if !secrets.is_empty() {
        return secrets;
    }
    let Some(target) = workspace.target() else { return vec![no_target(source, workspace)] };
    let unknown = unknown_names(source, target);
    if !unknown.is_empty() {
        return unknown;
    }
    if let Some(diagnostic) = check_environment(source, workspace) {
        return vec![diagnostic];
    }
    let locked = match workspace.locked(target) {
        Ok(locked) => locked,
        Err(why) => {
            let message = format!("`{}` is incomplete: {why}", written(&lock_file(source)));
            let diagnostic = Diagnostic::new(&INVALID_LOCK, place("root"), message);
            return vec![diagnostic.help(lock_again(source))];
        }
    };
    let mut found: Vec<Diagnostic> = workspace
        .lock
        .locals()
        .filter(|(_, directory)| locked.locals.iter().any(|local| local.path == workspace.path(directory)))
        .filter_map(|(package, directory)| check_manifest(context, source, workspace, package, directory))
        .collect();
    let packages = locked.packages.iter();
    found.extend(packages.filter_map(|package| check_files(context, source, workspace, package)));
    found.extend(check_server(context, source, &locked));
    found.truncate(MAX_FINDINGS);
    found
}

/// Reports passwords in the lock file; they would become part of the image.
fn credentials(context: &Context<'_>, source: &SourceConfig) -> Vec<Diagnostic> {
    let path = lock_file(source);
    let text = manifests::text(&path, context.files).and_then(Result::ok).unwrap_or_default();
    let masked = urls::masked(&text);
    let help = "revoke it, remove it from the URL in the pyproject.toml, and run `uv lock` again";
    let finding = |part| in_file(place("root"), &path, &masked, part).help(help);
    urls::userinfo(&text).into_iter().take(MAX_FINDINGS).map(finding).collect()
}

fn no_target(source: &SourceConfig, workspace: &Workspace<'_>) -> Diagnostic {
    let names = || workspace.lock.locals().map(|(package, _)| package.name.as_str());
    let lock = written(&lock_file(source));
    match &source.package {
        Some(name) => {
            let message = format!("`{lock}` has no local package `{}`", name.escape_debug());
            let help = match similar(&normalized_name(name), names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of its packages: {}", listed(names())),
            };
            Diagnostic::new(&SOURCE_PACKAGE_NOT_FOUND, place("package"), message).help(help)
        }
        None if names().next().is_none() => {
            let message = format!("`{lock}` has no local package");
            Diagnostic::new(&SOURCE_PACKAGE_NOT_FOUND, place("root"), message).help(lock_again(source))
        }
        None => {
            let message = format!(
                "the configuration is in no package of `{lock}`, so it is not clear which one to run"
            );
            let place = Place::Key(Pointer::root().join("source"));
            Diagnostic::new(&SOURCE_PACKAGE_NOT_FOUND, place, message)
                .help(format!("add `package` with one of {}", listed(names())))
        }
    }
}

/// Reports extras and groups that the package does not have.
fn unknown_names(source: &SourceConfig, target: &Package) -> Vec<Diagnostic> {
    let check = |key: &str, kind: &str, wanted: &[String], known: BTreeSet<&str>| -> Vec<Diagnostic> {
        let missing = wanted.iter().enumerate().filter(|(_, name)| !known.contains(name.as_str()));
        let diagnostic = |(index, name): (usize, &String)| {
            let Place::Value(list) = place(key) else { return None };
            let message = format!("`{}` has no {kind} `{}`", target.name, name.escape_debug());
            let diagnostic =
                Diagnostic::new(&SOURCE_PACKAGE_NOT_FOUND, Place::Value(list.join(index)), message);
            Some(diagnostic.help(if known.is_empty() {
                format!("remove it; the lock file has no {kind}s of the package")
            } else {
                format!("use one of {}", listed(known.iter().copied()))
            }))
        };
        missing.filter_map(diagnostic).collect()
    };
    let mut found = check("extras", "extra", &source.extras, target.extras());
    found.extend(check("groups", "dependency group", &source.groups, target.groups()));
    found
}

/// Reports a lock that is not made for the server's Python, or not for Linux.
fn check_environment(source: &SourceConfig, workspace: &Workspace<'_>) -> Option<Diagnostic> {
    let (lock, python) = (&workspace.lock, &workspace.python);
    let shown = written(&lock_file(source));
    let (message, help) = if !lock.includes_python(python) {
        let required = lock.requires_python.as_deref().unwrap_or_default();
        let help = match workspace::included_python(lock) {
            Some(other) => format!("write `\"python_version\": \"{other}\"`"),
            None => format!("change `requires-python`, and {}", lock_again(source)),
        };
        (format!("`{shown}` is for Python {required}, and the server has Python {python}"), help)
    } else if !lock.includes_linux(python) {
        let markers = listed(lock.supported_markers.iter().map(String::as_str));
        let help =
            format!("add `sys_platform == 'linux'` to `tool.uv.environments`, and {}", lock_again(source));
        (format!("`{shown}` is not for Linux: its environments are {markers}"), help)
    } else {
        return None;
    };
    Some(Diagnostic::new(&LOCK_FOR_OTHER_TARGET, place("root"), message).help(help))
}

/// Reports the manifest of a local package that is missing, or that the lock is not made from.
fn check_manifest(
    context: &Context<'_>,
    source: &SourceConfig,
    workspace: &Workspace<'_>,
    package: &Package,
    directory: &str,
) -> Option<Diagnostic> {
    let path = paths::join(&workspace.path(directory), "pyproject.toml");
    let home = paths::parent(&path);
    let (lock, shown) = (written(&lock_file(source)), written(&path));
    let diagnostic = |message: String| Diagnostic::new(&OUTDATED_LOCK, place("root"), message);
    let manifest = match Pyproject::read(home, context.files) {
        Pyproject::Manifest(manifest) => manifest,
        // Another check reports it.
        Pyproject::Broken(_) => return None,
        Pyproject::Absent if context.files.is_directory(home) => return None,
        Pyproject::Absent => {
            let message = format!(
                "`{lock}` has the package `{}` in `{}`, which does not exist",
                package.name,
                written(home)
            );
            return Some(diagnostic(message).help(lock_again(source)));
        }
    };
    let root = Pyproject::read(&paths::normalize(&source.root), context.files);
    let root = if let Pyproject::Manifest(root) = root { root } else { manifest.clone() };
    let (part, label) = match package.difference(&manifest, &root)? {
        Difference::Added(text) => (text, "this requirement is not in the lock file".to_owned()),
        Difference::Changed(text) => (text, "the lock file has another version or source of it".to_owned()),
        Difference::Renamed(name) => (name, format!("the lock file has the name `{}`", package.name)),
        Difference::Removed(name) => {
            ("dependencies".to_owned(), format!("the lock file still has the requirement `{name}`"))
        }
    };
    let text = manifests::excerpt(&path, context.files);
    let quoted = ['"', '\''].iter().find_map(|quote| Some(text.find(&format!("{quote}{part}{quote}"))? + 1));
    let start = quoted.or_else(|| text.find(&part)).unwrap_or_default();
    let related = Related::new(&path, &text, start..start + part.len(), label);
    Some(
        diagnostic(format!("`{lock}` is not made from the current `{shown}`"))
            .related(related)
            .help(lock_again(source)),
    )
}

/// Reports packages in versions that the server does not work with.
fn check_server(context: &Context<'_>, source: &SourceConfig, locked: &Locked) -> Vec<Diagnostic> {
    let path = lock_file(source);
    let text = manifests::excerpt(&path, context.files);
    let finding = |package: &Package| {
        let required = workspace::conflict(context.config, package)?;
        let (name, version) = (&package.name, package.version.as_deref()?);
        let part = format!("version = \"{version}\"");
        let start = text.find(&format!("name = \"{name}\"\n{part}")).unwrap_or_default();
        let start = start + text[start..].find(&part).unwrap_or_default();
        let label = format!("the server requires `{name}{required}`");
        let related = Related::new(&path, &text, start..start + part.len(), label);
        let message =
            format!("`{}` has a version of `{name}` that the server does not work with", written(&path));
        let upgrade = format!("run `uv lock --upgrade-package {name}` in `{}`", written(&locked.root));
        let diagnostic =
            Diagnostic::new(&LOCK_CONFLICTS_WITH_SERVER, place("root"), message).related(related);
        Some(diagnostic.help(format!("{upgrade}; until then, the server keeps its own version")))
    };
    locked.packages.iter().filter_map(|it| finding(&it.package)).collect()
}

/// Reports a package without a file that can be installed, or whose local archive is missing.
fn check_files(
    context: &Context<'_>,
    source: &SourceConfig,
    workspace: &Workspace<'_>,
    package: &Selected,
) -> Option<Diagnostic> {
    let lock = written(&lock_file(source));
    let Package { name, version, .. } = &package.package;
    let python = &workspace.python;
    let version = version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    if let Some(archive) = package.archive(python).map(|path| workspace.path(&path))
        && !context.files.is_file(&archive)
    {
        let message =
            format!("`{lock}` has the package `{name}` in `{}`, which does not exist", written(&archive));
        return Some(Diagnostic::new(&OUTDATED_LOCK, place("root"), message).help(lock_again(source)));
    }
    if !package.has_no_file(python) {
        return None;
    }
    let message = format!("`{lock}` has no file of `{name}`{version} for Python {python} on Linux");
    let diagnostic = Diagnostic::new(&LOCK_FOR_OTHER_TARGET, place("root"), message);
    Some(
        diagnostic
            .help(format!("require a version of `{name}` that has one, or write another `python_version`")),
    )
}
