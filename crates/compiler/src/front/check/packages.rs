//! Local projects: can they be installed with everything that they require?

use std::iter;
use std::rc::Rc;

use toml::Table;

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::files::Files;
use crate::manifests::dependency::{Dependency, Local, LocalKind, classify};
use crate::manifests::local_requirements::Refused;
use crate::manifests::package::{self, metadata};
use crate::manifests::package_json;
use crate::manifests::pyproject::{self, Pyproject, table};
use crate::manifests::requirements_txt::{self, Kind, Part};
use crate::{manifests, paths};

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &NO_BUILD_SYSTEM,
    &NO_PACKAGE_JSON,
    &UNINSTALLABLE_PACKAGE,
    &UNINSTALLED_REQUIREMENTS,
    &UNUSABLE_LOCAL_REQUIREMENT,
];

pub(super) fn check(context: &mut Context<'_>) {
    for refused in context.refused.clone() {
        let diagnostic = unusable(context, refused);
        context.report(diagnostic);
    }
    for local in context.installed_directories() {
        let found = check_build_system(context, &local)
            .or_else(|| check_backend(context, &local))
            .or_else(|| check_pipfile(context, &local))
            .or_else(|| check_parent(context, &local));
        found.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
    check_package_json(context).into_iter().for_each(|diagnostic| context.report(diagnostic));
}

fn unusable(context: &Context<'_>, refused: Refused) -> Diagnostic {
    let Refused { index, manifest, written: text, reason, help } = refused;
    let message = format!("`{}` requires a local package that cannot be used", written(&manifest));
    let diagnostic = Diagnostic::new(&UNUSABLE_LOCAL_REQUIREMENT, Place::Value(entry(index)), message);
    let content = manifests::excerpt(&manifest, context.files);
    // A requirement of Poetry's is written in another way.
    let name = text.split([' ', '[', '@']).next().unwrap_or_default();
    let shown = if content.contains(&text) { &text } else { name };
    let label = format!("`{shown}` {reason}");
    match content.find(shown) {
        Some(start) => {
            let span = start..start + shown.len();
            diagnostic.related(Related::new(&manifest, &content, span, label)).help(help)
        }
        None => Diagnostic { message: format!("{}: {label}", diagnostic.message), ..diagnostic }.help(help),
    }
}

/// Poetry's table alone does not make Poetry build the project.
fn check_build_system(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let Pyproject::Manifest(manifest) = &local.pyproject else { return None };
    table(manifest, &["tool", "poetry"])?;
    if manifest.contains_key("build-system") || manifest.contains_key("project") {
        return check_unread(context, local);
    }
    let path = written(&paths::join(&local.path, "pyproject.toml"));
    let is_read = local.kind == LocalKind::Virtual && metadata(local, context.files).requirements.is_some();
    let message = if is_read {
        format!("`{path}` has no [build-system]: only its requirements are installed")
    } else {
        format!("`{path}` has no [build-system]: its requirements are not installed")
    };
    let help = "add `[build-system]` with `requires = [\"poetry-core\"]` and `build-backend = \"poetry.core.masonry.api\"`";
    Some(Diagnostic::new(&NO_BUILD_SYSTEM, Place::Value(entry(local.index)), message).help(help))
}

/// Reports requirements for Poetry in a project that another back end builds.
fn check_unread(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let (backend, name) = package::unread_by_backend(local, context.files)?;
    let manifest = paths::join(&local.path, "pyproject.toml");
    let message = format!(
        "`{}` lists requirements for Poetry, which `{backend}` does not read: they are not installed",
        written(&manifest)
    );
    let text = manifests::excerpt(&manifest, context.files);
    let diagnostic = Diagnostic::new(&UNINSTALLED_REQUIREMENTS, Place::Value(entry(local.index)), message)
        .help(
            "move them to `dependencies` of [project], or use `poetry.core.masonry.api` as the build backend",
        );
    Some(match pyproject::span(&text, &["tool", "poetry", "dependencies", &name]) {
        Some(span) => diagnostic.related(Related::new(&manifest, &text, span, "not installed")),
        None => diagnostic,
    })
}

fn check_backend(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let (why, help) = package::refusal(local, context.files).filter(|_| local.kind == LocalKind::Package)?;
    let message = format!("`{}` cannot be installed: {why}", written(&local.path));
    Some(Diagnostic::new(&UNINSTALLABLE_PACKAGE, Place::Value(entry(local.index)), message).help(help))
}

/// Reports the requirements of a Pipfile beside no other manifest.
fn check_pipfile(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let path = paths::join(&local.path, "Pipfile");
    if local.is_project()
        || has_packages(context)
        || requirements_txt::find(&local.path, context.files).is_some()
    {
        return None;
    }
    let text = manifests::text(&path, context.files)?.ok()?;
    let is_empty = table(&pyproject::read(&text).ok()?, &["packages"]).is_none_or(Table::is_empty);
    if is_empty {
        return None;
    }
    let message = format!("`{}` is not read: its requirements are not installed", written(&path));
    let help = format!("run `pipenv requirements > requirements.txt` in `{}`", written(&local.path));
    Some(Diagnostic::new(&UNINSTALLED_REQUIREMENTS, Place::Value(entry(local.index)), message).help(help))
}

/// Whether `dependencies` list packages of an index.
fn has_packages(context: &Context<'_>) -> bool {
    let is_package = |text| matches!(classify(text, context.files), Dependency::Package(_));
    context.config.entries().any(|(_, text)| is_package(text))
}

/// Reports a directory without a manifest below one whose requirements nothing installs.
pub(super) fn check_parent(context: &Context<'_>, local: &Local) -> Option<Diagnostic> {
    let has_own = context.files.is_file(&paths::join(&local.path, "requirements.txt"));
    if has_packages(context)
        || local.is_project()
        || has_own
        || local.path == "."
        || local.path.starts_with("..")
    {
        return None;
    }
    let parent = paths::join(&local.path, "..");
    if context.all_locals.iter().any(|other| other.path == parent) {
        return None;
    }
    let above = Local::new(local.index, parent, context.files);
    let manifest = if above.is_project() {
        let required = metadata(&above, context.files).requirements;
        required.filter(|all| !all.is_empty()).map(|_| paths::join(&above.path, "pyproject.toml"))
    } else {
        let is_required = |part: &Rc<Part>| {
            part.entries.iter().flatten().any(|entry| matches!(entry.kind, Kind::Requirement(_)))
        };
        requirements_txt::parts(&above.path, context.files)
            .into_iter()
            .find(is_required)
            .map(|part| part.path.clone())
    };
    let manifest = written(&manifest?);
    let message = format!("`{}` is used without the requirements in `{manifest}`", written(&local.path));
    let diagnostic = Diagnostic::new(&UNINSTALLED_REQUIREMENTS, Place::Value(entry(local.index)), message);
    Some(diagnostic.help(format!("write `{}` instead of it, or list both", written(&above.path))))
}

/// Reports JavaScript graphs whose package.json nothing installs.
fn check_package_json(context: &Context<'_>) -> Option<Diagnostic> {
    let has_lines = context.config.dockerfile_lines.as_ref().is_some_and(|lines| !lines.is_empty());
    // These may bring the packages.
    if context.config.base_image.is_some() || has_lines || context.package_home().is_some() {
        return None;
    }
    let has_manifest =
        |directory: &String| context.files.is_file(&paths::join(directory, package_json::NAME));
    let (id, reference) = context.config.graphs.iter().find(|(_, it)| paths::is_javascript(it))?;
    let start = paths::parent(&paths::normalize(reference)).to_owned();
    let levels = start.split('/').count();
    let above = iter::successors(Some(start), |directory| Some(paths::join(directory, "..")));
    let directory = written(&above.take(levels).find(has_manifest)?);
    let message = format!("the packages in `{directory}/{}` are not installed", package_json::NAME);
    let place = Place::Value(Pointer::parse("/graphs").join(id));
    let help = format!("add `\"{directory}\"` to `dependencies`, or move the configuration there");
    Some(Diagnostic::new(&NO_PACKAGE_JSON, place, message).help(help))
}

static NO_BUILD_SYSTEM: Rule = rule!("no-build-system");

static NO_PACKAGE_JSON: Rule = rule!("no-package-json");

static UNINSTALLABLE_PACKAGE: Rule = rule!("uninstallable-package");

pub(super) static UNINSTALLED_REQUIREMENTS: Rule = rule!("uninstalled-requirements");

static UNUSABLE_LOCAL_REQUIREMENT: Rule = rule!("unusable-local-requirement");
