//! The skeleton of a package: its manifests and empty placeholder files, enough to install it as editable before its
//! source is there.
//!
//! Placeholders come from the tree: one for each top-level package or module that the backend may look for, and one for
//! whatever else the manifests name. That way edits, and most new files, leave the skeleton as it is.

use std::collections::BTreeSet;
use std::mem;

use crate::files::{FileKind, Files};
use crate::manifests::dockerignore::Ignore;
use crate::paths;
use crate::tree::Tree;

/// Maximum number of placeholders. A larger skeleton is slower than the installation that it saves.
const MAX_PLACEHOLDERS: usize = 500;

/// Maximum number of files that patterns are matched against.
const MAX_FILES: usize = 20_000;

/// How deep a linked directory is searched for Python code.
const MAX_LINK_DEPTH: usize = 3;

/// Directories whose modules can be packages of their own.
const MODULE_ROOTS: &[&str] = &[".", "src"];

/// Directories that tools fill, unless they are packages.
const GENERATED: &[&str] = &["build", "dist", "node_modules"];

/// Entries that tell a virtual environment.
const ENVIRONMENT: &[&str] = &["pyvenv.cfg", "conda-meta"];

/// Files that a package can be installed from. Paths are relative to the package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skeleton {
    /// Files that are copied.
    pub manifests: Vec<String>,
    /// Files that only have to exist.
    pub placeholders: Vec<String>,
    /// Those of the placeholders that the metadata names, such as a readme.
    pub metadata: BTreeSet<String>,
}

impl Skeleton {
    /// The skeleton of the package at `path`, or why it has none. `described` are the files that its metadata names, by
    /// path or pattern; `named` are the strings of its manifests that may name files, directories or modules; `reach` are
    /// the directories and files that the backend selects code from, if they are known.
    pub(super) fn new(
        path: &str,
        manifests: Vec<String>,
        described: &[&str],
        named: &[&str],
        reach: Option<&[String]>,
        files: &Tree,
    ) -> Result<Self, String> {
        let directories = Vec::new();
        let seen = Vec::new();
        let found = BTreeSet::new();
        let mut walk = Walk { base: path, files, reach, directories, seen, found };
        walk.walk(".", false)?;
        let code = mem::take(&mut walk.found);
        described.iter().try_for_each(|name| walk.add_named(name))?;
        let metadata = walk.found.clone();
        walk.found.extend(code);
        named.iter().try_for_each(|name| walk.add_named(name))?;
        let manifests: BTreeSet<String> = manifests.into_iter().collect();
        let placeholders: Vec<String> =
            walk.found.into_iter().filter(|file| !manifests.contains(file)).collect();
        match placeholders.iter().find(|file| paths::is_unprintable(file)) {
            Some(file) => Err(format!("the file name {file:?} cannot be written to a Dockerfile")),
            None => Ok(Self { manifests: manifests.into_iter().collect(), placeholders, metadata }),
        }
    }
}

struct Walk<'a> {
    base: &'a str,
    files: &'a Tree,
    reach: Option<&'a [String]>,
    directories: Vec<String>,
    seen: Vec<String>,
    found: BTreeSet<String>,
}

