//! The packages that the lock files of a project name, with the hashes of their files.

use std::str::FromStr as _;

use pep508_rs::pep440_rs::Version;
use serde_json::Value;

use super::files::Files as _;
use super::front::config::Config;
use super::front::workspace::{self, Locked};
use super::manifests::local_requirements::Closure;
use super::manifests::requirement::normalized_name;
use super::manifests::requirements_txt::{self, Kind};
use super::manifests::uv_lock::Selected;
use super::manifests::{installation, yaml};
use super::server::files::{PACKAGE_LOCK, REQUIREMENTS, ServerFile};
use super::tree::Tree;

/// The kind of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A package of a Python index.
    Python,
    /// A package of an npm registry.
    JavaScript,
}

/// A package in a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The kind.
    pub language: Language,
    /// The name, normalised for Python.
    pub name: String,
    /// The version.
    pub version: String,
    /// The files that it may be installed from; empty where the lock file has no hashes.
    pub files: Vec<PinnedFile>,
    /// The lock file, relative to the configuration's directory; absent for the packages of the server.
    pub lock: Option<String>,
}

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its name, where the lock file has it.
    pub name: Option<String>,
    /// `sha256:` and hexadecimal digits; or, separated by spaces, algorithms and digests in base64, such as `sha512-…`.
    pub hash: String,
}

impl Pinned {
    /// Whether it is this version of the package, however the version is written.
    pub fn is(&self, language: Language, name: &str, version: &str) -> bool {
        let is_same = || {
            let versions = [&*self.version, version].map(|version| Version::from_str(version).ok());
            matches!(versions, [Some(own), Some(other)] if own == other)
        };
        self.language == language
            && self.name == name
            && (self.version == version || (language == Language::Python && is_same()))
    }
}

/// The packages of all lock files that an image of the configuration is built with, and those of the files of
/// its server. `no_lock` is whether lock files beside local dependencies are not used.
pub fn pinned(config: &Config, files: &Tree, server: &[ServerFile], no_lock: bool) -> Vec<Pinned> {
    let mut found = Vec::new();
    match workspace::locked(config, files) {
        Some(locked) => found.extend(of_lock(&locked)),
        None => {
            for local in Closure::of_directories(config.entries(), files).locals {
                let beside = workspace::beside(&local, config, files).filter(|_| !no_lock);
                found.extend(beside.and_then(Result::ok).iter().flat_map(|locked| of_lock(locked)));
                for part in requirements_txt::parts(&local.path, files) {
                    found.extend(of_requirements(
                        &part.text,
                        part.entries.iter().flatten(),
                        Some(&part.path),
                    ));
                }
            }
        }
    }
    let javascript = installation::find(&config.package_directories(files), files).and_then(Result::ok);
    for lock in javascript.iter().flat_map(|installation| &installation.locks) {
        let text = files.text(lock).unwrap_or_default();
        found.extend(if lock.ends_with(".json") { of_npm(lock, &text) } else { of_pnpm(lock, &text) });
    }
    for ServerFile { path, text } in server {
        match path.as_str() {
            REQUIREMENTS => found.extend(of_requirements(text, &requirements_txt::read(text), None)),
            PACKAGE_LOCK => found.extend(of_npm(path, text)),
            _ => {}
        }
    }
    found
}

fn of_lock(locked: &Locked) -> Vec<Pinned> {
    let package = |selected: &Selected| {
        let files = selected.files(&locked.python).filter_map(|file| {
            Some(PinnedFile { name: file.name().map(str::to_owned), hash: file.hash.clone()? })
        });
        Some(Pinned {
            language: Language::Python,
            name: selected.package.name.clone(),
            version: selected.package.version.clone()?,
            files: files.collect(),
            lock: Some(locked.file.clone()),
        })
    };
    locked.packages.iter().filter_map(package).collect()
}

/// Requirements of exactly one version: pip-compile and uv write all hashes behind them.
fn of_requirements<'a>(
    text: &str,
    entries: impl IntoIterator<Item = &'a requirements_txt::Entry>,
    path: Option<&str>,
) -> Vec<Pinned> {
    let package = |entry: &requirements_txt::Entry| {
        let Kind::Requirement(requirement) = &entry.kind else { return None };
        let line = &text[entry.line.clone()];
        pin(requirement, line.split("--hash").skip(1), path)
    };
    entries.into_iter().filter_map(package).collect()
}

