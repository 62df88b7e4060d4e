//! Paths that cannot be used: absolute ones, those with control characters, and those that are no part of the project.

use super::{Context, boundary};
use crate::diagnostic::{Diagnostic, Edit, Place, Pointer, Rule, rule};
use crate::files::Files;
use crate::front::keys::Holds;
use crate::front::reference;
use crate::manifests::dependency;
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&ABSOLUTE_PATH, &UNPRINTABLE_PATH];

pub(super) fn check(context: &mut Context<'_>) {
    for (pointer, path, in_image) in written_paths(context) {
        let place = Place::Within(pointer, 0..path.len());
        if paths::is_unprintable(&path) {
            let message = format!("`{}` has a control character", path.escape_debug());
            context.report(
                Diagnostic::new(&UNPRINTABLE_PATH, place, message)
                    .help("give the file a name without control characters"),
            );
        } else if in_image && is_absolute(&path) {
            let diagnostic = Diagnostic::new(&ABSOLUTE_PATH, place, format!("`{path}` is an absolute path"));
            context.report(match below_project(context, &path).map(|relative| super::written(&relative)) {
                Some(path) => diagnostic.help(format!("write `{path}`")).safe_fix(Edit::Replace(path)),
                None => diagnostic.help("write a path relative to the configuration's directory"),
            });
        } else {
            let path = paths::normalize(&path);
            let Some(refusal) = context.files.refusal(&path) else { continue };
            context.report(boundary::diagnostic(place, &super::written(&path), refusal));
            context.refused_paths.insert(path);
        }
    }
}

/// Whether `path` can be used in an image; other checks ignore paths that this check reports.
pub(super) fn is_usable(context: &Context<'_>, path: &str) -> bool {
    let is_refused = context.refused_paths.contains(&paths::normalize(path));
    !is_refused && !paths::is_unprintable(path) && !is_absolute(path)
}

/// Whether `path` is absolute, on Windows too.
fn is_absolute(path: &str) -> bool {
    let drive = |path: &str| matches!(path.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || drive(path)
}

fn below_project(context: &Context<'_>, path: &str) -> Option<String> {
    let project = format!("/{}", context.files.directory().join("/"));
    paths::below(&paths::normalize(path), &project).map(str::to_owned)
}

/// All paths of the configuration as written, and whether they are part of an image.
fn written_paths(context: &Context<'_>) -> Vec<(Pointer, String, bool)> {
    let config = context.config;
    let mut found = Vec::new();
    for (index, text) in config.entries() {
        if matches!(dependency::classify(text, context.files), dependency::Dependency::Local { .. }) {
            found.push((super::entry(index), text.to_owned(), true));
        }
    }
    for located in context.references.iter() {
        let path = located.text[located.path_part()].to_owned();
        found.push((located.pointer.clone(), path, true));
    }
    let files = reference::files(&config.value);
    found.extend(files.map(|file| (file.pointer, file.path, file.key.holds == Holds::File)));
    found
}

static ABSOLUTE_PATH: Rule = rule!("absolute-path");

static UNPRINTABLE_PATH: Rule = rule!("unprintable-path");
