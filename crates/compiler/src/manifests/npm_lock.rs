//! The lock files of package managers: do they have what the manifests require?

use std::collections::BTreeMap;

use nodejs_semver::{Range, Version};
use serde_json::{Map, Value};

use super::installation::Installation;
use super::package_json::{self, Manifest};
use super::package_manager::PNPM_WORKSPACE;
use super::yaml;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// A package for which manifest and lock file differ, so that the package manager refuses both.
#[derive(Debug)]
pub struct Outdated {
    /// The lock file.
    pub lock: String,
    /// The package.json.
    pub manifest: String,
    /// The package.
    pub name: String,
    /// What the lock file has of it; none if it does not have the package.
    pub locked: Option<String>,
    /// Whether the package.json requires it.
    pub is_required: bool,
}

/// The first such package; none if that is not certain.
pub fn outdated(installation: &Installation, files: &Tree) -> Option<Outdated> {
    // npm prefers npm-shrinkwrap.json, which is the last.
    let lock = installation.locks.last()?;
    let text = files.text(lock)?;
    let content = match installation.manager.name {
        "npm" => serde_json::from_str(&text).ok()?,
        "pnpm" => yaml::read(section(&text, "importers")?).ok()?,
        "bun" => yaml::read(&workspaces(&text)?).ok()?,
        _ => return None,
    };
    let members = ["packages", "importers", "workspaces"].iter().find_map(|key| content[key].as_object())?;
    let root = paths::components(&installation.root, &files.directory()).len();
    let manifest = |directory: &String| package_json::find(directory, files)?.ok();
    let first = manifest(installation.directories.first()?)?;
    let is_pnpm = installation.manager.name == "pnpm";
    // A pnpmfile may change what the manifests require, and so may the settings of a workspace.
    let is_open = text.contains("\npnpmfileChecksum:") || is_overridden_by_workspace(installation, files);
    let replaced = if is_pnpm { first.replacements() } else { (!first.has_overrides()).then(BTreeMap::new) };
    let replaced = replaced.filter(|it| !is_open && (!it.is_empty() || !text.contains("\noverrides:")));
    if is_pnpm
        && let Some(replaced) = &replaced
        && let Some((name, locked)) = other_replacement(replaced, &text)
    {
        let manifest = paths::join(installation.directories.first()?, package_json::NAME);
        return Some(Outdated { lock: lock.clone(), manifest, name, locked, is_required: true });
    }
    installation.directories.iter().find_map(|directory| {
        let own = manifest(directory)?;
        let here = paths::components(directory, &files.directory()).get(root..)?.join("/");
        let (name, locked, is_required) = match installation.manager.name {
            "npm" => {
                members.get("")?;
                let (name, locked) = unsatisfied(&own, &here, members)?;
                (name, locked, true)
            }
            _ => {
                let place = members.get(if here.is_empty() { "." } else { &here });
                match place.or_else(|| members.get(&here)) {
                    Some(place) => changed(&own, replaced.as_ref()?, place)?,
                    // pnpm has each package of the workspace here, also one that requires nothing.
                    None if is_pnpm => (own.name().unwrap_or(&here), None, true),
                    None => return None,
                }
            }
        };
        let (lock, manifest) = (lock.clone(), paths::join(directory, package_json::NAME));
        Some(Outdated { lock, manifest, name: name.to_owned(), locked, is_required })
    })
}

/// Whether the settings of a pnpm workspace override versions.
fn is_overridden_by_workspace(installation: &Installation, files: &Tree) -> bool {
    let path = paths::join(&installation.root, PNPM_WORKSPACE);
    files.text(&path).is_some_and(|text| text.lines().any(|line| line.starts_with("overrides:")))
}

/// The first package that the manifest and the lock file of pnpm override in different ways, with the version in the latter.
fn other_replacement(replaced: &BTreeMap<&str, &str>, text: &str) -> Option<(String, Option<String>)> {
    let locked = match section(text, "overrides") {
        Some(part) => yaml::read(part).ok()?,
        None => Value::Null,
    };
    let locked = |name: &str| locked["overrides"].get(name).and_then(Value::as_str).map(str::to_owned);
    let name = replaced.iter().find(|(name, version)| locked(name).as_deref() != Some(version))?.0;
    Some(((*name).to_owned(), locked(name)))
}

/// The part of a pnpm-lock.yaml that begins with this key.
fn section<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let text = &text[text.find(&format!("\n{key}:"))? + 1..];
    let lines = text.match_indices('\n').map(|(at, _)| at + 1);
    let end = lines.skip(1).find(|&at| text[at..].starts_with(|c: char| c.is_ascii_alphabetic()));
    Some(&text[..end.unwrap_or(text.len())])
}

