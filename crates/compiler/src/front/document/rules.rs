//! The rules of the parser.

use crate::diagnostic::{Rule, rule};

/// All rules of the parser.
pub const RULES: &[&Rule] = &[
    &BYTE_ORDER_MARK,
    &DUPLICATE_KEY,
    &EMPTY_FILE,
    &JSON_COMMENT,
    &JSON_NUMBER,
    &JSON_STRING,
    &JSON_SYNTAX,
    &TOO_MANY_VALUES,
    &TRAILING_COMMA,
];

pub(super) static BYTE_ORDER_MARK: Rule = rule!("byte-order-mark");

pub(super) static DUPLICATE_KEY: Rule = rule!("duplicate-key");

pub(super) static EMPTY_FILE: Rule = rule!("empty-file");

pub(super) static JSON_COMMENT: Rule = rule!("json-comment");

pub(super) static JSON_NUMBER: Rule = rule!("json-number");

pub(super) static JSON_STRING: Rule = rule!("json-string");

pub(super) static JSON_SYNTAX: Rule = rule!("json-syntax");

pub(super) static TOO_MANY_VALUES: Rule = rule!("too-many-values");

pub(super) static TRAILING_COMMA: Rule = rule!("trailing-comma");
