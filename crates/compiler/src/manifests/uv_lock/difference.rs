//! Whether the requirements of a manifest are still those that a lock was made from.
//!
//! Only certain differences count: conditions are not compared, and requirements that cannot be read are equal to any.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::{Package, Required};
use crate::manifests::pyproject::table;
use crate::manifests::requirement::{self, normalized_name};

/// A requirement that a lock and a manifest do not agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The manifest has it, as written, and the lock does not.
    Added(String),
    /// The manifest has it, as written, and the lock has other versions or extras, or takes it from another kind of place.
    Changed(String),
    /// The lock has a requirement with this name, and the manifest does not.
    Removed(String),
    /// The manifest has this name, and the lock another one.
    Renamed(String),
}

/// The extra that a requirement belongs to, if any, and its name.
type Key = (Option<String>, String);

/// Extras and versions of a requirement; no versions if it does not come from an index.
type Content = BTreeSet<(Vec<String>, Option<String>)>;

impl Package {
    /// The first difference to the `manifest` of the package, in a workspace whose root has the manifest `root`.
    pub fn difference(&self, manifest: &Table, root: &Table) -> Option<Difference> {
        let name = table(manifest, &["project"]).and_then(|project| project.get("name")?.as_str());
        if let Some(name) = name.filter(|name| normalized_name(name) != self.name) {
            return Some(Difference::Renamed(name.to_owned()));
        }
        let is_elsewhere = |name: &str| [manifest, root].iter().any(|it| redirects(it, name));
        let written = written(manifest, &is_elsewhere)?;
        let mut locked: BTreeMap<Key, Content> = BTreeMap::new();
        for required in &self.metadata.requires_dist {
            let key = (required.of_extra(), required.name.clone());
            locked.entry(key).or_default().insert(required.content()?);
        }
        for (key, (text, content)) in &written {
            match locked.get(key) {
                None => return Some(Difference::Added(text.clone())),
                Some(locked) if locked != content && !is_mixed(locked) => {
                    return Some(Difference::Changed(text.clone()));
                }
                Some(_) => {}
            }
        }
        let removed = locked.into_keys().find(|key| !written.contains_key(key));
        removed.map(|(_, name)| Difference::Removed(name))
    }
}

impl Required {
    fn of_extra(&self) -> Option<String> {
        let marker = self.marker.as_deref()?;
        let (_, rest) = marker.split_once("extra == '")?;
        Some(rest.split('\'').next()?.to_owned())
    }

    fn content(&self) -> Option<(Vec<String>, Option<String>)> {
        let mut extras = self.extras.clone();
        extras.sort();
        let places = [&self.git, &self.url, &self.path, &self.directory, &self.editable, &self.r#virtual];
        let is_elsewhere = places.iter().any(|place| place.is_some());
        let versions = match &self.specifier {
            _ if is_elsewhere => None,
            None => Some(String::new()),
            Some(specifier) => Some(requirement::normalized_versions(specifier)?),
        };
        Some((extras, versions))
    }
}

/// Whether a requirement comes from an index in some environments only.
fn is_mixed(content: &Content) -> bool {
    content.iter().any(|(_, versions)| versions.is_some())
        && content.iter().any(|(_, versions)| versions.is_none())
}

/// The requirements of `manifest`, with their text; `None` if they are computed or cannot be read.
fn written(
    manifest: &Table,
    is_elsewhere: &dyn Fn(&str) -> bool,
) -> Option<BTreeMap<Key, (String, Content)>> {
    let project = table(manifest, &["project"])?;
    let dynamic = project.get("dynamic").and_then(Value::as_array).into_iter().flatten();
    if dynamic.filter_map(Value::as_str).any(|key| key.ends_with("dependencies")) {
        return None;
    }
    let mut found: BTreeMap<Key, (String, Content)> = BTreeMap::new();
    let own = project.get("dependencies").map(|list| (None, list));
    let extras = project.get("optional-dependencies").and_then(Value::as_table).into_iter().flatten();
    let extras = extras.map(|(extra, list)| (Some(normalized_name(extra)), list));
    for (extra, list) in own.into_iter().chain(extras) {
        for text in list.as_array()?.iter().filter_map(Value::as_str) {
            let parts = requirement::parts(text)?;
            let versions = parts.versions.filter(|_| !is_elsewhere(&parts.name));
            let entry =
                found.entry((extra.clone(), parts.name)).or_insert_with(|| (text.to_owned(), Content::new()));
            entry.1.insert((parts.extras, versions));
        }
    }
    Some(found)
}

/// Whether `tool.uv.sources` of `manifest` takes the package with this normalised name from somewhere else than an index.
fn redirects(manifest: &Table, name: &str) -> bool {
    let sources = table(manifest, &["tool", "uv", "sources"]).into_iter().flatten();
    let mut sources = sources.filter(|(key, _)| normalized_name(key) == name).map(|(_, source)| source);
    sources.any(|source| {
        let several = source.as_array().map_or(std::slice::from_ref(source), Vec::as_slice);
        several.iter().any(|it| it.get("index").is_none())
    })
}
