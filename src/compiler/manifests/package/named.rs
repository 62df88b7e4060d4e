//! What manifests name of a package's layout: it has to be there for the installation, whatever it holds.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::{glob, string, strings};
use crate::compiler::files::Files;
use crate::compiler::manifests::pyproject::table;
use crate::compiler::manifests::symbols::setup_py::{Packages, SetupCall};
use crate::compiler::paths;

/// What a manifest names.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// Directories, relative to the package.
    pub(super) directories: Vec<String>,
    /// Patterns of files, relative to the package.
    pub(super) patterns: Vec<String>,
    /// Where every directory is a package.
    pub(super) namespaces: Vec<Namespace>,
}

/// A folder whose directories are packages without an `__init__.py`, too.
#[derive(Clone, Debug)]
pub(super) struct Namespace {
    pub(super) folder: String,
    include: Vec<String>,
    exclude: Vec<String>,
}

impl Namespace {
    /// Whether there may be a package in the directory `name`.
    pub(super) fn takes(&self, name: &str) -> bool {
        let first = |pattern: &String| pattern.split('.').next().is_some_and(|it| glob::matches(it, name));
        // Only a pattern that ends so leaves out what is below, too.
        let is_whole = |pattern: &&String| pattern.ends_with('*') && !pattern.contains('.');
        (self.include.is_empty() || self.include.iter().any(first))
            && !self.exclude.iter().filter(is_whole).any(|pattern| glob::matches(pattern, name))
    }
}

impl Named {
    pub(super) fn extend(&mut self, other: Named) {
        self.directories.extend(other.directories);
        self.patterns.extend(other.patterns);
        self.namespaces.extend(other.namespaces);
    }

    /// What setuptools is told in pyproject.toml.
    pub(super) fn setuptools(manifest: &Table) -> Self {
        let Some(settings) = table(manifest, &["tool", "setuptools"]) else { return Self::default() };
        let mut named = Self::default();
        let folders: BTreeMap<String, String> = table(settings, &["package-dir"])
            .into_iter()
            .flatten()
            .filter_map(|(name, folder)| Some((name.clone(), folder.as_str()?.to_owned())))
            .collect();
        named.packages(&strings(settings, "packages"), &folders);
        named.modules(&strings(settings, "py-modules"), &folders);
        if let Some(find) = table(settings, &["packages", "find"]) {
            let is_plain = find.get("namespaces").and_then(Value::as_bool) == Some(false);
            let mut folders = strings(find, "where");
            if folders.is_empty() {
                folders.push(".".to_owned());
            }
            let (include, exclude) = (strings(find, "include"), strings(find, "exclude"));
            for folder in folders.iter().filter(|_| !is_plain).map(|folder| paths::normalize(folder)) {
                named.namespaces.push(Namespace {
                    folder,
                    include: include.clone(),
                    exclude: exclude.clone(),
                });
            }
        }
        named
    }

    /// What setuptools is told in setup.py.
    pub(super) fn setup_py(call: &SetupCall) -> Self {
        let mut named = Self::default();
        named.modules(&call.py_modules, &call.package_dir);
        match &call.packages {
            Packages::Listed(names) => named.packages(names, &call.package_dir),
            Packages::Find { where_, namespaces: true, include, exclude } => {
                let (folder, include, exclude) = (paths::normalize(where_), include.clone(), exclude.clone());
                named.namespaces.push(Namespace { folder, include, exclude });
            }
            Packages::Find { .. } | Packages::Absent => {}
        }
        named
    }

    /// What hatchling is told. Of a directory, it wants no more than the Python in it.
    pub(super) fn hatch(manifest: &Table, path: &str, files: &dyn Files) -> Self {
        let mut named = Self::default();
        for keys in [&["tool", "hatch", "build"][..], &["tool", "hatch", "build", "targets", "wheel"]] {
            let Some(settings) = table(manifest, keys) else { continue };
            for entry in strings(settings, "packages").iter().chain(&strings(settings, "only-include")) {
                named.entry(&paths::normalize(entry), path, files);
            }
            // As in ignore files: without a `/`, at any depth.
            let modules = strings(settings, "include").into_iter().filter(|it| it.ends_with(".py"));
            named.patterns.extend(modules.map(|module| match module.trim_end_matches('/').split_once('/') {
                None => format!("**/{module}"),
                Some(("", rest)) => rest.to_owned(),
                Some(_) => module,
            }));
        }
        named
    }

