//! The layout of a package, as files that only have to exist for its editable installation.

use crate::compiler::files::{FileKind, Files};
use crate::compiler::paths;

/// With more packages than this the skeleton would be longer than the installation is slow.
const MAX_PLACEHOLDERS: usize = 500;

/// No build backend looks for packages deeper than this.
const MAX_DEPTH: usize = 8;

/// Directories that hold no package of the project, besides those that start with a dot.
const FOREIGN: &[&str] = &["__pycache__", "build", "dist", "node_modules", "venv", "env"];

/// One empty file for each directory that holds Python: its `__init__.py`, else its first module; and every
/// module at the top. Relative to the package at `path`.
pub(super) fn modules(path: &str, files: &dyn Files) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    walk(path, ".", 0, files, &mut found)?;
    Ok(found)
}

fn walk(
    base: &str,
    at: &str,
    depth: usize,
    files: &dyn Files,
    found: &mut Vec<String>,
) -> Result<(), String> {
    if found.len() > MAX_PLACEHOLDERS {
        return Err(format!("it has more than {MAX_PLACEHOLDERS} packages"));
    }
    let entries = files.list(&paths::join(base, at));
    let modules: Vec<&String> = entries
        .iter()
        .filter(|(name, kind)| *kind == FileKind::File && is_module(name))
        .map(|(name, _)| name)
        .collect();
    let of_interest: Vec<&String> = match modules.iter().find(|name| **name == "__init__.py") {
        _ if depth == 0 => {
            modules.into_iter().filter(|name| *name != "setup.py" && *name != "conftest.py").collect()
        }
        Some(init) => vec![init],
        None => modules.into_iter().take(1).collect(),
    };
    if let Some((name, _)) = entries.iter().find(|(name, _)| paths::is_unprintable(name)) {
        return Err(format!("the file name {name:?} cannot be written to a build file"));
    }
    found.extend(of_interest.into_iter().map(|name| paths::join(at, name)));
    if depth == MAX_DEPTH {
        return Ok(());
    }
    for (name, _) in entries.iter().filter(|(name, kind)| *kind == FileKind::Directory && is_own(name)) {
        walk(base, &paths::join(at, name), depth + 1, files, found)?;
    }
    Ok(())
}

fn is_module(name: &str) -> bool {
    name.ends_with(".py")
}

fn is_own(name: &str) -> bool {
    !name.starts_with('.') && !FOREIGN.contains(&name) && !name.ends_with(".egg-info")
}
