//! `engines.node` of the project's packages, and `.nvmrc`: does the Node.js of the image fit them?

use nodejs_semver::Range;

use super::manifests::{project, quoted};
use super::{Context, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::front::base_image;
use crate::manifests::package_json;
use crate::manifests::version_file::{self, NODE_FILES, VersionFile};
use crate::paths;
use crate::server::OLDEST_NODE;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&REFUSED_NODE, &UNTESTED_NODE];

/// How many major versions after the oldest one are suggested.
const MAJORS: u64 = 20;

pub(super) fn check(context: &mut Context<'_>) {
    // A base image has a Node.js of its own.
    if !context.config.has_javascript() || context.config.base_image.is_some() {
        return;
    }
    let Ok(major) = base_image::node(context.config).parse() else { return };
    let Some(Ok(installation)) = context.installation() else { return };
    let rule = if installation.refuses_engines { &REFUSED_NODE } else { &UNTESTED_NODE };
    // A package manager that refuses one package of a workspace installs none.
    let others = installation.directories.iter().filter(|_| installation.refuses_engines);
    let mut directories = [&installation.home, &installation.root].into_iter().chain(others);
    let found = directories.find_map(|directory| check_package(context, rule, directory, major));
    let found = found.or_else(|| {
        [".", &installation.home]
            .into_iter()
            .find_map(|directory| check_version_file(context, directory, major))
    });
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

fn check_package(
    context: &Context<'_>,
    rule: &'static Rule,
    directory: &str,
    major: u64,
) -> Option<Diagnostic> {
    let manifest = package_json::find(directory, context.files)?.ok()?;
    let written_range = manifest.node()?;
    let range = Range::parse(written_range).ok()?;
    if has(&range, major) {
        return None;
    }
    let path = paths::join(directory, package_json::NAME);
    let (place, selected) = selected(context, major);
    let message = format!("{selected}, but `{}` requires `{written_range}`", written(&path));
    // Odd versions have no long-term support, and no images.
    let other = (OLDEST_NODE..OLDEST_NODE + MAJORS).step_by(2).find(|major| has(&range, *major));
    let help = match other {
        Some(other) => help(context, other),
        None => format!("change the range: the server needs Node.js {OLDEST_NODE} or later"),
    };
    let related = quoted(context, &path, written_range, format!("does not include {major}"));
    Some(Diagnostic::new(rule, place, message).related(related).help(help))
}

/// Reports a file that selects another Node.js on this machine.
fn check_version_file(context: &Context<'_>, directory: &str, major: u64) -> Option<Diagnostic> {
    let VersionFile { path, text, span } = version_file::find(directory, NODE_FILES, context.files)?;
    let other: u64 = text[span.clone()].split('.').next()?.parse().ok()?;
    if other == major || other < OLDEST_NODE {
        return None;
    }
    let (place, selected) = selected(context, major);
    let message = format!("{selected}, but `{}` selects {other}", written(&path));
    let related = Related::new(&path, &text, span, "for `dev` and other tools on this machine");
    let help = help(context, other);
    Some(Diagnostic::new(&UNTESTED_NODE, place, message).related(related).help(help))
}

/// The setting that selects the Node.js version, and the start of a message about it.
fn selected(context: &Context<'_>, major: u64) -> (Place, String) {
    match context.config.node_version {
        Some(_) => {
            (Place::Value(Pointer::parse("/node_version")), format!("`node_version` selects Node.js {major}"))
        }
        None => (project(context), format!("the image has Node.js {major} by default")),
    }
}

/// How to select this version.
fn help(context: &Context<'_>, major: u64) -> String {
    match context.config.node_version {
        Some(_) => format!("write `\"{major}\"`"),
        None => format!("add `\"node_version\": \"{major}\"`"),
    }
}

/// Whether `range` has a version of this major one.
fn has(range: &Range, major: u64) -> bool {
    Range::parse(major.to_string()).is_ok_and(|all| all.allows_any(range))
}

static REFUSED_NODE: Rule = rule!("refused-node");

static UNTESTED_NODE: Rule = rule!("untested-node");