    /// What Poetry is told.
    pub(super) fn poetry(manifest: &Table, path: &str, files: &dyn Files) -> Self {
        let mut named = Self::default();
        let packages = table(manifest, &["tool", "poetry"]).and_then(|poetry| poetry.get("packages"));
        for package in packages.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table) {
            let from = string(package, "from").unwrap_or_default();
            if let Some(include) = string(package, "include") {
                named.entry(&paths::join(&paths::normalize(&from), &include), path, files);
            }
        }
        named
    }

    /// What Flit is told.
    pub(super) fn flit(manifest: &Table) -> Self {
        let module = table(manifest, &["tool", "flit", "module"]).and_then(|module| string(module, "name"));
        let directory = module.map(|module| module.replace('.', "/"));
        let directories = directory.into_iter().flat_map(|it| [format!("src/{it}"), it]).collect();
        Self { directories, ..Self::default() }
    }

    /// What uv's backend is told.
    pub(super) fn uv(manifest: &Table) -> Self {
        let Some(settings) = table(manifest, &["tool", "uv", "build-backend"]) else {
            return Self::default();
        };
        let root = string(settings, "module-root").unwrap_or_else(|| "src".to_owned());
        let modules = string(settings, "module-name").into_iter().chain(strings(settings, "module-name"));
        let directories = modules.map(|module| below(&root, &module)).collect();
        Self { directories, ..Self::default() }
    }

    fn entry(&mut self, entry: &str, path: &str, files: &dyn Files) {
        let is_outside = entry.starts_with('/') || paths::levels_up(entry) > 0;
        if is_outside || files.is_directory(&paths::join(path, entry)) {
            self.directories.push(entry.to_owned());
        } else {
            self.patterns.push(entry.to_owned());
        }
    }

    fn packages(&mut self, names: &[String], folders: &BTreeMap<String, String>) {
        self.directories.extend(names.iter().map(|name| directory(name, folders)));
    }

    fn modules(&mut self, names: &[String], folders: &BTreeMap<String, String>) {
        self.patterns.extend(names.iter().map(|name| format!("{}.py", directory(name, folders))));
    }
}

/// Where setuptools looks for the package `name`: in the folder of the nearest package that has one.
fn directory(name: &str, folders: &BTreeMap<String, String>) -> String {
    let mut end = name.len();
    loop {
        if let Some(folder) = folders.get(&name[..end]) {
            return below(folder, name[end..].trim_start_matches('.'));
        }
        match name[..end].rfind('.') {
            Some(dot) => end = dot,
            None => break,
        }
    }
    below(folders.get("").map_or(".", String::as_str), name)
}

fn below(folder: &str, module: &str) -> String {
    paths::join(&paths::normalize(folder), &module.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_packages() {
        let folders = |all: &[(&str, &str)]| {
            all.iter().map(|(name, folder)| ((*name).to_owned(), (*folder).to_owned())).collect()
        };
        for (name, all, expected) in [
            ("a.b", &[][..], "a/b"),
            ("a.b", &[("", "src")], "src/a/b"),
            ("a.b", &[("a", "lib")], "lib/b"),
            ("a", &[("a", "lib/"), ("", "src")], "lib"),
            ("a.b.c", &[("a", "x"), ("a.b", "y")], "y/c"),
            ("ab", &[("a", "x")], "ab"),
            ("a", &[("a", "../x")], "../x"),
        ] {
            assert_eq!(directory(name, &folders(all)), expected, "{name} {all:?}");
        }
    }

    #[test]
    fn namespaces_by_their_patterns() {
        let takes = |include: &[&str], exclude: &[&str], name: &str| {
            let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
            Namespace { folder: ".".to_owned(), include: owned(include), exclude: owned(exclude) }.takes(name)
        };
        assert!(takes(&[], &[], "a") && takes(&["a*"], &[], "ab") && takes(&["a.b"], &[], "a"));
        assert!(takes(&[], &["a"], "a") && takes(&[], &["a.*"], "a"));
        assert!(!takes(&["a*"], &[], "b") && !takes(&[], &["a*"], "ab"));
    }
}
