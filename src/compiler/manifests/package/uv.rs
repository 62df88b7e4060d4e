//! What uv reads of a directory that it is started in.

use toml::Value;

use crate::compiler::files::Files;
use crate::compiler::manifests::pyproject::{read, table};
use crate::compiler::paths;

/// Keys of `tool.uv` that change neither where packages come from, nor which, nor how they are built.
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

/// Keys whose values may be directories.
const PLACES: &[&str] = &["extra-index-url", "find-links", "index", "index-url", "pip"];

/// Settings of uv that concern installations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UvSettings {
    /// The directory that they are read in, relative to the configuration's.
    pub directory: String,
    /// The files that they stand in, relative to the configuration's directory.
    pub manifests: Vec<String>,
    /// Whether some name a place in the source.
    pub need_source: bool,
}

/// The settings in `directory`, if there are any.
pub fn uv_settings(directory: &str, files: &dyn Files) -> Option<UvSettings> {
    let pyproject = paths::join(directory, "pyproject.toml");
    let own = paths::join(directory, "uv.toml");
    let has_own = files.is_file(&own);
    let settings = match files.text(if has_own { &own } else { &pyproject })? {
        text if has_own => read(&text).unwrap_or_default(),
        // To parse it takes longer than to look, and most have none.
        text if text.contains("uv") => table(&read(&text).ok()?, &["tool", "uv"])?.clone(),
        _ => return None,
    };
    if !has_own && settings.keys().all(|key| HARMLESS.contains(&key.as_str())) {
        return None;
    }
    let need_source = PLACES.iter().filter_map(|key| settings.get(*key)).any(has_directory);
    let mut manifests = vec![pyproject, own];
    manifests.retain(|file| files.is_file(file));
    Some(UvSettings { directory: directory.to_owned(), manifests, need_source })
}

/// The settings that count for what `directory` asks for: its own, else those of the project.
pub fn uv_settings_for(directory: &str, files: &dyn Files) -> Option<UvSettings> {
    [directory, "."].into_iter().find_map(|directory| uv_settings(directory, files))
}

/// Whether a place is given as a path: it has no scheme, or that of files.
fn has_directory(value: &Value) -> bool {
    let is_path = |place: &Value| {
        place.as_str().is_some_and(|place| !place.contains("://") || place.starts_with("file:"))
    };
    match value {
        Value::Array(all) => all.iter().any(has_directory),
        // An index, or uv's settings that only `uv pip` reads.
        Value::Table(table) if table.contains_key("url") => table.get("url").is_some_and(is_path),
        Value::Table(table) => PLACES.iter().filter_map(|key| table.get(*key)).any(has_directory),
        place => is_path(place),
    }
}
