//! Imports of what only other versions have: of Python than that of the image, and of libraries than the server takes.

use super::reached::Reached;
use super::{imported_here, locked, required_texts, within};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::front::check::{Context, written};
use crate::manifests::known_names::{self, COUNTED, LIBRARIES, Minors, Removed};
use crate::manifests::requirement;
use crate::manifests::symbols::Import;

/// The versions of Python and of the libraries in the image, as far as they are known.
pub(super) struct Versions {
    python: Option<u8>,
    /// Whether the libraries are those that the server takes. Another check reports older ones.
    has_libraries: bool,
}

impl Versions {
    pub(super) fn read(context: &Context<'_>) -> Self {
        let python = context.python_version.map(|(_, minor)| minor);
        Self { python, has_libraries: context.config.has_newest_server() && !has_older(context) }
    }

    /// Reports an import in a file of what these versions do not have. `is_alone` says whether no package brings a module that
    /// Python had.
    pub(super) fn check(
        &self,
        reached: &Reached,
        import: &Import,
        is_alone: impl FnOnce(&str) -> bool,
    ) -> Option<Diagnostic> {
        let Reached { located, path, module, .. } = reached;
        let (missing, help) = self.python(import, is_alone).or_else(|| self.library(import))?;
        let message = format!("`{}` imports {missing}", written(path));
        let place = imported_here(path, module, import);
        Some(Diagnostic::new(&UNAVAILABLE_IMPORT, within(located), message).mistake(place).help(help))
    }

    /// A module or name of another Python as the end of a message, and a help.
    fn python(&self, import: &Import, is_alone: impl FnOnce(&str) -> bool) -> Option<(String, String)> {
        let (name, minors) = known_names::missing_in_python(import, self.python?)?;
        let shown = shown(&name);
        Some(match minors {
            Minors::From(minor) => (
                format!("{shown}, which Python has from 3.{minor} on"),
                format!("write `\"python_version\": \"3.{minor}\"`"),
            ),
            // Packages bring some of these modules back, and other packages bring those.
            Minors::To(_) if !name.contains('.') && !is_alone(&name) => return None,
            Minors::To(minor) => (
                format!("{shown}, which Python has up to 3.{minor}"),
                format!("write `\"python_version\": \"3.{minor}\"`, or replace `{name}`"),
            ),
        })
    }

    /// The same of what a library has no longer.
    fn library(&self, import: &Import) -> Option<(String, String)> {
        let Removed { name, version, home } =
            known_names::missing_in_library(import).filter(|_| self.has_libraries)?;
        let library = name.split('.').next().unwrap_or_default();
        let last = name.rsplit('.').next().unwrap_or_default();
        let message = format!("{}, which `{library}` has up to {version} only", shown(&name));
        let help = match home {
            Some(home) => format!("import `{last}` from `{home}`"),
            None if library == "langchain" => {
                "import it from the package of the integration, or from `langchain_classic`".to_owned()
            }
            None => format!("replace `{last}`; the guides of the library say with what"),
        };
        Some((message, help))
    }
}

/// A dotted name as a part of a message.
fn shown(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((module, name)) => format!("`{name}` of `{module}`"),
        None => format!("`{name}`"),
    }
}

/// Whether the project asks for a library in a version that does not count, or may do so.
fn has_older(context: &Context<'_>) -> bool {
    if let Some(versions) = locked(context) {
        let is_older =
            |version: &String| requirement::is_disjoint(&format!("=={version}"), COUNTED) == Some(true);
        return LIBRARIES
            .iter()
            .any(|name| versions.get(*name).and_then(Option::as_ref).is_some_and(is_older));
    }
    let is_older = |text: &String| {
        let parts = requirement::parts(text).filter(|it| LIBRARIES.contains(&&*it.name));
        let versions = parts.and_then(|it| it.versions);
        versions.is_some_and(|versions| requirement::is_disjoint(&versions, COUNTED) == Some(true))
    };
    required_texts(context).is_none_or(|texts| texts.iter().any(is_older))
}

pub(super) static UNAVAILABLE_IMPORT: Rule = rule!("unavailable-import");
