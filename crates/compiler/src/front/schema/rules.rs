//! The rules about keys and types.

use crate::diagnostic::{Rule, rule};

/// All rules of the schema.
pub const RULES: &[&Rule] =
    &[&EMPTY_VALUE, &MISSING_KEY, &MISSPELT_KEY, &OUT_OF_RANGE, &UNKNOWN_KEY, &UNKNOWN_VALUE, &WRONG_TYPE];

pub(super) static EMPTY_VALUE: Rule = rule!("empty-value");

pub(super) static MISSING_KEY: Rule = rule!("missing-key");

pub(super) static MISSPELT_KEY: Rule = rule!("misspelt-key");

pub(super) static OUT_OF_RANGE: Rule = rule!("out-of-range");

pub(super) static UNKNOWN_KEY: Rule = rule!("unknown-key");

/// A value that is not one of the possible ones.
pub static UNKNOWN_VALUE: Rule = rule!("unknown-value");

pub(super) static WRONG_TYPE: Rule = rule!("wrong-type");