impl Walk<'_> {
    /// Visits the directory `at`; `is_covered` says whether a package around it has a placeholder.
    fn walk(&mut self, at: &str, is_covered: bool) -> Result<bool, String> {
        let entries = self.list(at);
        if is_foreign(at, &entries) {
            return Ok(is_covered);
        }
        let own = || entries.iter().filter(|(name, _)| is_own(name));
        let files = own().filter(|(_, kind)| *kind == FileKind::File).map(|(name, _)| name);
        let is_code = |name: &&String| name.ends_with(".py") && self.is_reached(&paths::join(at, name));
        let modules = files.clone().filter(is_code);
        let is_root = MODULE_ROOTS.contains(&at);
        let own_modules: Vec<&String> = if is_root {
            modules.collect()
        } else {
            modules.filter(|_| !is_covered).min_by_key(|name| *name != "__init__.py").into_iter().collect()
        };
        // Of a namespace, the first directory with code.
        let mut is_covered = is_covered || !is_root && !own_modules.is_empty();
        self.found.extend(own_modules.into_iter().map(|name| paths::join(at, name)));
        if self.found.len() > MAX_PLACEHOLDERS {
            return Err(format!("it has more than {MAX_PLACEHOLDERS} packages and modules"));
        }
        let left = MAX_FILES.saturating_sub(self.seen.len());
        self.seen.extend(files.take(left).map(|name| paths::join(at, name)));
        self.directories.push(at.to_owned());
        self.check_links(at)?;
        for (name, _) in own().filter(|(_, kind)| *kind == FileKind::Directory) {
            let is_found = self.walk(&paths::join(at, name), is_covered)?;
            is_covered |= is_found && !is_root;
        }
        Ok(is_covered)
    }

    /// Whether the backend may select the file at `path`.
    fn is_reached(&self, path: &str) -> bool {
        self.reach.is_none_or(|places| places.iter().any(|place| paths::lies_in(path, place)))
    }

    /// A placeholder in a linked directory would be in the way of the link.
    fn check_links(&self, at: &str) -> Result<(), String> {
        let names = self.files.linked_directories(&paths::join(self.base, at));
        let links = names.iter().filter(|name| is_own(name)).map(|name| paths::join(at, name));
        let has_python =
            |link: &String| !is_foreign(link, &self.list(link)) && self.has_python(link, MAX_LINK_DEPTH);
        match links.into_iter().find(has_python) {
            Some(link) => Err(format!("`{link}` is a link to a directory with Python code")),
            None => Ok(()),
        }
    }

    /// Adds a placeholder for the target of `name`: a file, the first match of a pattern, or a directory, which may be
    /// written as a module.
    fn add_named(&mut self, name: &str) -> Result<(), String> {
        if name.contains(char::is_whitespace) || paths::is_unprintable(name) {
            return Ok(());
        }
        let path = paths::normalize(name.trim_start_matches('/'));
        if paths::levels_up(&path) > 0 {
            return Err(format!("it names `{name}`, which is outside of its directory"));
        }
        let place = paths::join(self.base, &path);
        if self.files.is_file(&place) {
            self.found.insert(path);
        } else if path.contains(['*', '?', '[']) {
            self.add_match(&path);
        } else if path != "." {
            let module = format!("/{}", path.replace('.', "/"));
            let is_meant = |it: &&String| **it == path || format!("/{it}").ends_with(&module);
            let mut meant: Vec<String> = self.directories.iter().filter(is_meant).cloned().collect();
            meant.extend(self.files.is_directory(&place).then_some(path));
            meant.iter().try_for_each(|directory| self.add_directory(directory))?;
        }
        Ok(())
    }

    fn add_match(&mut self, pattern: &str) {
        let is_specific = pattern.contains(char::is_alphanumeric);
        let Ok(pattern) = Ignore::parse(&pattern.replace("[!", "[^")) else { return };
        if is_specific && !self.found.iter().any(|file| pattern.excludes(file)) {
            self.found.extend(self.seen.iter().find(|file| pattern.excludes(file)).cloned());
        }
    }

    fn add_directory(&mut self, directory: &str) -> Result<(), String> {
        if self.found.iter().any(|file| paths::lies_in(file, directory)) {
            return Ok(());
        }
        if self.files.link(&paths::join(self.base, directory)).is_some() {
            return Err(format!("its directory `{directory}` is a link, or inside of one"));
        }
        let file = self.first_file(directory);
        self.found.extend(file);
        Ok(())
    }

    /// The file that represents `directory` best.
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

    fn has_python(&self, directory: &str, depth: usize) -> bool {
        depth > 0
            && self.list(directory).iter().any(|(name, kind)| match kind {
                FileKind::File => name.ends_with(".py"),
                FileKind::Directory => {
                    is_own(name) && self.has_python(&paths::join(directory, name), depth - 1)
                }
            })
    }

    fn list(&self, at: &str) -> Vec<(String, FileKind)> {
        self.files.list(&paths::join(self.base, at))
    }
}

/// Whether an entry of this name can belong to a package.
fn is_own(name: &str) -> bool {
    !name.starts_with('.') && name != "__pycache__" && !name.ends_with(".egg-info")
}

/// Whether a directory with these entries is filled by tools.
fn is_foreign(directory: &str, entries: &[(String, FileKind)]) -> bool {
    let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
    let is_generated = GENERATED.contains(&paths::file_name(directory)) && !has("__init__.py");
    is_generated || ENVIRONMENT.iter().any(|name| has(name))
}
