//! Requirements of the project that the server excludes: both share one Python environment.

use std::ops::Range;

use super::manifests::MAX_FINDINGS;
use super::{Context, entry, written};
use crate::compiler::front::config::Variant;
use crate::compiler::front::workspace;
use crate::compiler::manifests::dependency::{Dependency, Local, classify};
use crate::compiler::manifests::marker::{Environment, MACHINES};
use crate::compiler::manifests::requirements_txt::{self, Kind};
use crate::compiler::manifests::{self, package, pyproject, requirement};
use crate::compiler::{paths, server, urls};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, Severity};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&REQUIREMENT_CONFLICTS_WITH_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    // The bounds of other servers are not known. Another check compares the lock of `source`.
    let is_current = config.has_newest_server() && config.source.is_none();
    let Some((major, minor)) = context.python_version.filter(|_| is_current) else { return };
    if context.variant == Variant::Javascript {
        return;
    }
    let python = format!("{major}.{minor}");
    let environments: Vec<Environment> =
        MACHINES.iter().filter_map(|machine| Environment::linux(&python, machine)).collect();
    let mut found = listed(context, &environments);
    for local in context.directories() {
        found.extend(in_local(context, &local, &environments));
    }
    found.truncate(MAX_FINDINGS);
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// The name in a requirement that the server excludes, and the versions that it needs instead.
fn excluded(text: &str, environments: &[Environment]) -> Option<(String, &'static str)> {
    let parts = requirement::parts(text)?;
    let (_, required) = server::REQUIREMENTS.iter().find(|(name, _)| *name == parts.name)?;
    let applies = match text.split_once(';') {
        Some((_, marker)) => environments.iter().any(|it| it.holds(marker, &[]) == Some(true)),
        None => true,
    };
    (applies && requirement::is_disjoint(&parts.versions?, required)?).then_some((parts.name, *required))
}

fn help(name: &str, required: &str) -> String {
    format!("require `{name}{required}`, or choose an older server with `api_version`")
}

/// Packages in `dependencies`.
fn listed(context: &Context<'_>, environments: &[Environment]) -> Vec<Diagnostic> {
    let finding = |(index, text): (usize, &str)| {
        let Dependency::Package(text) = classify(text, context.files) else { return None };
        let (name, required) = excluded(&text, environments)?;
        let message = format!("the server needs `{name}{required}`, which `{}` excludes", text.trim());
        let place = Place::Within(entry(index), 0..text.len());
        let diagnostic = Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, place, message);
        Some(diagnostic.help(help(&name, required)))
    };
    context.config.entries().filter_map(finding).collect()
}

/// Requirements of a local directory.
fn in_local(context: &Context<'_>, local: &Local, environments: &[Environment]) -> Vec<Diagnostic> {
    let files = context.files;
    // What a lock file holds is installed without its requirements, and the server keeps its own versions.
    if !local.is_project() {
        return in_requirements_txt(context, local, environments);
    }
    if matches!(workspace::beside(local, context.config, files), Some(Ok(_))) {
        return Vec::new();
    }
    let (manifest, requirements) = package::written_requirements(local, files);
    let path = paths::join(&local.path, manifest);
    let text = manifests::excerpt(&path, files);
    let finding = |requirement: &String| {
        let (name, required) = excluded(requirement, environments)?;
        let span = span(&text, requirement, &name);
        Some(conflict(local, Related::new(&path, &text, span, label(&name, required)), &name, required))
    };
    requirements.iter().filter_map(finding).collect()
}

fn in_requirements_txt(
    context: &Context<'_>,
    local: &Local,
    environments: &[Environment],
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for part in requirements_txt::parts(&local.path, context.files) {
        let masked = urls::masked(&part.text);
        for item in part.entries.iter().flatten() {
            let Kind::Requirement(text) = &item.kind else { continue };
            let Some((name, required)) = excluded(text, environments) else { continue };
            let related = Related::new(&part.path, &masked, item.line.clone(), label(&name, required));
            found.push(conflict(local, related, &name, required));
        }
    }
    found
}

/// The place of `requirement` in the manifest `text`, whatever form it has there.
fn span(text: &str, requirement: &str, name: &str) -> Range<usize> {
    let listed = || pyproject::dependencies(text).into_iter().find(|(it, _)| it == requirement);
    let poetry = || pyproject::span(text, &["tool", "poetry", "dependencies", name]);
    let plain = || text.find(requirement).map(|start| start..start + requirement.len());
    listed().map(|(_, span)| span).or_else(poetry).or_else(plain).unwrap_or_default()
}

fn label(name: &str, required: &str) -> String {
    format!("the server needs `{name}{required}`")
}

fn conflict(local: &Local, related: Related, name: &str, required: &str) -> Diagnostic {
    let path = written(&related.path);
    let message = format!("`{path}` excludes all versions of `{name}` that the server works with");
    Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, Place::Value(entry(local.index)), message)
        .related(related)
        .help(help(name, required))
}

static REQUIREMENT_CONFLICTS_WITH_SERVER: Rule = Rule {
    code: "requirement-conflicts-with-server",
    severity: Severity::Warning,
    summary: "a requirement that excludes the versions that the server works with",
    why: "The server shares its Python environment with the project. If both require versions of a package that exclude each \
          other, the build of the image fails after minutes, or the server runs with a version that it is not made for. Older servers work with older \
          packages, and have images of their own. Only the current server's requirements are known, so nothing is \
          reported with `api_version` or `base_image`.",
    wrong: r#"{ "dependencies": [".", "langgraph<0.3"] }"#,
    right: r#"{ "dependencies": [".", "langgraph>=1,<2"] }"#,
};
