//! What a `dependencies` entry is: a directory of the user's, or a package from an index.

use std::collections::HashSet;

use crate::compiler::files::{FileKind, Files};
use crate::compiler::manifests::pyproject::Pyproject;
use crate::compiler::manifests::requirement;
use crate::compiler::manifests::symbols::{Language, setup_py};
use crate::compiler::paths;

/// Files that say what a directory needs or how it is installed.
pub const MANIFESTS: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json"];

/// One entry of `dependencies`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// A directory, or what was meant as one.
    Local {
        /// Normalised, relative to the configuration's directory.
        path: String,
    },
    /// What to ask a package index for: PEP 508 text, as written.
    Package(String),
}

/// A local entry of `dependencies`, and what its directory holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its index in `dependencies`.
    pub index: usize,
    /// Normalised, relative to the configuration's directory.
    pub path: String,
    /// What stands there: a directory, or else it is a mistake.
    pub found: Option<FileKind>,
    /// How it gets into the server.
    pub kind: LocalKind,
    /// Its pyproject.toml, for everybody who asks for it later.
    pub pyproject: Pyproject,
}

/// How a local directory gets into the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// It can be installed: a pyproject.toml that describes a project, a setup.py or a setup.cfg.
    Package,
    /// It is an import package itself (`__init__.py`): its parent goes on the path.
    Flat,
    /// It goes on the path; of a requirements.txt in it, the contents are installed.
    Plain,
}

/// What `entry` means. A bare word is a package, even where a directory of that name stands.
pub fn classify(entry: &str, files: &dyn Files) -> Dependency {
    let path = paths::normalize(entry);
    let local = match entry {
        _ if entry.starts_with('-') || entry.contains("://") || entry.contains(" @ ") => false,
        _ if entry.starts_with(['.', '/']) => true,
        // Behind a `;` stand conditions, whose strings may hold anything.
        _ if entry.split(';').next().unwrap_or_default().contains(['/', '\\']) => true,
        _ if MANIFESTS.contains(&entry) || files.is_file(&path) => true,
        _ => !requirement::starts_like_a_name(entry) && files.kind(&path).is_some(),
    };
    let spaced = || !local && requirement::parse(entry).is_err() && files.is_directory(&path);
    if !entry.trim().is_empty() && (local || spaced()) {
        Dependency::Local { path }
    } else {
        Dependency::Package(entry.to_owned())
    }
}

impl Local {
    /// Looks at the directory at `path`.
    pub fn new(index: usize, path: String, files: &dyn Files) -> Self {
        let found = files.kind(&path);
        let pyproject = Pyproject::read(&path, files);
        let has = |name: &str| files.is_file(&paths::join(&path, name));
        let kind = if pyproject.is_project() || has("setup.py") || has("setup.cfg") {
            LocalKind::Package
        } else if has("__init__.py") {
            LocalKind::Flat
        } else {
            LocalKind::Plain
        };
        Self { index, path, found, kind, pyproject }
    }

    /// Whether it is there.
    pub fn is_directory(&self) -> bool {
        self.found == Some(FileKind::Directory)
    }

    /// The name under which it is installed, where its manifest says it in plain sight.
    pub fn distribution_name(&self, files: &dyn Files) -> Option<String> {
        let text = |name: &str| files.text(&paths::join(&self.path, name));
        let from_cfg = || name_in_cfg(&text("setup.cfg")?);
        let from_setup = || setup_py::setup_call(&text("setup.py")?)?.name;
        self.pyproject.name().map(str::to_owned).or_else(from_cfg).or_else(from_setup)
    }
}

/// The local ones of these entries of `dependencies`, given with their indices.
pub fn local_dependencies<'e>(
    entries: impl Iterator<Item = (usize, &'e str)>,
    files: &dyn Files,
) -> Vec<Local> {
    entries
        .filter_map(|(index, entry)| match classify(entry, files) {
            Dependency::Local { path } => Some(Local::new(index, path, files)),
            Dependency::Package(_) => None,
        })
        .collect()
}

