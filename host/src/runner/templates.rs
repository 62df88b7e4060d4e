//! Templates: directories below one of the host, each with a project.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The directory of a template and the configuration in it, by a path `TEMPLATE/CONFIGURATION`.
pub(crate) fn find(templates: &Path, path: &str) -> Option<(PathBuf, String)> {
    let (name, config) = path.split_once('/')?;
    let is_plain = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let directory = templates.join(name);
    let is_there = !name.is_empty() && is_plain(path) && directory.join(config).is_file();
    is_there.then(|| (directory, config.to_owned()))
}

/// The names of all templates.
pub(crate) fn names(templates: &Path) -> Vec<String> {
    let entries = fs::read_dir(templates).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> =
        directories.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}
