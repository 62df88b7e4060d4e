//! A directory's `pyproject.toml`, read and parsed in one place for all who ask.

use toml::Table;

use crate::compiler::files::Files;
use crate::compiler::paths;

/// What stands in a directory as `pyproject.toml`.
#[derive(Clone, Debug, PartialEq)]
pub enum Pyproject {
    /// No file that can be read.
    Absent,
    /// A file that is not TOML.
    Invalid,
    /// A manifest.
    Manifest(Table),
}

impl Pyproject {
    /// Reads that of `directory`.
    pub fn read(directory: &str, files: &dyn Files) -> Self {
        match files.text(&paths::join(directory, "pyproject.toml")) {
            None => Self::Absent,
            Some(text) => parsed(&text).map_or(Self::Invalid, Self::Manifest),
        }
    }

    /// Whether it describes a project that can be installed, and not only how tools are to behave.
    pub fn is_project(&self) -> bool {
        let has = |key| matches!(self, Self::Manifest(manifest) if manifest.contains_key(key));
        has("project") || has("build-system") || self.table(&["tool", "poetry"]).is_some()
    }

    /// The project's name, where it says one.
    pub fn name(&self) -> Option<&str> {
        let named = |path: &[&str]| self.table(path)?.get("name")?.as_str();
        named(&["project"]).or_else(|| named(&["tool", "poetry"]))
    }

    fn table(&self, path: &[&str]) -> Option<&Table> {
        let Self::Manifest(manifest) = self else { return None };
        table(manifest, path)
    }
}

/// A file of TOML, which may start with a byte order mark.
pub fn parsed(text: &str) -> Option<Table> {
    text.trim_start_matches('\u{feff}').parse().ok()
}

/// The table at the end of `path`.
pub fn table<'a>(root: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(root, |table, key| table.get(*key)?.as_table())
}