/// The same part of a bun.lock. Its commas before closing brackets are YAML, and not JSON.
fn workspaces(text: &str) -> Option<String> {
    let (head, _) = text.split_once("\n  \"packages\"")?;
    Some(format!("{head}\n}}"))
}

/// The first package that the manifest requires in other versions than those that the lock file is made for at `place`, or
/// does not require any more, and whether it requires it.
fn changed<'m>(
    manifest: &'m Manifest,
    replaced: &BTreeMap<&str, &str>,
    place: &'m Value,
) -> Option<(&'m str, Option<String>, bool)> {
    let groups = || package_json::GROUPS.iter().filter_map(|group| place[*group].as_object());
    let written = |value: &Value| value.as_str().or_else(|| value["specifier"].as_str()).map(str::to_owned);
    let locked = |name: &str| groups().find_map(|group| group.get(name));
    let differs = |(_, name, wanted): (_, &'m str, &str)| {
        let wanted = replaced.get(name).copied().unwrap_or(wanted);
        match locked(name).map(written) {
            // A form that is not known.
            Some(None) => None,
            Some(Some(locked)) => (locked != wanted).then_some((name, Some(locked), true)),
            None => Some((name, None, true)),
        }
    };
    let removed = || {
        let names = groups().flatten().find(|(name, _)| !manifest.names_package(name));
        names.map(|(name, value)| (name.as_str(), written(value), false))
    };
    manifest.needed().find_map(differs).or_else(removed)
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
    fn lock_files_name_the_requirements_that_they_are_made_for() {
        let bun = "{\n  \"workspaces\": {\n    \"\": {\n      \"dependencies\": {\n        \"a\": \"^1\",\n        \"b\": \"1\",\n      },\n    },\n  },\n  \"packages\": {\n    \"a\": [],\n  }\n}\n";
        let bun = yaml::read(&workspaces(bun).unwrap()).unwrap();
        let pnpm = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      a:\n        specifier: ^1\n        version: 1.0.0\n      b:\n        specifier: '1'\n        version: 1.0.0\n\npackages:\n\n  {\n";
        let pnpm = yaml::read(section(pnpm, "importers").unwrap()).unwrap();
        for place in [&bun["workspaces"][""], &pnpm["importers"]["."]] {
            for (manifest, expected) in [
                (json!({ "dependencies": { "a": "^1", "b": "1" } }), None),
                (json!({ "devDependencies": { "a": "^1" }, "peerDependencies": { "b": "1" } }), None),
                (json!({ "dependencies": { "a": "^2", "b": "1" } }), Some(("a", Some("^1"), true))),
                (json!({ "dependencies": { "a": "^1", "b": "1", "c": "*" } }), Some(("c", None, true))),
                (json!({ "dependencies": { "a": "^1" } }), Some(("b", Some("1"), false))),
            ] {
                let manifest = package_json::read(&manifest.to_string()).unwrap();
                let found = changed(&manifest, &BTreeMap::new(), place);
                let found = found.as_ref().map(|(name, locked, is)| (*name, locked.as_deref(), *is));
                assert_eq!(found, expected, "{place} {manifest:?}");
            }
        }
    }

    #[test]
    fn overrides_of_pnpm_are_those_of_the_lock_file() {
        let lock = "lockfileVersion: '9.0'\n\noverrides:\n  a: 1.2.3\n\nimporters:\n\n  .:\n    dependencies:\n      a:\n        specifier: 1.2.3\n        version: 1.2.3\n";
        let pnpm = yaml::read(section(lock, "importers").unwrap()).unwrap();
        for (overrides, other, changed_one) in [
            (json!({ "a": "1.2.3" }), None, None),
            (json!({ "a": "^1" }), Some(("a", Some("1.2.3"))), Some("a")),
            (json!({ "a": "1.2.3", "b": "2" }), Some(("b", None)), None),
        ] {
            let text =
                json!({ "dependencies": { "a": "^1" }, "pnpm": { "overrides": overrides } }).to_string();
            let manifest = package_json::read(&text).unwrap();
            let replaced = manifest.replacements().unwrap();
            let found = other_replacement(&replaced, lock);
            let found = found.as_ref().map(|(name, locked)| (name.as_str(), locked.as_deref()));
            assert_eq!(found, other, "{text}");
            let found = changed(&manifest, &replaced, &pnpm["importers"]["."]).map(|(name, ..)| name);
            assert_eq!(found, changed_one, "{text}");
        }
        for overrides in
            [json!({ "a>b": "1" }), json!({ "a@1": "2" }), json!({ "a": "$b" }), json!({ "a": "npm:b@1" })]
        {
            let text = json!({ "pnpm": { "overrides": overrides } }).to_string();
            assert!(package_json::read(&text).unwrap().replacements().is_none(), "{text}");
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
