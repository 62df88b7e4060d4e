//! Files that belong to the project by their path, and that are not read: they lie elsewhere, or are no files that a
//! project has.

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::files::{Files, Refusal};
use crate::paths;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&FILE_TOO_LARGE, &NOT_A_REGULAR_FILE, &PATH_OUTSIDE_PROJECT];

/// Runs last: it reports what the other checks were refused.
pub(super) fn check(context: &mut Context<'_>) {
    for (path, refusal) in context.files.refused() {
        let is_reported = context.refused_paths.iter().any(|above| paths::below(&path, above).is_some());
        if !is_reported {
            let diagnostic = diagnostic(place(context, &path), &written(&path), refusal);
            context.report(diagnostic);
        }
    }
}

/// The finding about a path, as it is shown.
pub fn diagnostic(place: Place, path: &str, refusal: Refusal) -> Diagnostic {
    match refusal {
        Refusal::Outside => {
            Diagnostic::new(&PATH_OUTSIDE_PROJECT, place, format!("`{path}` leads out of the project")).help(
                "copy it into the project, or, if you trust the configuration, pass the directory that has both with \
                 `--project-root`",
            )
        }
        Refusal::Special => {
            let message = format!("`{path}` is a pipe, a socket or a device, not a regular file");
            Diagnostic::new(&NOT_A_REGULAR_FILE, place, message).help("replace it with a file, or remove it")
        }
        Refusal::TooLarge(limit) => {
            let message = format!("`{path}` is larger than {} MiB", mebibytes(limit));
            Diagnostic::new(&FILE_TOO_LARGE, place, message).help("make it smaller, or name the file that is meant")
        }
        Refusal::TooMuch(limit) => {
            let message =
                format!("the files of the project up to `{path}` are larger than {} MiB together", mebibytes(limit));
            Diagnostic::new(&FILE_TOO_LARGE, place, message).help("make them smaller, or name fewer files")
        }
        Refusal::TooManyItems(limit) => {
            let message = format!(
                "the files of the project up to `{path}` have more than {limit} lines, commas, semicolons and \
                 brackets together"
            );
            Diagnostic::new(&FILE_TOO_LARGE, place, message).help("make them smaller, or name fewer files")
        }
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes / (1024 * 1024)
}

/// The entry of the innermost local dependency that has the file, or else the configuration as a whole.
fn place(context: &Context<'_>, path: &str) -> Place {
    let around = context.all_locals.iter().filter(|local| paths::lies_in(path, &local.path));
    around.max_by_key(|local| local.path.len()).map_or(Place::File, |local| Place::Value(entry(local.index)))
}

/// Reported for the configuration itself, too, when it is loaded.
static FILE_TOO_LARGE: Rule = rule!("file-too-large");

static NOT_A_REGULAR_FILE: Rule = rule!("not-a-regular-file");

static PATH_OUTSIDE_PROJECT: Rule = rule!("path-outside-project");
