//! The packages whose use a deployment service records, with their versions.

use super::dependency::{Dependency, classify};
use super::pyproject::{Pyproject, strings, table};
use super::requirements_txt::{self, Kind};
use super::{Unreadable, requirement, uv_lock};
use crate::paths;
use crate::tree::Tree;

/// Their normalised names.
const TRACKED: &[&str] = &["google-adk"];

/// The version of a package without one.
const UNKNOWN: &str = "unknown";

/// The tracked packages of a project.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tracked {
    /// As `name:version`, where the version is that of the lock file, else a specifier such as `>=1.0`, else `unknown`.
    pub packages: Vec<String>,
    /// The files that were left out.
    pub unreadable: Vec<Unreadable>,
}

impl Tracked {
    /// Those of the entries of `dependencies`.
    pub fn new<'e>(entries: impl Iterator<Item = &'e str>, files: &Tree) -> Self {
        let mut found = Self::default();
        for entry in entries {
            let manifests = match classify(entry, files) {
                Dependency::Local { path } => found.read(&path, files),
                Dependency::Package(text) => Manifests { required: vec![text], ..Manifests::default() },
            };
            for name in TRACKED {
                let package = manifests.version(name).map(|version| format!("{name}:{version}"));
                found.packages.extend(package.filter(|it| !found.packages.contains(it)));
            }
        }
        found
    }

    /// Reads the manifests in `directory`.
    fn read(&mut self, directory: &str, files: &Tree) -> Manifests {
        let mut manifests = Manifests::default();
        let mut unreadable = |path: String, broken| self.unreadable.push(Unreadable { path, broken });
        let lock = paths::join(directory, uv_lock::NAME);
        match super::parsed(&lock, uv_lock::read, files) {
            Some(Ok(lock)) => manifests.locked.clone_from(&lock.packages),
            Some(Err(broken)) => unreadable(lock, broken),
            None => {}
        }
        let pyproject = Pyproject::read(directory, files);
        manifests.required.extend(pyproject.requirements().into_iter().flatten().map(str::to_owned));
        match &pyproject {
            Pyproject::Manifest(manifest) => {
                let extras = table(manifest, &["project", "optional-dependencies"]);
                let extras =
                    extras.into_iter().flat_map(|extras| extras.keys().flat_map(|key| strings(extras, key)));
                manifests.optional = extras.collect();
            }
            Pyproject::Broken(broken) => {
                unreadable(paths::join(directory, "pyproject.toml"), broken.clone());
            }
            Pyproject::Absent => {}
        }
        // Included files are constraints, too, which install nothing.
        if let Some(part) = requirements_txt::parts(directory, files).into_iter().next() {
            match &part.entries {
                Ok(entries) => {
                    manifests.required.extend(entries.iter().filter_map(|entry| match &entry.kind {
                        Kind::Requirement(text) => Some(text.clone()),
                        _ => None,
                    }))
                }
                Err(broken) => unreadable(part.path.clone(), broken.clone()),
            }
        }
        manifests
    }
}

/// The packages in the manifests of a directory.
#[derive(Default)]
struct Manifests {
    locked: Vec<uv_lock::Package>,
    /// Requirements, those of pyproject.toml first.
    required: Vec<String>,
    /// The requirements of extras.
    optional: Vec<String>,
}

impl Manifests {
    /// The version of the package, if it is named.
    fn version(&self, name: &str) -> Option<String> {
        let locked = self.locked.iter().find(|package| package.name == name);
        if let Some(version) = locked.and_then(|package| package.version.clone()) {
            return Some(version);
        }
        let is_it = |text: &&String| requirement::written_name(text).as_deref() == Some(name);
        let specifier = |text: &String| requirement::parts(text)?.versions.filter(|it| !it.is_empty());
        let unknown = || {
            let mut all = self.required.iter().chain(&self.optional);
            all.any(|text| is_it(&text)).then(|| UNKNOWN.to_owned())
        };
        self.required.iter().filter(is_it).find_map(specifier).or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    fn tracked(entries: &[&str], files: &[(&str, &str)]) -> Tracked {
        Tracked::new(entries.iter().copied(), &Tree::new(MemoryFiles::new(files.iter().copied())))
    }

    fn packages(entries: &[&str], files: &[(&str, &str)]) -> Vec<String> {
        let found = tracked(entries, files);
        assert_eq!(found.unreadable, []);
        found.packages
    }

    const LOCK: &str = "version = 1\n[[package]]\nname = \"google-adk\"\nversion = \"1.9.0\"\n\
                        source = { registry = \"https://pypi.org/simple\" }\n";

    #[test]
    fn the_lock_is_read_before_the_manifests() {
        let project = "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"Google_ADK>=1.0, <2\"]\n";
        let text = "x\ngoogle-adk==1.2.3  # pinned\n";
        for (files, expected) in [
            (vec![("uv.lock", LOCK), ("pyproject.toml", project)], "google-adk:1.9.0"),
            (vec![("pyproject.toml", project), ("requirements.txt", text)], "google-adk:<2,>=1.0"),
            (vec![("uv.lock", "version = 1\n"), ("requirements.txt", text)], "google-adk:==1.2.3"),
            (vec![("pyproject.toml", "[tool.x]\n"), ("requirements.txt", text)], "google-adk:==1.2.3"),
        ] {
            assert_eq!(packages(&["."], &files), [expected], "{files:?}");
        }
    }

    #[test]
    fn a_package_without_a_version_is_unknown() {
        let extra = "[project]\nname = \"a\"\noptional-dependencies = { x = [\"google-adk>=1\"] }\n";
        for (path, text) in [
            ("requirements.txt", "google-adk\n"),
            ("requirements.txt", "google-adk[eval] ; python_version > '3.10'\n"),
            ("requirements.txt", "google-adk @ https://example.org/google_adk-1.0-py3-none-any.whl\n"),
            ("pyproject.toml", extra),
        ] {
            assert_eq!(packages(&["."], &[(path, text)]), ["google-adk:unknown"], "{text}");
        }
        let text = [("pyproject.toml", extra), ("requirements.txt", "google-adk>=1.1")];
        assert_eq!(packages(&["."], &text), ["google-adk:>=1.1"]);
    }

    #[test]
    fn other_packages_are_not_tracked() {
        for (path, text) in [
            ("requirements.txt", "google-adk-extras==1\ngoogle\n-c constraints.txt\n"),
            ("constraints.txt", "google-adk==1\n"),
            ("sub/requirements.txt", "google-adk==1\n"),
        ] {
            assert_eq!(packages(&["."], &[(path, text)]), [""; 0], "{text}");
        }
    }

    #[test]
    fn each_entry_of_dependencies_counts_once() {
        let files = [
            ("a/requirements.txt", "google-adk==1"),
            ("b/uv.lock", LOCK),
            ("c/requirements.txt", "google-adk==1"),
        ];
        let expected = ["google-adk:==1", "google-adk:1.9.0", "google-adk:>=3"];
        assert_eq!(packages(&["./a", "./b", "./c", "google-adk>=3", "other"], &files), expected);
    }

    #[test]
    fn a_broken_file_is_reported_and_the_others_are_read() {
        let files =
            [("uv.lock", "version = ["), ("pyproject.toml", "["), ("requirements.txt", "google-adk==1")];
        let found = tracked(&["."], &files);
        assert_eq!(found.packages, ["google-adk:==1"]);
        let paths: Vec<&str> = found.unreadable.iter().map(|it| &*it.path).collect();
        assert_eq!(paths, ["uv.lock", "pyproject.toml"]);
    }
}
