//! Entries of `dependencies`: local directories and packages from an index.

use crate::files::{FileKind, Files};
use crate::manifests::pyproject::Pyproject;
use crate::manifests::source_tree::has_python;
use crate::manifests::virtual_project::import_roots;
use crate::manifests::{self, requirement, setup_cfg, setup_py};
use crate::paths;
use crate::tree::Tree;

/// Files that describe a project or list its requirements.
pub const MANIFESTS: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json"];

/// One entry of `dependencies`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// A path, which must be that of a directory.
    Local {
        /// Normalised, relative to the configuration's directory.
        path: String,
    },
    /// A PEP 508 requirement, as written.
    Package(String),
}

/// A local entry of `dependencies`.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its index in `dependencies`; a package of `source` has none.
    pub index: Option<usize>,
    /// Normalised, relative to the configuration's directory.
    pub path: String,
    /// The kind of file at the path. Only a directory is valid.
    pub found: Option<FileKind>,
    /// How it is made importable.
    pub kind: LocalKind,
    /// Its pyproject.toml.
    pub pyproject: Pyproject,
    /// Extras that others ask for.
    pub extras: Vec<String>,
}

/// How a local directory is made importable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// It is installed: it has a pyproject.toml that describes a project, a setup.py or a setup.cfg.
    Package,
    /// It is an import package itself (`__init__.py`): its parent is added to the import path.
    Flat,
    /// It and its `src` are added to the import path; the packages in its requirements.txt are installed.
    Plain,
    /// It is a project that is not installed: its requirements are, and its code is imported from its directory.
    Virtual,
}

/// Tells local directories from packages. A bare word is a package, even if there is a directory of that name.
pub fn classify(entry: &str, files: &Tree) -> Dependency {
    let path = paths::normalize(entry);
    let local = match entry {
        _ if entry.starts_with('-') || entry.contains("://") || entry.contains(" @ ") => false,
        _ if entry.starts_with(['.', '/']) => true,
        // The strings in a condition may contain anything.
        _ if entry.split(';').next().unwrap_or_default().contains(['/', '\\']) => true,
        _ if MANIFESTS.contains(&entry) || files.is_file(&path) => true,
        _ => !requirement::starts_like_a_name(entry) && files.kind(&path).is_some(),
    };
    let spaced = || !local && requirement::read(entry).is_err() && files.is_directory(&path);
    if !entry.trim().is_empty() && (local || spaced()) {
        Dependency::Local { path }
    } else {
        Dependency::Package(entry.to_owned())
    }
}

impl Local {
    /// Reads the manifests of the directory at `path`.
    pub fn new(index: Option<usize>, path: String, files: &Tree) -> Self {
        let found = files.kind(&path);
        let pyproject = Pyproject::read(&path, files);
        let has = |name: &str| files.is_file(&paths::join(&path, name));
        let is_virtual = || match &pyproject {
            Pyproject::Manifest(manifest) => import_roots(&path, manifest, files).is_some(),
            Pyproject::Absent | Pyproject::Broken(_) => false,
        };
        let kind = if pyproject.is_project() || setup_py::is_present(&path, files) || has("setup.cfg") {
            if is_virtual() { LocalKind::Virtual } else { LocalKind::Package }
        } else if has("__init__.py") {
            LocalKind::Flat
        } else {
            LocalKind::Plain
        };
        Self { index, path, found, kind, pyproject, extras: Vec::new() }
    }

    /// Whether it is a project with a manifest.
    pub fn is_project(&self) -> bool {
        matches!(self.kind, LocalKind::Package | LocalKind::Virtual)
    }

    /// The directories that its code is imported from, if it is not installed.
    pub fn import_roots(&self, files: &Tree) -> Vec<String> {
        match (self.kind, &self.pyproject) {
            (LocalKind::Package, _) => Vec::new(),
            (LocalKind::Flat, _) => vec![paths::join(&self.path, "..")],
            (LocalKind::Virtual, Pyproject::Manifest(manifest)) => {
                import_roots(&self.path, manifest, files).unwrap_or_default()
            }
            (LocalKind::Plain, _) => {
                let source = paths::join(&self.path, "src");
                let has_source = has_python(&source, files);
                [self.path.clone()].into_iter().chain(has_source.then_some(source)).collect()
            }
            (LocalKind::Virtual, _) => vec![self.path.clone()],
        }
    }

    /// Whether it is an existing directory.
    pub fn is_directory(&self) -> bool {
        self.found == Some(FileKind::Directory)
    }

    /// The name in its metadata, if that can be read without running code.
    pub fn distribution_name(&self, files: &Tree) -> Option<String> {
        let text = |name: &str| manifests::text(&paths::join(&self.path, name), files)?.ok();
        let from_cfg = || setup_cfg::read(&text("setup.cfg")?).ok()?.name;
        let from_setup = || setup_py::setup_call(&text("setup.py")?)?.name;
        self.pyproject.name().map(str::to_owned).or_else(from_cfg).or_else(from_setup)
    }
}

/// The local entries among these of `dependencies`, which are given with their indices.
pub fn local_dependencies<'e>(entries: impl Iterator<Item = (usize, &'e str)>, files: &Tree) -> Vec<Local> {
    entries
        .filter_map(|(index, entry)| match classify(entry, files) {
            Dependency::Local { path } => Some(Local::new(Some(index), path, files)),
            Dependency::Package(_) => None,
        })
        .collect()
}

/// The name under which a flat directory is imported: its own; `.` is the configuration's directory.
pub fn directory_name(path: &str, files: &Tree) -> Option<String> {
    paths::components(path, &files.directory()).pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    #[test]
    fn local_or_package() {
        let files = Tree::new(MemoryFiles::new([
            ("tools/setup.py", ""),
            ("pyproject.toml", ""),
            ("my lib/a.py", ""),
        ]));
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
        let files = Tree::new(MemoryFiles::new([
            ("a/pyproject.toml", "[project]\nname = 'A.b'\n[build-system]"),
            ("b/pyproject.toml", "[tool.ruff]"),
            ("c/__init__.py", ""),
            ("d/setup.py", "from setuptools import setup\nsetup(name='dee')"),
            ("e/setup.cfg", "[options]\nname = no\n[metadata]\nname = yes\n"),
            ("f/pyproject.toml", "\u{feff}[tool.poetry]\nname = 'eff'"),
            ("g/pyproject.toml", "[project]\nname = 'gee'\n[build-system]\n[tool.uv]\npackage = false"),
        ]));
        let local = |path: &str| Local::new(None, path.to_owned(), &files);
        let name = |path| local(path).distribution_name(&files);
        assert_eq!(
            ["a", "b", "c", "d", "e", "f", "g"].map(|path| local(path).kind),
            [
                LocalKind::Package,
                LocalKind::Plain,
                LocalKind::Flat,
                LocalKind::Package,
                LocalKind::Package,
                LocalKind::Virtual,
                LocalKind::Virtual,
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
