//! The project above a configuration whose own directory has no manifest.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::compiler::files::Files;
use crate::compiler::front::check::{Context, entry, packages, written};
use crate::compiler::manifests::dependency::{Dependency, Local, classify};
use crate::compiler::manifests::requirement::{self, normalized_name};
use crate::compiler::manifests::requirements_txt::{self, Kind};
use crate::compiler::manifests::symbols::Module;
use crate::compiler::manifests::{import_names, package};
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer, Related};

/// Directories above the configuration that are searched.
const LEVELS: usize = 3;

/// A project whose directory is not among the `dependencies`.
pub(super) struct Above {
    directory: String,
    manifest: String,
    /// The entry `.` of `dependencies`.
    entry: Place,
    requirements: BTreeSet<String>,
}

impl Above {
    /// The nearest one above the configuration, if `.` is among the `dependencies` and has no manifest of its own.
    pub(super) fn find(context: &Context<'_>) -> Option<Self> {
        let files = context.files;
        let own = context.locals.iter().find(|local| local.path == "." && local.is_directory())?;
        if own.is_project() || requirements_txt::find(".", files).is_some() {
            return None;
        }
        let directories = (1..=LEVELS).map(|levels| vec![".."; levels].join("/"));
        let (local, manifest) = directories.map(|path| Local::new(None, path, files)).find_map(|local| {
            let names = ["pyproject.toml", "setup.py", "setup.cfg"];
            let name = names.into_iter().find(|name| files.is_file(&paths::join(&local.path, name)));
            let manifest = match name.filter(|_| local.is_project()) {
                Some(name) => paths::join(&local.path, name),
                None => requirements_txt::find(&local.path, files)?.path,
            };
            Some((local, manifest))
        })?;
        if context.all_locals.iter().any(|other| other.path == local.path) {
            return None;
        }
        let entry = Place::Value(entry(own.index));
        let requirements = requirements(&local, context);
        Some(Self { directory: local.path, manifest, entry, requirements })
    }

    /// Whether its code or one of its requirements, and none of the `dependencies`, gives `module`.
    pub(super) fn provides(&self, context: &Context<'_>, module: &str) -> bool {
        let names = import_names::distributions(module).unwrap_or_else(|| vec![normalized_name(module)]);
        let is_listed = context.config.entries().any(|(_, text)| match classify(text, context.files) {
            Dependency::Package(text) => requirement::name(&text).is_some_and(|name| names.contains(&name)),
            Dependency::Local { .. } => false,
        });
        let is_code = || {
            let roots = [self.directory.clone(), paths::join(&self.directory, "src")];
            roots.iter().any(|root| super::search_path::has(context, root, module))
        };
        !is_listed && (is_code() || names.iter().any(|name| self.requirements.contains(name)))
    }

    /// Reports that it is not listed, and the file at `path` imports something of it.
    pub(super) fn unlisted(
        &self,
        path: &str,
        module: &Module,
        (name, span): (&str, Range<usize>),
    ) -> Diagnostic {
        let (manifest, directory) = (written(&self.manifest), &self.directory);
        let message = format!("`{}` imports `{name}`, which comes with `{manifest}` only", written(path));
        let list = Place::Value(Pointer::parse("/dependencies"));
        Diagnostic::new(&packages::UNINSTALLED_REQUIREMENTS, self.entry.clone(), message)
            .related(Related::new(path, module.text(), span, "imported here"))
            .help(format!("write `\"dependencies\": [\".\", \"{directory}\"]`"))
            .fix(Fix::likely(list, Edit::item(directory)))
    }
}

/// The normalised names of its requirements, as far as they are known.
fn requirements(local: &Local, context: &Context<'_>) -> BTreeSet<String> {
    let mut texts = Vec::new();
    if local.is_project() {
        texts = package::metadata(local, context.files).requirements.unwrap_or_default();
    }
    for part in requirements_txt::parts(&local.path, context.files) {
        texts.extend(part.entries.iter().flatten().filter_map(|entry| match &entry.kind {
            Kind::Requirement(text) => Some(text.clone()),
            _ => None,
        }));
    }
    texts.iter().filter_map(|text| requirement::name(text)).collect()
}
