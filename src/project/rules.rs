//! Rules about configurations that cannot be read.

use crate::diagnostic::Rule;

/// Rules reported when a configuration is read.
pub const RULES: &[&Rule] = &[&FILE_NOT_FOUND, &IS_A_DIRECTORY, &NOT_UTF8, &UNREADABLE_FILE];

pub(super) static FILE_NOT_FOUND: Rule =
    Rule::new("file-not-found", include_str!("../../docs/rules/file-not-found.md"));

pub(super) static IS_A_DIRECTORY: Rule =
    Rule::new("is-a-directory", include_str!("../../docs/rules/is-a-directory.md"));

pub(super) static NOT_UTF8: Rule = Rule::new("not-utf8", include_str!("../../docs/rules/not-utf8.md"));

pub(super) static UNREADABLE_FILE: Rule =
    Rule::new("unreadable-file", include_str!("../../docs/rules/unreadable-file.md"));
