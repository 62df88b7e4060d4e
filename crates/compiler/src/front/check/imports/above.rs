//! Imports that only the project above the configuration provides.

use super::imported_here;
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer};
use crate::front::check::{Context, entry, packages, written};
use crate::manifests::above::{self, Above};
use crate::manifests::dependency::{Dependency, classify};
use crate::manifests::requirement;
use crate::manifests::symbols::{Import, Module};

/// A project whose directory is not among the `dependencies`.
pub(super) struct Unlisted {
    project: Above,
    /// The entry `.` of `dependencies`.
    entry: Place,
}

impl Unlisted {
    /// The nearest one above the configuration, if `.` is among the `dependencies` and has no manifest of its own.
    pub(super) fn find(context: &Context<'_>) -> Option<Self> {
        let own = context.locals.iter().find(|local| local.path == "." && local.is_directory())?;
        let project = Above::find(own, context.all_locals.iter().map(AsRef::as_ref), context.files)?;
        Some(Self { project, entry: Place::Value(entry(own.index)) })
    }

    /// Whether its code or one of its requirements, and none of the `dependencies`, gives `module`.
    pub(super) fn provides(&self, context: &Context<'_>, module: &str) -> bool {
        let names = above::distributions(module);
        let is_listed = context.config.entries().any(|(_, text)| match classify(text, context.files) {
            Dependency::Package(text) => requirement::name(&text).is_some_and(|name| names.contains(&name)),
            Dependency::Local { .. } => false,
        });
        let is_code =
            || self.project.roots().iter().any(|root| super::search_path::has(context, root, module));
        let is_required = || names.iter().any(|name| self.project.requirements.contains(name));
        !is_listed && (is_code() || is_required())
    }

    /// Reports that it is not listed, and the file at `path` imports something of it.
    pub(super) fn report(&self, path: &str, module: &Module, import: &Import) -> Diagnostic {
        let (name, manifest) = (import.first(), written(&self.project.manifest));
        let message = format!("`{}` imports `{name}`, which comes with `{manifest}` only", written(path));
        let list = Place::Value(Pointer::parse("/dependencies"));
        Diagnostic::new(&packages::UNINSTALLED_REQUIREMENTS, self.entry.clone(), message)
            .related(imported_here(path, module, import))
            .help(self.project.help())
            .fix(Fix::likely(list, Edit::item(&self.project.directory)))
    }
}
