//! Files that the configuration names and that are not code, but for the file of `env`: whether they exist.

use super::{Context, locations, written};
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::files::Files;
use crate::front::keys::Holds;
use crate::front::reference;
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&NAMED_FILE_NOT_FOUND];

pub(super) fn check(context: &mut Context<'_>) {
    for file in reference::files(&context.config.value).filter(|file| file.key.holds == Holds::File) {
        let path = paths::normalize(&file.path);
        if !locations::is_usable(context, &file.path) || context.files.is_file(&path) {
            continue;
        }
        let message = if context.files.is_directory(&path) {
            format!("`{}` is a directory, not a file", written(&path))
        } else {
            format!("there is no file `{}`", written(&path))
        };
        context.report(
            Diagnostic::new(&NAMED_FILE_NOT_FOUND, Place::Value(file.pointer), message)
                .help("write a path relative to the directory of the configuration, or leave the key out"),
        );
    }
}

static NAMED_FILE_NOT_FOUND: Rule = rule!("named-file-not-found");
