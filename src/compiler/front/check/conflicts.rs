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
use crate::compiler::secrecy::urls;
use crate::compiler::{paths, server};
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

/// A requirement of the project that the server excludes.
struct Excluded {
    /// The name in it.
    name: String,
    /// The package that the server needs in versions that it excludes.
    package: &'static str,
    /// Those versions.
    versions: &'static str,
}

impl Excluded {
    fn find(text: &str, environments: &[Environment]) -> Option<Self> {
        let parts = requirement::parts(text)?;
        let no_version = server::INCOMPATIBLE.iter().find(|(name, _)| *name == parts.name);
        let wanted = no_version.map_or(parts.name.as_str(), |(_, package)| package);
        let (package, versions) = *server::REQUIREMENTS.iter().find(|(name, _)| *name == wanted)?;
        let applies = match text.split_once(';') {
            Some((_, marker)) => environments.iter().any(|it| it.holds(marker, &[]) == Some(true)),
            None => true,
        };
        let is_excluded = no_version.is_some() || requirement::is_disjoint(&parts.versions?, versions)?;
        (applies && is_excluded).then_some(Self { name: parts.name, package, versions })
    }

    fn is_indirect(&self) -> bool {
        self.name != self.package
    }

    /// The requirement of the server, as a lowercase fragment.
    fn needs(&self) -> String {
        format!("the server needs `{}{}`", self.package, self.versions)
    }

    /// The same at the requirement itself.
    fn label(&self) -> String {
        if self.is_indirect() {
            format!("{}, which no version of it allows", self.needs())
        } else {
            self.needs()
        }
    }

    fn help(&self) -> String {
        let change = if self.is_indirect() {
            format!("use another package than `{}`", self.name)
        } else {
            format!("require `{}{}`", self.package, self.versions)
        };
        format!("{change}, or choose an older server with `api_version`")
    }
}

/// Packages in `dependencies`.
fn listed(context: &Context<'_>, environments: &[Environment]) -> Vec<Diagnostic> {
    let finding = |(index, text): (usize, &str)| {
        let Dependency::Package(text) = classify(text, context.files) else { return None };
        let excluded = Excluded::find(&text, environments)?;
        let message = format!("{}, which `{}` excludes", excluded.needs(), text.trim());
        let place = Place::Within(entry(index), 0..text.len());
        let diagnostic = Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, place, message);
        Some(diagnostic.help(excluded.help()))
    };
    context.config.entries().filter_map(finding).collect()
}

/// Requirements of a local directory.
fn in_local(context: &Context<'_>, local: &Local, environments: &[Environment]) -> Vec<Diagnostic> {
    let files = context.files;
    if !local.is_project() {
        return in_requirements_txt(context, local, environments);
    }
    let (manifest, requirements) = package::written_requirements(local, files);
    let path = paths::join(&local.path, manifest);
    let text = manifests::excerpt(&path, files);
    let finding = |requirement: &String| {
        let excluded = Excluded::find(requirement, environments)?;
        let span = span(&text, requirement, &excluded.name);
        Some(conflict(local, Related::new(&path, &text, span, excluded.label()), &excluded))
    };
    let found: Vec<Diagnostic> = requirements.iter().filter_map(finding).collect();
    if found.is_empty() { in_lock(context, local, environments) } else { found }
}

/// Packages that a lock file has for others, and of which no version works beside the server.
fn in_lock(context: &Context<'_>, local: &Local, environments: &[Environment]) -> Vec<Diagnostic> {
    let Some(Ok(locked)) = workspace::beside(local, context.config, context.files) else { return Vec::new() };
    let (path, text) = (locked.file.clone(), manifests::excerpt(&locked.file, context.files));
    let finding = |(name, _): (String, Option<String>)| {
        let excluded = Excluded::find(&name, environments).filter(Excluded::is_indirect)?;
        let quoted = format!("\"{name}\"");
        let start = text.find(&format!("name = {quoted}")).map_or(0, |at| at + "name = ".len());
        let related = Related::new(&path, &text, start..start + quoted.len(), excluded.label());
        Some(conflict(local, related, &excluded))
    };
    locked.versions().filter_map(finding).collect()
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
            let Some(excluded) = Excluded::find(text, environments) else { continue };
            let related = Related::new(&part.path, &masked, item.line.clone(), excluded.label());
            found.push(conflict(local, related, &excluded));
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

fn conflict(local: &Local, related: Related, excluded: &Excluded) -> Diagnostic {
    let path = written(&related.path);
    let message = if excluded.is_indirect() {
        format!("`{path}` requires `{}`, which does not work beside the server", excluded.name)
    } else {
        format!("`{path}` excludes all versions of `{}` that the server works with", excluded.package)
    };
    Diagnostic::new(&REQUIREMENT_CONFLICTS_WITH_SERVER, Place::Value(entry(local.index)), message)
        .related(related)
        .help(excluded.help())
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
