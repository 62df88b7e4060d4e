//! The layout of a package, as files that only have to exist for its editable installation.

use crate::compiler::files::{FileKind, Files};
use crate::compiler::manifests::package::glob::{self, is_foreign, is_own};
use crate::compiler::manifests::package::named::Named;
use crate::compiler::paths;

/// With more packages than this the skeleton would be longer than the installation is slow.
const MAX_PLACEHOLDERS: usize = 500;

/// How deep a linked directory is searched for Python.
const MAX_LINK_DEPTH: usize = 3;

/// One empty file for each directory that holds Python: its `__init__.py`, else its first module; every module at
/// the top; and one for each directory that is `named`. Relative to the package at `path`; what ends with `/` is a
/// directory itself.
pub(super) fn files(path: &str, named: &Named, files: &dyn Files) -> Result<Vec<String>, String> {
    let mut layout = Layout { base: path, files, found: Vec::new() };
    layout.walk(".")?;
    for pattern in &named.patterns {
        let matches = glob::expand(path, pattern, files);
        layout.represent(matches.ok_or_else(|| format!("what `{pattern}` means is not known"))?);
    }
    for directory in &named.directories {
        layout.place(directory)?;
    }
    for directory in layout.namespaces(named) {
        if !layout.has_some(&directory) {
            layout.found.push(format!("{directory}/"));
        }
    }
    match layout.found.iter().find(|file| paths::is_unprintable(file)) {
        Some(file) => Err(format!("the file name {file:?} cannot be written to a build file")),
        None if layout.found.len() > MAX_PLACEHOLDERS => Err(too_many()),
        None => Ok(layout.found),
    }
}

struct Layout<'a> {
    base: &'a str,
    files: &'a dyn Files,
    found: Vec<String>,
}

impl Layout<'_> {
    fn walk(&mut self, at: &str) -> Result<(), String> {
        if self.found.len() > MAX_PLACEHOLDERS {
            return Err(too_many());
        }
        let entries = self.list(at);
        if is_foreign(at, &entries) {
            return Ok(());
        }
        let modules = entries.iter().filter(|(name, kind)| *kind == FileKind::File && name.ends_with(".py"));
        let mut modules: Vec<&String> = modules.map(|(name, _)| name).collect();
        if at == "." {
            modules.retain(|name| *name != "setup.py" && *name != "conftest.py");
        } else {
            modules.sort_by_key(|name| *name != "__init__.py");
            modules.truncate(1);
        }
        self.found.extend(modules.into_iter().map(|name| paths::join(at, name)));
        for name in self.files.linked_directories(&paths::join(self.base, at)) {
            let link = paths::join(at, &name);
            if is_own(&name)
                && !is_foreign(&link, &self.list(&link))
                && self.holds_python(&link, MAX_LINK_DEPTH)
            {
                return Err(format!("`{link}` is a link to a directory with Python in it"));
            }
        }
        for (name, _) in entries.iter().filter(|(name, kind)| *kind == FileKind::Directory && is_own(name)) {
            self.walk(&paths::join(at, name))?;
        }
        Ok(())
    }

    /// Stands something for the files that a pattern means: modules are found by their directories, and of all else one
    /// is enough.
    fn represent(&mut self, matches: Vec<String>) {
        let is_met = matches.iter().any(|file| self.found.contains(file));
        let first = matches.first().filter(|_| !is_met).cloned();
        self.found.extend(first);
        for file in matches.into_iter().filter(|file| file.ends_with(".py")) {
            let directory = paths::parent(&file);
            if directory == "." || !self.found.iter().any(|it| paths::parent(it) == directory) {
                self.found.push(file);
            }
        }
    }

    fn has_some(&self, directory: &str) -> bool {
        self.found.iter().any(|file| paths::lies_in(file, directory))
    }

    /// Stands something in `directory`, if it is there and nothing stands in it yet.
    fn place(&mut self, directory: &str) -> Result<(), String> {
        if directory.starts_with('/') || paths::levels_up(directory) > 0 {
            return Err(format!("its package `{directory}` lies outside of its directory"));
        }
        let is_there = self.files.is_directory(&paths::join(self.base, directory));
        if !is_there || self.has_some(directory) {
            return Ok(());
        }
        if self.files.link(&paths::join(self.base, directory)).is_some() {
            return Err(format!("its package `{directory}` is, or lies in, a linked directory"));
        }
        let file = self.first_file(directory);
        self.found.push(file.ok_or_else(|| format!("its package `{directory}` holds no file"))?);
        Ok(())
    }

    /// Directories that are packages by where they lie.
    fn namespaces(&self, named: &Named) -> Vec<String> {
        let mut directories = Vec::new();
        for namespace in &named.namespaces {
            for (name, kind) in self.list(&namespace.folder) {
                if kind == FileKind::Directory && is_own(&name) && namespace.takes(&name) {
                    directories.push(paths::join(&namespace.folder, &name));
                }
            }
        }
        // One without any file is in no context.
        directories.retain(|it| !is_foreign(it, &self.list(it)) && self.first_file(it).is_some());
        directories
    }

    /// The file that can best stand for all in `directory`.
    fn first_file(&self, directory: &str) -> Option<String> {
        let entries = self.list(directory);
        let (files, directories): (Vec<_>, Vec<_>) =
            entries.into_iter().filter(|(name, _)| is_own(name)).partition(|it| it.1 == FileKind::File);
        let rank = |name: &str| (!name.starts_with("__init__.py"), !name.ends_with(".py"));
        let file = files.into_iter().map(|(name, _)| name).min_by_key(|name| rank(name));
        file.map(|name| paths::join(directory, &name)).or_else(|| {
            directories.into_iter().find_map(|(name, _)| self.first_file(&paths::join(directory, &name)))
        })
    }

    fn holds_python(&self, directory: &str, depth: usize) -> bool {
        depth > 0
            && self.list(directory).iter().any(|(name, kind)| match kind {
                FileKind::File => name.ends_with(".py"),
                FileKind::Directory => {
                    is_own(name) && self.holds_python(&paths::join(directory, name), depth - 1)
                }
            })
    }

    fn list(&self, at: &str) -> Vec<(String, FileKind)> {
        self.files.list(&paths::join(self.base, at))
    }
}

fn too_many() -> String {
    format!("it has more than {MAX_PLACEHOLDERS} packages")
}
