//! `dependencies`: entries that are duplicate or ambiguous.

use std::collections::BTreeSet;

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Rule, rule};
use crate::files::Files;
use crate::manifests::dependency::{Dependency, MANIFESTS, classify};
use crate::manifests::requirement;
use crate::paths;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&AMBIGUOUS_DEPENDENCY, &DUPLICATE_DEPENDENCY];

pub(super) fn check(context: &mut Context<'_>) {
    let (mut seen, mut texts) = (BTreeSet::new(), BTreeSet::new());
    for (index, text) in context.config.entries() {
        let dependency = classify(text, context.files);
        if let Some(diagnostic) = check_ambiguous(context, index, text, &dependency) {
            context.report(diagnostic);
        }
        let is_new_text = texts.insert(text);
        let Some(what) = identity(&dependency) else { continue };
        if !seen.insert(what.clone()) {
            let message = format!("{what} is already in the list");
            let place = Place::Value(entry(index));
            let is_same = matches!(dependency, Dependency::Local { .. }) || !is_new_text;
            let fix = Fix { is_safe: is_same, ..Fix::likely(place.clone(), Edit::Remove) };
            let diagnostic = Diagnostic::new(&DUPLICATE_DEPENDENCY, place, message);
            context.report(diagnostic.help("keep one of the two entries").fix(fix));
        }
    }
}

/// The description that duplicate entries share. Entries with conditions are not duplicates.
fn identity(dependency: &Dependency) -> Option<String> {
    match dependency {
        Dependency::Local { path } => Some(format!("the directory `{}`", written(path))),
        Dependency::Package(text) => {
            let parsed = requirement::read(text).ok().filter(|it| !it.is_conditional)?;
            parsed.name.map(|name| format!("the package `{name}`"))
        }
    }
}

fn check_ambiguous(
    context: &Context<'_>,
    index: usize,
    text: &str,
    dependency: &Dependency,
) -> Option<Diagnostic> {
    let Dependency::Package(_) = dependency else { return None };
    requirement::read(text).ok().filter(|it| it.is_bare)?;
    let path = paths::normalize(text.trim());
    MANIFESTS.iter().find(|name| context.files.is_file(&paths::join(&path, name)))?;
    let message = format!("`{path}` is a package from the index, but there is also a directory of that name");
    Some(
        Diagnostic::new(&AMBIGUOUS_DEPENDENCY, Place::Value(entry(index)), message)
            .help(format!("write `./{path}` for the directory, or `{path}>=0` for the package")),
    )
}

static AMBIGUOUS_DEPENDENCY: Rule = rule!("ambiguous-dependency");

static DUPLICATE_DEPENDENCY: Rule = rule!("duplicate-dependency");