/// The name by which a flat directory is imported: its own, with the configuration's directory known by name.
pub fn directory_name(path: &str, files: &dyn Files) -> Option<String> {
    let mut parts = files.directory();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    parts.pop()
}

/// Whether there is a source file within a few levels of the directory at `path`.
pub fn has_source(path: &str, files: &dyn Files) -> bool {
    fn look(path: &str, files: &dyn Files, depth: usize, seen: &mut HashSet<String>) -> bool {
        let entries = files.list(path);
        if entries.iter().any(|(name, kind)| *kind == FileKind::File && Language::of(name).is_some()) {
            return true;
        }
        let hidden = |name: &str| name.starts_with('.') || name == "node_modules" || name == "venv";
        entries.iter().any(|(name, kind)| {
            let below = paths::join(path, name);
            let enter = *kind == FileKind::Directory && depth > 0 && !hidden(name);
            enter && seen.insert(below.clone()) && look(&below, files, depth - 1, seen)
        })
    }
    look(path, files, 4, &mut HashSet::new())
}

fn name_in_cfg(text: &str) -> Option<String> {
    let mut metadata = false;
    for line in text.lines() {
        if line.starts_with('[') {
            metadata = line.trim() == "[metadata]";
        }
        let value = line.strip_prefix("name").map(str::trim_start).and_then(|rest| rest.strip_prefix('='));
        if let Some(value) = value.filter(|_| metadata) {
            // `attr:` and `file:` would have to be followed.
            return Some(value.trim().to_owned()).filter(|name| !name.contains(':'));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::files::MemoryFiles;

    #[test]
    fn local_or_package() {
        let files = MemoryFiles::new([("tools/setup.py", ""), ("pyproject.toml", ""), ("my lib/a.py", "")]);
        for (entry, local) in [
            (".", Some(".")),
            ("./tools", Some("tools")),
            ("../x/", Some("../x")),
            ("tests/example_app", Some("tests/example_app")),
            ("tests\\app", Some("tests/app")),
            ("pyproject.toml", Some("pyproject.toml")),
            ("requirements.txt", Some("requirements.txt")),
            ("my lib", Some("my lib")),
            ("tools", None),
            ("langchain>=0.3", None),
            ("-r ./requirements.txt", None),
            ("x @ https://example.com/x.whl", None),
            ("git+https://example.com/x", None),
            ("x; platform_release == 'a/b'", None),
            ("   ", None),
        ] {
            let wanted = match local {
                Some(path) => Dependency::Local { path: path.to_owned() },
                None => Dependency::Package(entry.to_owned()),
            };
            assert_eq!(classify(entry, &files), wanted, "{entry}");
        }
    }

    #[test]
    fn kinds_and_names() {
        let files = MemoryFiles::new([
            ("a/pyproject.toml", "[project]\nname = 'A.b'"),
            ("b/pyproject.toml", "[tool.ruff]"),
            ("c/__init__.py", ""),
            ("d/setup.py", "from setuptools import setup\nsetup(name='dee')"),
            ("e/setup.cfg", "[options]\nname = no\n[metadata]\nname = yes\n"),
            ("f/pyproject.toml", "\u{feff}[tool.poetry]\nname = 'eff'"),
        ]);
        let local = |path: &str| Local::new(0, path.to_owned(), &files);
        let name = |path| local(path).distribution_name(&files);
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|path| local(path).kind),
            [
                LocalKind::Package,
                LocalKind::Plain,
                LocalKind::Flat,
                LocalKind::Package,
                LocalKind::Package,
                LocalKind::Package
            ]
        );
        assert_eq!(
            ["a", "b", "d", "e", "f"].map(|path| name(path).unwrap_or_default()),
            ["A.b", "", "dee", "yes", "eff"]
        );
        assert_eq!(directory_name(".", &files).as_deref(), Some("project"));
        assert_eq!(directory_name("../x", &files).as_deref(), Some("x"));
    }
}
