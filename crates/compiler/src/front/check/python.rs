//! `requires-python` of local packages, and `.python-version`: does the Python of the image fit them?

use std::iter;

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::front::base_image;
use crate::manifests;
use crate::manifests::requires_python::{Fit, RequiresPython};
use crate::manifests::symbols::PythonVersion;
use crate::manifests::version_file::{self, PYTHON_FILES, VersionFile};
use crate::server::PYTHONS;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&INCOMPATIBLE_PYTHON, &UNTESTED_PYTHON];

pub(super) fn check(context: &mut Context<'_>) {
    // The lock file of `source` has a range of its own.
    let Some(version) = context.python_version.filter(|_| context.config.source.is_none()) else { return };
    let mut packages: Vec<(Option<usize>, RequiresPython)> = Vec::new();
    for local in &context.directories() {
        let required = RequiresPython::read(local, context.files).map(|it| (local.index, it));
        packages.extend(required.filter(|(_, it)| packages.iter().all(|(_, known)| known.path != it.path)));
    }
    let nearest = nearest(&packages, version, context.config.uses_pip());
    let mut found: Vec<Diagnostic> = packages
        .iter()
        .filter_map(|(index, package)| check_package(context, *index, package, version, nearest))
        .collect();
    if found.is_empty() {
        found.extend(check_version_file(context, version));
    }
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

/// Reports a file that selects another Python on this machine, of those that there are images of.
fn check_version_file(context: &Context<'_>, version: PythonVersion) -> Option<Diagnostic> {
    let locals = context.directories();
    let directories = iter::once(".").chain(locals.iter().map(|local| local.path.as_str()));
    let VersionFile { path, text, span } =
        directories.into_iter().find_map(|it| version_file::find(it, PYTHON_FILES, context.files))?;
    let mut numbers = text[span.clone()].split('.').map(str::parse);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return None };
    if (major, minor) == version || !PYTHONS.contains(&(major, minor)) {
        return None;
    }
    let Selected { place, has, key } = selected(context, None, version)?;
    let message = format!("{has}, but `{}` selects {major}.{minor}", written(&path));
    let related = Related::new(&path, &text, span, "for `dev` and other tools on this machine");
    let help = help(context, key, (major, minor));
    Some(Diagnostic::new(&UNTESTED_PYTHON, Place::Value(place), message).related(related).help(help))
}

/// The setting that selects the Python version.
struct Selected {
    place: Pointer,
    /// The same as the start of a message.
    has: String,
    key: Option<&'static str>,
}

fn selected(context: &Context<'_>, index: Option<usize>, (major, minor): PythonVersion) -> Option<Selected> {
    let key = base_image::python(context.config)?.1;
    let (place, has) = match key {
        Some(key) => (Pointer::root().join(key), format!("`{key}` selects Python {major}.{minor}")),
        None => (entry(index), format!("the image has Python {major}.{minor} by default")),
    };
    Some(Selected { place, has, key })
}

/// How to select this version.
fn help(context: &Context<'_>, key: Option<&str>, (major, minor): PythonVersion) -> String {
    match (key, context.config.python_distro()) {
        (Some("base_image"), _) => format!("select a base image with Python {major}.{minor}"),
        (Some(_), None) => format!("write `\"{major}.{minor}\"`"),
        (Some(_), Some(distro)) => format!("write `\"{major}.{minor}-{distro}\"`"),
        (None, _) => format!("add `\"python_version\": \"{major}.{minor}\"`"),
    }
}

/// The supported series next to `version` that fits all packages, or that the installer accepts for all.
fn nearest(
    packages: &[(Option<usize>, RequiresPython)],
    version: PythonVersion,
    uses_pip: bool,
) -> Option<PythonVersion> {
    let all = |series: PythonVersion, is_good: &dyn Fn(Fit) -> bool| {
        packages.iter().all(|(_, package)| is_good(package.fit_of_series(series)))
    };
    let next = |is_good: &dyn Fn(Fit) -> bool| {
        let good = PYTHONS.iter().copied().filter(|series| all(*series, is_good));
        good.min_by_key(|(_, minor)| minor.abs_diff(version.1))
    };
    next(&|fit| fit == Fit::Supported).or_else(|| next(&|fit| !fit.is_refused(uses_pip)))
}

fn check_package(
    context: &Context<'_>,
    index: Option<usize>,
    package: &RequiresPython,
    version: PythonVersion,
    nearest: Option<PythonVersion>,
) -> Option<Diagnostic> {
    let fit = package.fit_of_series(version);
    if fit == Fit::Supported {
        return None;
    }
    let is_refused = fit.is_refused(context.config.uses_pip());
    let rule = if is_refused { &INCOMPATIBLE_PYTHON } else { &UNTESTED_PYTHON };
    let (major, minor) = version;
    let Selected { place, has, key } = selected(context, index, version)?;
    let RequiresPython { path, range, .. } = package;
    let verb = if is_refused { "requires" } else { "supports" };
    let message = format!("{has}, but `{}` {verb} `{range}`", written(path));
    let text = manifests::excerpt(path, context.files);
    let label = format!("does not include {major}.{minor}");
    let help = match nearest.filter(|nearest| *nearest != version) {
        None => {
            let ([(_, first), ..], [.., (_, last)]) = (PYTHONS, PYTHONS) else { return None };
            format!("change the range: no Python from 3.{first} to 3.{last} fits all local packages")
        }
        Some(nearest) => help(context, key, nearest),
    };
    let related = Related::new(path, &text, package.span(&text), label);
    Some(Diagnostic::new(rule, Place::Value(place), message).related(related).help(help))
}

static INCOMPATIBLE_PYTHON: Rule = rule!("incompatible-python");

static UNTESTED_PYTHON: Rule = rule!("untested-python");
