//! Imports of what only other versions have, of Python than that of the image and of libraries than the server takes, and of
//! what no version has.

use super::installed::{locked, required_texts};
use super::reached::Reached;
use super::{imported_here, within};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::front::check::{Context, written};
use crate::manifests::known_names::{self, COUNTED, LIBRARIES, Minors, Mistaken, Removed};
use crate::manifests::requirement;
use crate::manifests::symbols::Import;

/// Reports an import in a file of something that only other versions have. `is_alone` says whether no package brings a module
/// that Python had.
pub(super) fn check(
    context: &Context<'_>,
    reached: &Reached,
    import: &Import,
    is_alone: impl FnOnce(&str) -> bool,
) -> Option<Diagnostic> {
    let Reached { located, path, module, .. } = reached;
    let of_library = || removed(import).or_else(|| mistaken(import)).filter(|_| has_libraries(context));
    let (missing, help) = in_python(context, import, is_alone).or_else(of_library)?;
    let message = format!("`{}` imports {missing}", written(path));
    let place = imported_here(path, module, import);
    Some(Diagnostic::new(&UNAVAILABLE_IMPORT, within(located), message).mistake(place).help(help))
}

/// A module or name of another Python as the end of a message, and a help.
fn in_python(
    context: &Context<'_>,
    import: &Import,
    is_alone: impl FnOnce(&str) -> bool,
) -> Option<(String, String)> {
    let (_, minor) = context.python_version?;
    let (name, minors) = known_names::missing_in_python(import, minor)?;
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

/// The same for a name that a library had.
fn removed(import: &Import) -> Option<(String, String)> {
    let Removed { name, version, home } = known_names::missing_in_library(import)?;
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

/// The same for a name that a module of a library never had.
fn mistaken(import: &Import) -> Option<(String, String)> {
    let Mistaken { name, meant } = known_names::mistaken_in_library(import)?;
    let message = format!("`{name}` of `{}`, which does not have it", import.module);
    let help = match meant {
        Ok(near) => format!("did you mean `{near}`?"),
        Err(module) => format!("import it from `{module}`"),
    };
    Some((message, help))
}

/// A dotted name as a part of a message.
fn shown(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((module, name)) => format!("`{name}` of `{module}`"),
        None => format!("`{name}`"),
    }
}

/// Whether the libraries are those that the server takes. Another check reports others.
fn has_libraries(context: &Context<'_>) -> bool {
    context.config.has_newest_server() && !has_older(context)
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
