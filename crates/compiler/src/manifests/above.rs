//! The project above a configuration whose own directory has no manifest.

use std::collections::BTreeSet;

use super::dependency::Local;
use super::requirement::{self, normalized_name};
use super::requirements_txt::{self, Kind};
use super::{import_names, package};
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Directories above the configuration that are searched.
const LEVELS: usize = 3;

/// A project whose directory is not among the `dependencies`.
#[derive(Clone, Debug)]
pub struct Above {
    /// Its directory, relative to the configuration's.
    pub directory: String,
    /// The file with its requirements.
    pub manifest: String,
    /// The normalised names of its requirements, as far as they are known.
    pub requirements: BTreeSet<String>,
}

impl Above {
    /// The nearest one above the configuration, if none of `locals` is it, and `own`, the configuration's directory, has no
    /// manifest.
    pub fn find<'a>(own: &Local, mut locals: impl Iterator<Item = &'a Local>, files: &Tree) -> Option<Self> {
        if own.is_project() || requirements_txt::find(".", files).is_some() {
            return None;
        }
        let directories = (1..=LEVELS).map(|levels| vec![".."; levels].join("/"));
        let (local, manifest) = directories.map(|path| Local::new(None, path, files)).find_map(|local| {
            let names = ["pyproject.toml", "setup.py", "setup.cfg"];
            let name = names.into_iter().find(|name| files.is_file(&paths::join(&local.path, name)));
            let manifest = match name.filter(|_| local.is_project()) {
                Some(name) => paths::join(&local.path, name),
                None => requirements_txt::find(&local.path, files)?.path.clone(),
            };
            Some((local, manifest))
        })?;
        if locals.any(|other| other.path == local.path) {
            return None;
        }
        let requirements = requirements(&local, files);
        Some(Self { directory: local.path, manifest, requirements })
    }

    /// The directories that its code may be in.
    pub fn roots(&self) -> [String; 2] {
        [self.directory.clone(), paths::join(&self.directory, "src")]
    }

    /// The change of the configuration that makes it a dependency.
    pub fn help(&self) -> String {
        format!("write `\"dependencies\": [\".\", \"{}\"]`", self.directory)
    }
}

/// The normalised names of the distributions of which one is needed to import `module`.
pub fn distributions(module: &str) -> Vec<String> {
    import_names::distributions(module).unwrap_or_else(|| vec![normalized_name(module)])
}

fn requirements(local: &Local, files: &Tree) -> BTreeSet<String> {
    let mut texts = Vec::new();
    if local.is_project() {
        texts = package::metadata(local, files).requirements.unwrap_or_default();
    }
    for part in requirements_txt::parts(&local.path, files) {
        texts.extend(part.entries.iter().flatten().filter_map(|entry| match &entry.kind {
            Kind::Requirement(text) => Some(text.clone()),
            _ => None,
        }));
    }
    texts.iter().filter_map(|text| requirement::name(text)).collect()
}
