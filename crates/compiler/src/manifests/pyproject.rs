//! `pyproject.toml`.

use std::ops::Range;
use std::rc::Rc;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::Broken;
use crate::paths;
use crate::tree::Tree;

/// The `pyproject.toml` of a directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Pyproject {
    /// There is none.
    Absent,
    /// It is not TOML, or cannot be read.
    Broken(Broken),
    /// Its content.
    Manifest(Rc<Table>),
}

impl Pyproject {
    /// Reads that of `directory`.
    pub fn read(directory: &str, files: &Tree) -> Self {
        let path = paths::join(directory, "pyproject.toml");
        let parsed = files.parsed(&path, || match super::text(&path, files) {
            None => Self::Absent,
            Some(text) => {
                let manifest = text.and_then(|text| read(&text));
                manifest.map_or_else(Self::Broken, |manifest| Self::Manifest(Rc::new(manifest)))
            }
        });
        Self::clone(&parsed)
    }

    /// Whether it describes a project that can be installed, and not only settings of tools. A broken one may.
    pub fn is_project(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::Broken(_) => true,
            Self::Manifest(manifest) => {
                let has = |key| manifest.contains_key(key);
                has("project") || has("build-system") || table(manifest, &["tool", "poetry"]).is_some()
            }
        }
    }

    /// Whether setuptools builds the project, as it does if there is no build backend.
    pub fn is_built_by_setuptools(&self) -> bool {
        let Self::Manifest(manifest) = self else { return *self == Self::Absent };
        let backend = table(manifest, &["build-system"]).and_then(|it| it.get("build-backend"));
        backend.and_then(Value::as_str).is_none_or(|it| it.starts_with("setuptools"))
    }

    /// The requirements in `project.dependencies`.
    pub fn requirements(&self) -> Option<impl Iterator<Item = &str>> {
        let Self::Manifest(manifest) = self else { return None };
        Some(table(manifest, &["project"])?.get("dependencies")?.as_array()?.iter().filter_map(Value::as_str))
    }

    /// The project's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        let Self::Manifest(manifest) = self else { return None };
        let named = |path: &[&str]| table(manifest, path)?.get("name")?.as_str();
        named(&["project"]).or_else(|| named(&["tool", "poetry"]))
    }
}

/// Reads TOML, which may start with a byte order mark.
pub fn read(text: &str) -> Result<Table, Broken> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.parse().map_err(|error: toml::de::Error| {
        Broken::new(error.span().unwrap_or_default(), error.message().lines().next().unwrap_or_default())
    })
}

/// The string at `key`.
pub fn string(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_owned)
}

/// The strings in the list at `key`.
pub fn strings(table: &Table, key: &str) -> Vec<String> {
    let items = table.get(key).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The strings in `project.dependencies` of the manifest `text`, with their byte ranges, quotes included.
pub fn dependencies(text: &str) -> Vec<(String, Range<usize>)> {
    let Ok(manifest) = DeTable::parse(text) else { return Vec::new() };
    let list = value(manifest.get_ref(), &["project", "dependencies"]).and_then(|it| it.get_ref().as_array());
    let item = |it: &Spanned<DeValue<'_>>| Some((it.get_ref().as_str()?.to_owned(), it.span()));
    list.into_iter().flatten().filter_map(item).collect()
}

/// The byte range of the value at `path` of the manifest `text`, quotes included.
pub fn span(text: &str, path: &[&str]) -> Option<Range<usize>> {
    Some(value(DeTable::parse(text).ok()?.get_ref(), path)?.span())
}

fn value<'a, 'text>(root: &'a DeTable<'text>, path: &[&str]) -> Option<&'a Spanned<DeValue<'text>>> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(root.get(*first)?, |value, key| value.get_ref().get(*key))
}

/// The table at the end of `path`.
pub fn table<'a>(root: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(root, |table, key| table.get(*key)?.as_table())
}
