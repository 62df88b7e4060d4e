//! The rules about `source` and its lock file.

use crate::diagnostic::{Rule, rule};

/// All rules of this check.
pub(in crate::front::check) const RULES: &[&Rule] = &[
    &CONFLICTING_SOURCE,
    &INVALID_LOCK,
    &LOCK_CONFLICTS_WITH_SERVER,
    &LOCK_FOR_OTHER_TARGET,
    &LOCK_NOT_FOUND,
    &OUTDATED_LOCK,
    &SOURCE_PACKAGE_NOT_FOUND,
];

pub(super) static CONFLICTING_SOURCE: Rule = rule!("conflicting-source");

pub(super) static INVALID_LOCK: Rule = rule!("invalid-lock");

pub(in crate::front::check) static LOCK_CONFLICTS_WITH_SERVER: Rule = rule!("lock-conflicts-with-server");

pub(super) static LOCK_FOR_OTHER_TARGET: Rule = rule!("lock-for-other-target");

pub(super) static LOCK_NOT_FOUND: Rule = rule!("lock-not-found");

pub(super) static OUTDATED_LOCK: Rule = rule!("outdated-lock");

pub(super) static SOURCE_PACKAGE_NOT_FOUND: Rule = rule!("source-package-not-found");
