//! Settings that uv reads in its working directory.

use toml::{Table, Value};

use crate::files::Files;
use crate::manifests::pyproject::{read, table};
use crate::paths;
use crate::tree::Tree;

/// Keys of `tool.uv` that affect neither resolution nor builds.
const HARMLESS: &[&str] = &[
    "add-bounds",
    "build-backend",
    "cache-keys",
    "check-url",
    "conflicts",
    "default-groups",
    "dependency-groups",
    "dev-dependencies",
    "environments",
    "managed",
    "package",
    "publish-url",
    "required-environments",
    "sources",
    "trusted-publishing",
    "workspace",
];

/// Keys that can name directories.
const PLACES: &[&str] = &["extra-index-url", "find-links", "index", "index-url", "pip"];

/// Keys that name indexes.
const INDEXES: &[&str] = &["extra-index-url", "index", "index-url"];

/// Settings of uv that affect installations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UvSettings {
    /// The directory they are read in, relative to the configuration's.
    pub directory: String,
    /// The files they are read from, relative to the configuration's directory.
    pub manifests: Vec<String>,
    /// Whether one of them names a directory of the source.
    pub need_source: bool,
    /// Whether one of them names an index.
    pub has_index: bool,
}

/// The settings in `directory`, if any.
pub fn uv_settings(directory: &str, files: &Tree) -> Option<UvSettings> {
    let pyproject = paths::join(directory, "pyproject.toml");
    let own = paths::join(directory, "uv.toml");
    let has_own = files.is_file(&own);
    let settings = match files.text(if has_own { &own } else { &pyproject })? {
        text if has_own => read(&text).unwrap_or_default(),
        // Parsing takes longer than this look, and most have no settings.
        text if text.contains("uv") => table(&read(&text).ok()?, &["tool", "uv"])?.clone(),
        _ => return None,
    };
    if !has_own && settings.keys().all(|key| HARMLESS.contains(&key.as_str())) {
        return None;
    }
    let need_source = PLACES.iter().filter_map(|key| settings.get(*key)).any(has_directory);
    let has_index = names_index(&settings) || table(&settings, &["pip"]).is_some_and(names_index);
    let mut manifests = vec![pyproject, own];
    manifests.retain(|file| files.is_file(file));
    Some(UvSettings { directory: directory.to_owned(), manifests, need_source, has_index })
}

/// The settings for the requirements of `directory`: its own, or else the project's.
pub fn uv_settings_for(directory: &str, files: &Tree) -> Option<UvSettings> {
    [directory, "."].into_iter().find_map(|directory| uv_settings(directory, files))
}

fn names_index(settings: &Table) -> bool {
    INDEXES.iter().any(|key| settings.contains_key(*key))
}

/// Whether a place is a path: it has no scheme, or `file:`.
fn has_directory(value: &Value) -> bool {
    let is_path = |place: &Value| {
        place.as_str().is_some_and(|place| !place.contains("://") || place.starts_with("file:"))
    };
    match value {
        Value::Array(all) => all.iter().any(has_directory),
        // An index, or the table `pip` with its own places.
        Value::Table(table) if table.contains_key("url") => table.get("url").is_some_and(is_path),
        Value::Table(table) => PLACES.iter().filter_map(|key| table.get(*key)).any(has_directory),
        place => is_path(place),
    }
}
