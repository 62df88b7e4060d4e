//! What a `dependencies` entry is: a directory of the user's, or a package from an index.

use std::collections::HashSet;

use crate::compiler::config::Config;
use crate::compiler::files::{FileKind, Files};
use crate::compiler::symbols::{Language, setup_py};
use crate::compiler::{paths, requirement};

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

/// How the directory at `path` gets into the server.
pub fn local_kind(path: &str, files: &dyn Files) -> LocalKind {
    let has = |name: &str| files.is_file(&paths::join(path, name));
    if has("setup.py") || has("setup.cfg") || pyproject(path, files).is_some_and(|it| is_project(&it)) {
        LocalKind::Package
    } else if has("__init__.py") {
        LocalKind::Flat
    } else {
        LocalKind::Plain
    }
}

/// The local entries of `config`: their indices, and their paths, normalised.
pub fn local_dependencies(config: &Config, files: &dyn Files) -> Vec<(usize, String)> {
    let entries = config.dependencies.iter().flatten().enumerate();
    entries
        .filter_map(|(index, entry)| match classify(entry, files) {
            Dependency::Local { path } => Some((index, path)),
            Dependency::Package(_) => None,
        })
        .collect()
}

/// The name under which the directory at `path` is installed, where its manifest says it in plain sight.
pub fn distribution_name(path: &str, files: &dyn Files) -> Option<String> {
    let named = |table: &toml::Table, keys: &[&str]| {
        let (last, path) = keys.split_last()?;
        let table = path.iter().try_fold(table, |table, key| table.get(*key)?.as_table())?;
        table.get(*last)?.as_str().map(str::to_owned)
    };
    let from_pyproject = || {
        let manifest = pyproject(path, files)?;
        named(&manifest, &["project", "name"]).or_else(|| named(&manifest, &["tool", "poetry", "name"]))
    };
    let from_cfg = || name_in_cfg(&files.text(&paths::join(path, "setup.cfg"))?);
    let from_setup = || setup_py::setup_call(&files.text(&paths::join(path, "setup.py"))?)?.name;
    from_pyproject().or_else(from_cfg).or_else(from_setup)
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

/// Whether `path` is `directory` or lies in it. Both are normalised and relative to the same place.
pub fn lies_in(path: &str, directory: &str) -> bool {
    let up = |path: &str| path.split('/').take_while(|&part| part == "..").count();
    if directory.split('/').all(|part| part == "..") {
        !path.starts_with('/') && up(path) <= up(directory)
    } else {
        paths::below(path, directory).is_some()
    }
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

fn pyproject(path: &str, files: &dyn Files) -> Option<toml::Table> {
    files.text(&paths::join(path, "pyproject.toml"))?.parse().ok()
}

fn is_project(manifest: &toml::Table) -> bool {
    let poetry = || manifest.get("tool").and_then(|tool| tool.get("poetry"));
    manifest.contains_key("project") || manifest.contains_key("build-system") || poetry().is_some()
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
            ("f/pyproject.toml", "[tool.poetry]\nname = 'eff'"),
        ]);
        let name = |path| distribution_name(path, &files);
        assert_eq!(
            ["a", "b", "c", "d", "e", "f"].map(|path| local_kind(path, &files)),
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

    #[test]
    fn what_lies_in_what() {
        assert!(
            lies_in("a.py", "..")
                && lies_in("../a.py", "..")
                && lies_in("a/b", "a")
                && lies_in("../x", "../..")
        );
        assert!(!lies_in("../../a.py", "..") && !lies_in("../a.py", ".") && !lies_in("ab", "a"));
    }
}
