//! A `package.json`: what it names, and what an installation runs.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use super::{Broken, Unreadable};
use crate::paths;
use crate::tree::Tree;

/// The name of the file.
pub const NAME: &str = "package.json";

/// Keys with packages and their versions.
pub(super) const GROUPS: &[&str] = &["dependencies", "devDependencies", "optionalDependencies"];

/// Those of them that code needs when it runs.
const RUN: &[&str] = &["dependencies", "optionalDependencies"];

/// Conditions in `exports` that hold for an import in Node.js.
const IMPORT: &[&str] = &["import", "node", "node-addons", "module-sync", "default"];

/// Pointers to versions that override those of other packages.
const OVERRIDES: &[&str] = &["/overrides", "/resolutions", "/pnpm/overrides"];

/// Pointer to the overrides of pnpm.
const PNPM_OVERRIDES: &str = "/pnpm/overrides";

/// Pointers to patches of packages.
const PATCHES: &[&str] = &["/patchedDependencies", "/pnpm/patchedDependencies"];

/// Scripts that run during an installation, and may need the source.
const LIFECYCLE: &[&str] =
    &["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish"];

/// Programs that install Git hooks. They do nothing in an image, which has no repository.
const GIT_HOOKS: &[&str] = &["husky", "husky install"];

/// The content of a `package.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest(Rc<Value>);

/// Reads that of `directory`, if it has one.
pub fn find(directory: &str, files: &Tree) -> Option<Result<Manifest, Unreadable>> {
    let path = paths::join(directory, NAME);
    let manifest = super::parsed(&path, read, files)?.map(Rc::unwrap_or_clone);
    Some(manifest.map_err(|broken| Unreadable { path, broken }))
}

/// Reads the content of a `package.json`, which is strict JSON.
pub fn read(text: &str) -> Result<Manifest, Broken> {
    match serde_json::from_str(text) {
        Ok(manifest @ Value::Object(_)) => Ok(Manifest(Rc::new(manifest))),
        Ok(_) => Err(Broken::new(0..text.len(), "expected an object")),
        Err(error) => {
            let whole = error.to_string();
            let message = whole.split(" at line ").next().unwrap_or_default();
            let message = if error.is_eof() { "unexpected end of file" } else { message };
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let start = text.floor_char_boundary(at);
            Err(Broken::new(start..text.ceil_char_boundary(start + 1), message))
        }
    }
}

impl Manifest {
    /// The name of the package.
    pub fn name(&self) -> Option<&str> {
        self.0["name"].as_str()
    }

    /// Whether it is private, and thus in no public registry.
    pub fn is_private(&self) -> bool {
        self.0["private"] == true
    }

    /// The range of Node.js versions that it requires, as written.
    pub fn node(&self) -> Option<&str> {
        self.0["engines"]["node"].as_str()
    }

    /// The name of the package manager that it asks for.
    pub fn manager(&self) -> Option<&str> {
        let named =
            self.package_manager().or_else(|| self.0["devEngines"]["packageManager"]["name"].as_str());
        named.map(|name| name.split('@').next().unwrap_or(name))
    }

    /// The version of the package manager that it asks for, without the checksum.
    pub fn manager_version(&self) -> Option<&str> {
        let (_, version) = self.package_manager()?.split_once('@')?;
        let version = version.split('+').next()?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        (version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(is_part)).then_some(version)
    }

    /// Whether it names Yarn 2 or later.
    pub fn has_modern_yarn(&self) -> bool {
        let version = self.manager_version().filter(|_| self.manager() == Some("yarn"));
        version.and_then(|version| version.split('.').next()).is_some_and(|major| major != "1")
    }

    fn package_manager(&self) -> Option<&str> {
        self.0["packageManager"].as_str()
    }

    /// The patterns of the members of its workspace; null if it is not the root of one.
    pub fn workspaces(&self) -> &Value {
        let workspaces = &self.0["workspaces"];
        workspaces.get("packages").unwrap_or(workspaces)
    }

    /// The packages that it requires, as name and version.
    pub fn requirements(&self) -> impl Iterator<Item = (&str, &str)> {
        let groups = GROUPS.iter().filter_map(|group| self.0[*group].as_object());
        groups.flatten().filter_map(|(name, version)| Some((name.as_str(), version.as_str()?)))
    }

    /// The packages that an installation cannot do without, as group, name and version.
    pub(super) fn needed(&self) -> impl Iterator<Item = (&'static str, &str, &str)> {
        let groups = GROUPS.iter().filter(|group| **group != "optionalDependencies");
        groups.flat_map(|group| {
            let packages = self.0[*group].as_object().into_iter().flatten();
            packages.filter_map(|(name, version)| Some((*group, name.as_str(), version.as_str()?)))
        })
    }

