//! `dependencies`: is each local entry a directory with a package or source files?

use super::{Context, entry, locations, written};
use crate::diagnostic::{Diagnostic, Edit, Place, Pointer, Rule, rule};
use crate::files::{FileKind, Files};
use crate::front::config::List;
use crate::manifests::dependency::{Local, MANIFESTS};
use crate::manifests::source_tree;
use crate::paths;
use crate::tree::Tree;
use crate::words::similar;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &DEPENDENCY_IS_FILE,
    &DEPENDENCY_IS_LINK,
    &DEPENDENCY_NOT_FOUND,
    &DEPENDENCY_WITHOUT_MANIFEST,
    &NO_DEPENDENCIES,
    &REDUNDANT_DEPENDENCY,
];

pub(super) fn check(context: &mut Context<'_>) {
    check_presence(context);
    for local in context.locals.clone() {
        let Some((_, text)) = context.config.entries().find(|it| Some(it.0) == local.index) else { continue };
        if locations::is_usable(context, text)
            && let Some(diagnostic) = check_directory(context, &local)
        {
            context.report(diagnostic);
        }
    }
}

fn check_presence(context: &mut Context<'_>) {
    let empty = context.config.dependencies.as_ref().is_some_and(List::is_empty);
    let python = context.config.graphs.values().find(|path| !paths::is_javascript(path));
    if let Some(graph) = python.filter(|_| empty && context.config.at("/source").is_none()) {
        let place = Place::Value(Pointer::root().join("dependencies"));
        context.report(
            Diagnostic::new(&NO_DEPENDENCIES, place, format!("no dependency contains `{graph}`"))
                .help(r#"write `["."]` for the project itself"#)
                .likely_fix(Edit::item(".")),
        );
    }
}

fn check_directory(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let Local { path, found, .. } = local;
    let files = context.files;
    let place = Place::Value(entry(local.index));
    let is_manifest = MANIFESTS.contains(&paths::file_name(path));
    if *found == Some(FileKind::File) || (found.is_none() && is_manifest) {
        let directory = written(paths::parent(path));
        let message = format!("`{}` is a file, not a directory", written(path));
        if found.is_some() && context.locals.iter().any(|other| other.path == paths::parent(path)) {
            let message = format!("{message}, and `{directory}` is already in the list");
            let diagnostic = Diagnostic::new(&REDUNDANT_DEPENDENCY, place, message);
            return Some(diagnostic.help("remove it").safe_fix(Edit::Remove));
        }
        let help = format!("write its directory, `{directory}`");
        let diagnostic = Diagnostic::new(&DEPENDENCY_IS_FILE, place, message).help(help);
        return Some(diagnostic.safe_fix(Edit::string(&directory)));
    }
    if found.is_none() {
        return Some(not_found(files, place, path));
    }
    if let Some(diagnostic) = check_link(files, &place, path) {
        return Some(diagnostic);
    }
    let installable = MANIFESTS.iter().any(|name| files.is_file(&paths::join(path, name)));
    if installable || source_tree::has_source(path, files) {
        return None;
    }
    let message = format!("`{}` contains nothing to install or import", written(path));
    Some(
        Diagnostic::new(&DEPENDENCY_WITHOUT_MANIFEST, place, message)
            .dispensable()
            .help("add a pyproject.toml or requirements.txt to it, or list the directory that has one"),
    )
}

/// A build context contains links, but not their targets.
fn check_link(files: &Tree, place: &Place, path: &str) -> Option<Diagnostic> {
    let (link, target) = files.link(path)?;
    let message = if link == path {
        format!("`{}` is a symbolic link to `{target}`", written(path))
    } else {
        format!("`{}` is reached by `{}`, a symbolic link to `{target}`", written(path), written(&link))
    };
    let rest = paths::below(path, &link).unwrap_or(".");
    let real = paths::join(&paths::join(paths::parent(&link), &target), rest);
    let help = if target.starts_with('/') {
        "write its target, as a path relative to the configuration's directory".to_owned()
    } else {
        format!("write its target, `{}`, here and in paths below it", written(&real))
    };
    Some(Diagnostic::new(&DEPENDENCY_IS_LINK, place.clone(), message).help(help))
}

fn not_found(files: &Tree, place: Place, path: &str) -> Diagnostic {
    let parent = paths::parent(path);
    let entries = files.list(parent);
    let near = similar(paths::file_name(path), entries.iter().map(|(name, _)| name.as_str()));
    let message = format!("there is no directory `{}`", written(path));
    let diagnostic = Diagnostic::new(&DEPENDENCY_NOT_FOUND, place, message);
    let Some(near) = near.map(|name| written(&paths::join(parent, name))) else {
        return diagnostic.help(
            "paths are relative to the configuration's directory; a package is written as its name only",
        );
    };
    diagnostic.help(format!("did you mean `{near}`?")).likely_fix(Edit::string(&near))
}

static DEPENDENCY_IS_FILE: Rule = rule!("dependency-is-file");

static DEPENDENCY_IS_LINK: Rule = rule!("dependency-is-link");

static DEPENDENCY_NOT_FOUND: Rule = rule!("dependency-not-found");

static DEPENDENCY_WITHOUT_MANIFEST: Rule = rule!("dependency-without-manifest");

static NO_DEPENDENCIES: Rule = rule!("no-dependencies");

static REDUNDANT_DEPENDENCY: Rule = rule!("redundant-dependency");
