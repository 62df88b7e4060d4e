//! Manifests of local dependencies and the project: can the installers read them?

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::manifests::dependency::{Local, LocalKind};
use crate::manifests::pyproject::Pyproject;
use crate::manifests::{self, Broken, Unreadable, package_manager, setup_cfg};
use crate::paths;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_MANIFEST, &INVALID_PACKAGE_JSON, &INVALID_WORKSPACE];

/// Findings in one manifest are reported up to this number.
pub(super) const MAX_FINDINGS: usize = 50;

pub(super) fn check(context: &mut Context<'_>) {
    for local in context.installed_directories() {
        let broken = broken_python(context, &local).map(|(path, broken)| {
            let help = "fix the file: without it, none of its requirements can be installed";
            invalid(context, &INVALID_MANIFEST, Place::Value(entry(local.index)), &path, broken).help(help)
        });
        broken.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
    if context.config.has_javascript()
        && let Some(Err(Unreadable { path, broken })) = context.installation()
    {
        let (rule, help) = match paths::file_name(&path) {
            package_manager::PNPM_WORKSPACE => {
                (&INVALID_WORKSPACE, "fix it: without it, pnpm installs nothing")
            }
            _ => (&INVALID_PACKAGE_JSON, "fix it; package managers read strict JSON, without comments"),
        };
        let diagnostic = invalid(context, rule, project(context), &path, broken);
        context.report(diagnostic.help(help));
    }
}

/// The manifest of a Python package that cannot be read.
fn broken_python(context: &Context<'_>, local: &Local) -> Option<(String, Broken)> {
    if let Pyproject::Broken(broken) = &local.pyproject {
        return Some((paths::join(&local.path, "pyproject.toml"), broken.clone()));
    }
    let path = paths::join(&local.path, "setup.cfg");
    let is_read = local.kind == LocalKind::Package && local.pyproject.is_built_by_setuptools();
    let text = manifests::text(&path, context.files).filter(|_| is_read)?;
    text.and_then(|text| setup_cfg::read(&text)).err().map(|broken| (path, broken))
}

/// A finding about the file at `path`, which is `broken`.
pub(super) fn invalid(
    context: &Context<'_>,
    rule: &'static Rule,
    place: Place,
    path: &str,
    broken: Broken,
) -> Diagnostic {
    let text = manifests::excerpt(path, context.files);
    let name = written(path);
    if text.is_empty() {
        Diagnostic::new(rule, place, format!("cannot read `{name}`: {}", broken.message))
    } else {
        Diagnostic::new(rule, place, format!("`{name}` is invalid")).related(Related::new(
            path,
            &text,
            broken.span,
            broken.message,
        ))
    }
}

/// The place of a string in the manifest at `path`.
pub(super) fn quoted(context: &Context<'_>, path: &str, word: &str, label: String) -> Related {
    let text = manifests::excerpt(path, context.files);
    let quoted = format!("\"{word}\"");
    // YAML does without the quotes.
    let found =
        [quoted.as_str(), word].into_iter().find_map(|wanted| Some((text.find(wanted)?, wanted.len())));
    let (start, length) = found.unwrap_or((0, quoted.len()));
    Related::new(path, &text, start..start + length, label)
}

/// The place of the project's own directory, which may be missing in `dependencies` of JavaScript projects.
pub(super) fn project(context: &Context<'_>) -> Place {
    match context.locals.iter().find(|local| local.path == ".") {
        Some(local) => Place::Value(entry(local.index)),
        None => Place::Key(Pointer::parse("/graphs")),
    }
}

static INVALID_MANIFEST: Rule = rule!("invalid-manifest");

static INVALID_PACKAGE_JSON: Rule = rule!("invalid-package-json");

static INVALID_WORKSPACE: Rule = rule!("invalid-workspace");