    /// Whether it names the package, or expects that its users do.
    pub(crate) fn names_package(&self, name: &str) -> bool {
        GROUPS.iter().chain(&["peerDependencies"]).any(|group| self.0[*group].get(name).is_some())
    }

    /// Whether it overrides versions of packages.
    pub(super) fn has_overrides(&self) -> bool {
        OVERRIDES.iter().any(|place| self.0.pointer(place).is_some())
    }

    /// The versions that pnpm takes instead of those that packages require; `None` if some hold for a part of them only, or
    /// another key may have more.
    pub(super) fn replacements(&self) -> Option<BTreeMap<&str, &str>> {
        let Some(overrides) = self.0.pointer(PNPM_OVERRIDES) else {
            return (!self.has_overrides()).then(BTreeMap::new);
        };
        let is_plain = |name: &str, version: &str| {
            let is_other = version.starts_with(['$', '-']) || version.contains(':');
            !name.trim_start_matches('@').contains(['@', '>']) && !is_other
        };
        let all =
            overrides.as_object()?.iter().map(|(name, version)| Some((name.as_str(), version.as_str()?)));
        let all: BTreeMap<&str, &str> = all.collect::<Option<_>>()?;
        let is_only = self.0["resolutions"].is_null();
        (is_only && all.iter().all(|(name, version)| is_plain(name, version))).then_some(all)
    }

    /// Whether it names no packages.
    pub fn is_empty(&self) -> bool {
        self.requirements().next().is_none()
    }

    /// A script that an installation runs, and that may need the source.
    pub fn lifecycle_script(&self) -> Option<&'static str> {
        let needs_source = |script: &&&str| {
            self.0["scripts"][**script].as_str().is_some_and(|command| {
                !GIT_HOOKS.contains(&command.trim().trim_end_matches("|| true").trim_end())
            })
        };
        LIFECYCLE.iter().find(needs_source).copied()
    }

    /// Whether it has a script that builds the project.
    pub fn has_build_script(&self) -> bool {
        self.0["scripts"]["build"].is_string()
    }

    /// The file that an import of the package loads, if it names one that is built.
    pub fn compiled_entry(&self) -> Option<&str> {
        let entry = match self.0.get("exports") {
            Some(exports) => target(exports.get(".").unwrap_or(exports)),
            None => self.0["main"].as_str(),
        };
        entry.filter(|path| [".js", ".mjs", ".cjs"].iter().any(|ending| path.ends_with(ending)))
    }

    /// Whether others may import the file at `path` in it, such as `./lib/a`, by its `exports`. Without those, all files.
    pub fn exports(&self, path: &str) -> bool {
        let Some(exports) = self.0["exports"].as_object() else {
            return self.0["exports"].is_null() || path == ".";
        };
        let matches = |pattern: &String| match pattern.split_once('*') {
            Some((start, end)) => path.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
            None => pattern == path || pattern.ends_with('/') && path.starts_with(&**pattern),
        };
        // Without paths, they are conditions of the package itself.
        let has_paths = exports.keys().any(|key| key.starts_with('.'));
        if has_paths { exports.keys().any(matches) } else { path == "." }
    }

    /// The names of the packages that its code imports when it runs.
    pub fn imported(&self) -> impl Iterator<Item = &str> {
        let groups = RUN.iter().filter_map(|group| self.0[*group].as_object());
        groups.flat_map(|group| group.keys().map(String::as_str))
    }

    /// All versions, also those that override others, with the names of their packages.
    pub fn versions(&self) -> Vec<(&str, &str)> {
        let overrides = OVERRIDES.iter().filter_map(|place| self.0.pointer(place));
        self.requirements().chain(overrides.flat_map(strings)).collect()
    }

    /// The paths of patches, relative to its directory.
    pub fn patches(&self) -> impl Iterator<Item = &str> {
        let patches = PATCHES.iter().filter_map(|place| self.0.pointer(place));
        patches.flat_map(strings).map(|(_, path)| path)
    }
}

/// The file that Node.js imports for a value in `exports`: that of the first condition which holds, at any depth.
fn target(value: &Value) -> Option<&str> {
    match value {
        Value::Object(conditions) => {
            let holds = conditions.iter().filter(|(condition, _)| IMPORT.contains(&condition.as_str()));
            holds.into_iter().find_map(|(_, value)| target(value))
        }
        Value::Array(alternatives) => alternatives.iter().find_map(target),
        path => path.as_str(),
    }
}

/// All strings in an object, which may be nested, with their keys.
pub(super) fn strings(object: &Value) -> Vec<(&str, &str)> {
    let entries = object.as_object().into_iter().flatten();
    let all = entries.map(|(name, value)| match value.as_str() {
        Some(text) => vec![(name.as_str(), text)],
        None => strings(value),
    });
    all.flatten().collect()
}
