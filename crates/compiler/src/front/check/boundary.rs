//! Files that belong to the project by their path, and that are not read: they lie elsewhere, or are no files that a
//! project has.

use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Rule, Severity};
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
static FILE_TOO_LARGE: Rule = Rule {
    code: "file-too-large",
    severity: Severity::Error,
    summary: "a file that is too large to be checked",
    why: "agentcli reads at most 8 MiB of a file and 32 MiB of a project, and 1 MiB of a configuration, and at \
          most 1,000,000 lines, commas, semicolons and opening brackets of a project. A larger file is seldom what is \
          meant: manifests and source files have some kilobytes, and lock files some megabytes.",
    wrong: r#"{ "graphs": { "agent": "./bundle_of_9_megabytes.js:graph" } }"#,
    right: r#"{ "graphs": { "agent": "./agent.js:graph" } }"#,
};

static NOT_A_REGULAR_FILE: Rule = Rule {
    code: "not-a-regular-file",
    severity: Severity::Error,
    summary: "a pipe, a socket or a device in place of a file",
    why: "Only regular files are read: reading from a pipe or a device may never end, and a build context contains none \
          of them.",
    wrong: r#"{ "graphs": { "agent": "./pipe.py:graph" } }"#,
    right: r#"{ "graphs": { "agent": "./agent.py:graph" } }"#,
};

static PATH_OUTSIDE_PROJECT: Rule = Rule {
    code: "path-outside-project",
    severity: Severity::Error,
    summary: "a path that leads out of the project",
    why: "agentcli reads only files of the project, so that a project of somebody else cannot show the files of your \
          machine. The project is the Git repository around the configuration. Without one, it is the root of the \
          workspace that lists the configuration's directory, or else that directory. `--project-root` selects another \
          directory. It is never the root of the file system, and the home directory only for a configuration right \
          in it. A symbolic link counts as what it points to.",
    wrong: r#"{ "dependencies": [".", "../../../elsewhere/shared"] }"#,
    right: r#"{ "dependencies": [".", "../shared"] }"#,
};
