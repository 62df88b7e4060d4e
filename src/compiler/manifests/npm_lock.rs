//! npm's lock file: does it have what the manifests require?

use nodejs_semver::{Range, Version};
use serde_json::{Map, Value};

use super::installation::Installation;
use super::package_json::{self, Manifest};
use crate::compiler::files::Files;
use crate::compiler::paths;
use crate::compiler::tree::Tree;

/// A requirement that the lock file does not satisfy, so that `npm ci` refuses both.
#[derive(Debug)]
pub struct Outdated {
    /// The lock file.
    pub lock: String,
    /// The package.json with the requirement.
    pub manifest: String,
    /// The required package.
    pub name: String,
    /// Its locked version; none if the lock file does not have the package.
    pub locked: Option<String>,
}

/// The first requirement that the lock file does not satisfy; none if that is not certain.
pub fn outdated(installation: &Installation, files: &Tree) -> Option<Outdated> {
    if installation.manager.name != "npm" {
        return None;
    }
    // npm prefers npm-shrinkwrap.json, which is the last.
    let lock = installation.locks.last()?;
    let content: Value = serde_json::from_str(&files.text(lock)?).ok()?;
    let packages = content["packages"].as_object().filter(|packages| packages.contains_key(""))?;
    let root = paths::components(&installation.root, &files.directory()).len();
    installation.directories.iter().find_map(|directory| {
        let manifest = package_json::find(directory, files)?.ok()?;
        let here = paths::components(directory, &files.directory()).get(root..)?.join("/");
        let (name, locked) = unsatisfied(&manifest, &here, packages)?;
        let (lock, manifest) = (lock.clone(), paths::join(directory, package_json::NAME));
        Some(Outdated { lock, manifest, name: name.to_owned(), locked })
    })
}

/// The first requirement of the package at `here` that `packages` do not satisfy, with the version there.
fn unsatisfied<'m>(
    manifest: &'m Manifest,
    here: &str,
    packages: &Map<String, Value>,
) -> Option<(&'m str, Option<String>)> {
    manifest.needed().find_map(|(group, name, wanted)| {
        let known = packages.get(here).and_then(|own| own[group][name].as_str());
        if known == Some(wanted) {
            return None;
        }
        let Some(entry) = entry(name, here, packages) else { return Some((name, None)) };
        let version = entry["version"].as_str()?;
        let (range, locked) = (Range::parse(wanted).ok()?, Version::parse(version).ok()?);
        let is_certain = locked.pre_release().is_empty() && !manifest.has_overrides();
        (is_certain && !locked.satisfies(&range)).then(|| (name, Some(version.to_owned())))
    })
}

/// The package that Node.js finds for `name` from the directory `here`.
fn entry<'p>(name: &str, here: &str, packages: &'p Map<String, Value>) -> Option<&'p Value> {
    let ends = here.rmatch_indices('/').map(|(at, _)| at);
    let directories = [here.len()].into_iter().chain(ends).chain([0]).map(|end| &here[..end]);
    directories
        .map(|at| format!("{at}/node_modules/{name}"))
        .find_map(|key| packages.get(key.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_compared_with_the_lock_file() {
        let packages = json!({
            "": { "dependencies": { "same": "^9" } },
            "node_modules/a": { "version": "1.2.3" },
            "node_modules/same": { "version": "1.0.0" },
            "node_modules/linked": { "link": true, "resolved": "packages/linked" },
            "packages/b/node_modules/a": { "version": "2.0.0" },
        });
        let packages = packages.as_object().unwrap();
        for (here, requirements, expected) in [
            ("", json!({ "a": "^1.2.0" }), None),
            ("", json!({ "a": "^2" }), Some(("a", Some("1.2.3")))),
            ("", json!({ "b": "^2" }), Some(("b", None))),
            ("", json!({ "same": "^9", "linked": "*", "a": "npm:other@^3" }), None),
            ("", json!({ "a": "latest" }), None),
            ("packages/b", json!({ "a": "^2" }), None),
            ("packages/c", json!({ "a": "^2" }), Some(("a", Some("1.2.3")))),
        ] {
            let text = json!({ "dependencies": requirements }).to_string();
            let manifest = package_json::read(&text).unwrap();
            let found = unsatisfied(&manifest, here, packages);
            let found = found.as_ref().map(|(name, locked)| (*name, locked.as_deref()));
            assert_eq!(found, expected, "{here} {text}");
        }
    }

    #[test]
    fn optional_and_overridden_packages_are_not_compared() {
        let packages = json!({ "node_modules/a": { "version": "1.0.0" } });
        for manifest in [
            json!({ "optionalDependencies": { "b": "1" } }),
            json!({ "dependencies": { "a": "^2" }, "overrides": { "a": "1.0.0" } }),
        ] {
            let manifest = package_json::read(&manifest.to_string()).unwrap();
            assert_eq!(unsatisfied(&manifest, "", packages.as_object().unwrap()), None);
        }
    }
}
