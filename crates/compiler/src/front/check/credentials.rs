//! Passwords and tokens in the URLs of dependencies. No message repeats them.

use std::collections::BTreeSet;
use std::ops::Range;

use super::manifests::MAX_FINDINGS;
use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Related, Rule, rule};
use crate::manifests::dependency::{Dependency, classify};
use crate::manifests::uv_workspace::Workspace;
use crate::manifests::{self, requirements_txt};
use crate::paths;
use crate::secrecy::urls;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&CREDENTIALS_IN_URL];

const HELP: &str = "revoke it, and put the credentials in the file that `pip_config_file` names";

pub(super) fn check(context: &mut Context<'_>) {
    for (index, text) in context.config.entries() {
        let place = Place::Value(entry(index));
        match classify(text, context.files) {
            Dependency::Package(text) if !urls::userinfo(&text).is_empty() => {
                let message = "a URL in this entry contains a password or token";
                context.report(Diagnostic::new(&CREDENTIALS_IN_URL, place, message).help(HELP));
            }
            Dependency::Package(_) | Dependency::Local { .. } => {}
        }
    }
    let mut seen = BTreeSet::new();
    for local in context.all_locals.clone() {
        check_manifests(context, &Place::Value(entry(local.index)), &local.path, &mut seen);
        if local.is_project()
            && let Some(workspace) = Workspace::of(&local.path, context.files)
        {
            check_manifests(context, &Place::Value(entry(local.index)), &workspace.root, &mut seen);
        }
    }
}

/// A password or token at `part` of the file at `path`, whose masked text is `masked`.
pub(super) fn in_file(place: Place, path: &str, masked: &str, part: Range<usize>) -> Diagnostic {
    let message = format!("a URL in `{}` contains a password or token", written(path));
    Diagnostic::new(&CREDENTIALS_IN_URL, place, message).related(Related::new(
        path,
        masked,
        part,
        "password or token",
    ))
}

/// Checks the pyproject.toml and the requirements files of the directory at `path`, except for those in `seen`.
fn check_manifests(context: &mut Context<'_>, place: &Place, path: &str, seen: &mut BTreeSet<String>) {
    let requirements = requirements_txt::parts(path, context.files)
        .into_iter()
        .map(|part| (part.path.clone(), part.text.clone()));
    let pyproject = paths::join(path, "pyproject.toml");
    let text = manifests::text(&pyproject, context.files).and_then(Result::ok);
    for (file, text) in requirements.chain(text.map(|text| (pyproject, text))) {
        if !seen.insert(file.clone()) {
            continue;
        }
        let masked = urls::masked(&text);
        let secrets = urls::userinfo(&text).into_iter().filter(|part| !is_comment(&text, part.start));
        for part in secrets.take(MAX_FINDINGS) {
            context.report(in_file(place.clone(), &file, &masked, part).help(HELP));
        }
    }
}

/// Whether the line of the byte at `at` is a comment.
fn is_comment(text: &str, at: usize) -> bool {
    text[..at].lines().next_back().is_some_and(|line| line.trim_start().starts_with('#'))
}

pub(super) static CREDENTIALS_IN_URL: Rule = rule!("credentials-in-url");
