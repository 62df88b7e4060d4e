//! Packages of a JavaScript workspace: can the package manager find them?

use super::manifests::{project, quoted};
use super::{Context, written};
use crate::diagnostic::{Diagnostic, Rule, rule};
use crate::files::Files;
use crate::front::config::Variant;
use crate::manifests::package_json;
use crate::manifests::package_json::Manifest;
use crate::manifests::workspace::{self, Search, Workspace};
use crate::paths;
use crate::tree::Tree;

/// The rules of this check.
pub(super) const RULES: &[&Rule] =
    &[&EXCLUDED_WORKSPACE, &WORKSPACE_PACKAGE_NOT_BUILT, &WORKSPACE_PACKAGE_NOT_FOUND];

pub(super) fn check(context: &mut Context<'_>) {
    if !context.config.has_javascript() {
        return;
    }
    // Another check reports files that cannot be read.
    let Some(home) = context.package_home() else { return };
    let Some(Ok(own)) = package_json::find(&home, context.files) else { return };
    unbuilt(context).into_iter().for_each(|diagnostic| context.report(diagnostic));
    let Ok(search) = workspace::search(&own, &home, context.files) else { return };
    excluded(context, &search).into_iter().for_each(|diagnostic| context.report(diagnostic));
    let Some(missing) = missing(&own, &home, &search, context.files) else { return };
    let manifest = paths::join(&home, package_json::NAME);
    let related = quoted(context, &manifest, &missing.name, missing.label);
    let diagnostic = Diagnostic::new(&WORKSPACE_PACKAGE_NOT_FOUND, project(context), missing.message);
    context.report(diagnostic.related(related).help(missing.help));
}

/// Reports a workspace that images cannot have.
fn excluded(context: &Context<'_>, search: &Search) -> Option<Diagnostic> {
    let workspace = search.excluded.as_ref().filter(|_| search.found.is_none())?;
    let file = written(&paths::join(&workspace.root, ".dockerignore"));
    let message = format!("`{file}` excludes the workspace: the packages are installed without it");
    let help = "include package.json and the lock file of the workspace, and this directory, to install the locked \
                versions";
    Some(Diagnostic::new(&EXCLUDED_WORKSPACE, project(context), message).help(help))
}

/// Reports a package that the graphs cannot import.
fn unbuilt(context: &Context<'_>) -> Option<Diagnostic> {
    context.config.javascript_files().next()?;
    let installation = context.installation()?.ok()?;
    let (name, file) = installation.unbuilt?;
    let message = format!("`{name}` cannot be imported: there is no file `{}`", written(&file));
    let help = match context.variant {
        Variant::Javascript => {
            "build the package, or pass the command that builds it in the image with `--build-command`"
        }
        Variant::Mixed | Variant::Python => "build the package",
    };
    Some(Diagnostic::new(&WORKSPACE_PACKAGE_NOT_BUILT, project(context), message).help(help))
}

/// A package that the package manager cannot find.
struct Missing {
    name: String,
    message: String,
    label: String,
    help: String,
}

fn missing(own: &Manifest, home: &str, search: &Search, files: &Tree) -> Option<Missing> {
    match &search.found {
        Some(workspace) => missing_member(own, workspace, files),
        None => outside_of_workspace(own, home, search.passed.as_ref(), files),
    }
}

/// A required package that `workspace` lacks.
fn missing_member(own: &Manifest, workspace: &Workspace, files: &Tree) -> Option<Missing> {
    let (name, version) = workspace.missing(own, files)?;
    let file = workspace::definition(&workspace.root, files);
    Some(Missing {
        name: name.to_owned(),
        message: format!("the workspace has no package `{name}`"),
        label: format!("`{version}` is only found in the workspace"),
        help: format!("correct the name, or add the directory of the package to `{}`", written(&file)),
    })
}

/// A required package of a workspace, if the project at `home` belongs to none. `outer` is a workspace around it.
fn outside_of_workspace(
    own: &Manifest,
    home: &str,
    outer: Option<&Workspace>,
    files: &Tree,
) -> Option<Missing> {
    let private = outer.map(|outer| outer.manifests(files)).unwrap_or_default();
    let is_private =
        |name: &str| private.iter().any(|member| member.is_private() && member.name() == Some(name));
    let mut requirements = own.requirements();
    let (name, version) =
        requirements.find(|(name, version)| workspace::is_of_workspace(version) || is_private(name))?;
    Some(Missing {
        name: name.to_owned(),
        message: format!("`{name}` is a package of a workspace, and this directory belongs to none"),
        label: format!("`{version}` is only found in a workspace"),
        help: match outer {
            Some(outer) => {
                let here = files.directory();
                let root = paths::components(&outer.root, &here).len();
                let project = paths::components(home, &here)[root..].join("/");
                let file = workspace::definition(&outer.root, files);
                format!("add `{project}` to the packages in `{}`", written(&file))
            }
            None => "put the project into its workspace, or write a version that the registry has".to_owned(),
        },
    })
}

static EXCLUDED_WORKSPACE: Rule = rule!("excluded-workspace");

static WORKSPACE_PACKAGE_NOT_BUILT: Rule = rule!("workspace-package-not-built");

static WORKSPACE_PACKAGE_NOT_FOUND: Rule = rule!("workspace-package-not-found");