/// `name==version`, with what follows each `--hash`.
fn pin<'a>(text: &str, hashes: impl Iterator<Item = &'a str>, lock: Option<&str>) -> Option<Pinned> {
    let (name, version) = text.split(';').next()?.split_once("==")?;
    let name = name.split('[').next()?.trim();
    let hash = |text: &str| Some(text.trim_start_matches(['=', ' ']).split_whitespace().next()?.to_owned());
    Some(Pinned {
        language: Language::Python,
        name: normalized_name(name),
        version: Some(version.trim_start_matches('=').trim())
            .filter(|version| !version.contains(['*', ',', ' ']))?
            .to_owned(),
        files: hashes.filter_map(hash).map(|hash| PinnedFile { name: None, hash }).collect(),
        lock: lock.map(str::to_owned),
    })
}

/// Versions 2 and 3 of npm's lock file.
fn of_npm(lock: &str, text: &str) -> Vec<Pinned> {
    let content: Value = serde_json::from_str(text).unwrap_or_default();
    let packages = content["packages"].as_object().into_iter().flatten();
    let package = |(path, entry): (&String, &Value)| {
        let name = entry["name"].as_str().or(path.rsplit_once("node_modules/").map(|(_, name)| name))?;
        Some(of_registry(name, entry["version"].as_str()?, &entry["integrity"], lock))
    };
    packages.filter_map(package).collect()
}

/// pnpm's lock file: the keys are `name@version`, in older versions with `/` before and conditions behind them.
fn of_pnpm(lock: &str, text: &str) -> Vec<Pinned> {
    if !lock.ends_with(".yaml") {
        return Vec::new();
    }
    let content = yaml::read(text).unwrap_or_default();
    let packages = content["packages"].as_object().into_iter().flatten();
    let package = |(key, entry): (&String, &Value)| {
        let key = key.trim_start_matches('/').split('(').next()?;
        let (name, version) = key.rsplit_once('@').filter(|(name, _)| !name.is_empty())?;
        Some(of_registry(name, version, &entry["resolution"]["integrity"], lock))
    };
    packages.filter_map(package).collect()
}

fn of_registry(name: &str, version: &str, integrity: &Value, lock: &str) -> Pinned {
    let file = integrity.as_str().map(|hash| PinnedFile { name: None, hash: hash.to_owned() });
    Pinned {
        language: Language::JavaScript,
        name: name.to_owned(),
        version: version.to_owned(),
        files: file.into_iter().collect(),
        lock: Some(lock.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(found: &[Pinned]) -> Vec<String> {
        let one = |it: &Pinned| {
            let hashes: Vec<&str> = it.files.iter().map(|file| &*file.hash).collect();
            format!("{} {} {}", it.name, it.version, hashes.join(" "))
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn requirements_of_exactly_one_version_are_pinned() {
        let hashes = |count: usize| (0..count).map(|_| "=sha256:a \\\n");
        let shown = |text| pin(text, hashes(2), None).map(|it| shown(&[it]).concat());
        assert_eq!(shown("A_b[x]==1.0 ; python_version > '3'"), Some("a-b 1.0 sha256:a sha256:a".to_owned()));
        assert_eq!(shown("a === 1.0"), Some("a 1.0 sha256:a sha256:a".to_owned()));
        for text in ["a>=1", "a==1.*", "a==1,!=2", "a", ""] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn lock_files_of_javascript() {
        let npm = r#"{"packages": {"": {"version": "1"}, "node_modules/@a/b": {"version": "2", "integrity": "sha512-eA=="},
            "node_modules/c/node_modules/d": {"version": "3"}, "node_modules/alias": {"name": "e", "version": "4"}}}"#;
        assert_eq!(shown(&of_npm("package-lock.json", npm)), ["@a/b 2 sha512-eA==", "d 3 ", "e 4 "]);
        let pnpm = "packages:\n  '@a/b@2(c@1)':\n    resolution: {integrity: sha512-eA==}\n  /d@3: {}\n  nothing: {}\n";
        assert_eq!(shown(&of_pnpm("pnpm-lock.yaml", pnpm)), ["@a/b 2 sha512-eA==", "d 3 "]);
        assert!(of_npm("package-lock.json", "{").is_empty() && of_pnpm("pnpm-lock.yaml", "[").is_empty());
        assert!(of_pnpm("yarn.lock", pnpm).is_empty());
    }

    #[test]
    fn versions_are_compared_as_their_ecosystem_does() {
        let is = |language, version| {
            let own =
                Pinned { language, version: "1.0".to_owned(), ..of_registry("a", "", &Value::Null, "") };
            own.is(language, "a", version)
        };
        assert!(is(Language::Python, "1.0.0") && is(Language::Python, "1.0") && !is(Language::Python, "1.1"));
        assert!(is(Language::JavaScript, "1.0") && !is(Language::JavaScript, "1.0.0"));
    }
}
