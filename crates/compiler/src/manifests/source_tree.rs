//! Source files of a directory.

use crate::files::{FileKind, Files};
use crate::manifests::symbols::Language;
use crate::paths;
use crate::tree::Tree;

/// Whether there is a source file in the directory at `path`, or a few levels below it.
pub fn has_source(path: &str, files: &Tree) -> bool {
    has_file(path, files, 4, |name| Language::of(name).is_some())
}

/// Whether there is Python code in the directory at `path`, or a few levels below it.
pub fn has_python(path: &str, files: &Tree) -> bool {
    has_file(path, files, 4, |name| name.ends_with(".py"))
}

fn has_file(path: &str, files: &Tree, depth: usize, is_meant: fn(&str) -> bool) -> bool {
    let entries = files.list(path);
    if entries.iter().any(|(name, kind)| *kind == FileKind::File && is_meant(name)) {
        return true;
    }
    let hidden = |name: &str| name.starts_with('.') || name == "node_modules" || name == "venv";
    entries.iter().any(|(name, kind)| {
        let enter = *kind == FileKind::Directory && depth > 0 && !hidden(name);
        enter && has_file(&paths::join(path, name), files, depth - 1, is_meant)
    })
}
