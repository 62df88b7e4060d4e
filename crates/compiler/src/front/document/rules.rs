//! The rules of the parser.

use crate::diagnostic::{Rule, Severity};

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

pub(super) static BYTE_ORDER_MARK: Rule = Rule {
    code: "byte-order-mark",
    severity: Severity::Warning,
    summary: "the file starts with a byte order mark",
    why: "JSON does not allow a byte order mark. agentcli ignores it; other tools that read the file, including the \
          server, may fail.",
    wrong: "\u{feff}{ \"graphs\": { \"agent\": \"./agent.py:graph\" } }",
    right: "{ \"graphs\": { \"agent\": \"./agent.py:graph\" } }",
};

pub(super) static DUPLICATE_KEY: Rule = Rule {
    code: "duplicate-key",
    severity: Severity::Error,
    summary: "an object has the same key twice",
    why: "Only one of the values can take effect, and JSON parsers disagree on which one. If both are the same, only \
          `validate` fails because of it.",
    wrong: r#"{ "env": ".env", "env": ".env.local" }"#,
    right: r#"{ "env": ".env.local" }"#,
};

pub(super) static EMPTY_FILE: Rule = Rule {
    code: "empty-file",
    severity: Severity::Error,
    summary: "the file is empty",
    why: "A configuration is a JSON object with at least the key `graphs`.",
    wrong: "",
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static JSON_COMMENT: Rule = Rule {
    code: "json-comment",
    severity: Severity::Error,
    summary: "JSON has no comments",
    why: "The file is plain JSON, which other tools read too. Comments are not part of JSON.",
    wrong: "{ \"env\": \".env\" } // local values",
    right: "{ \"env\": \".env\" }",
};

pub(super) static JSON_NUMBER: Rule = Rule {
    code: "json-number",
    severity: Severity::Error,
    summary: "invalid number",
    why: "JSON numbers are finite and decimal, without a leading zero, plus sign or bare dot. NaN and Infinity are not \
          numbers in JSON.",
    wrong: r#"{ "store": { "ttl": { "default_ttl": Infinity } } }"#,
    right: r#"{ "store": { "ttl": { "default_ttl": 43200 } } }"#,
};

pub(super) static JSON_STRING: Rule = Rule {
    code: "json-string",
    severity: Severity::Error,
    summary: "invalid string",
    why: "Strings are in double quotes, on one line. A backslash starts an escape, so Windows paths need two \
          backslashes, and a line break is written as `\\n`.",
    wrong: r#"{ "env": 'C:\agent\.env' }"#,
    right: r#"{ "env": "C:\\agent\\.env" }"#,
};

pub(super) static JSON_SYNTAX: Rule = Rule {
    code: "json-syntax",
    severity: Severity::Error,
    summary: "invalid JSON",
    why: "A bracket, comma, colon or quote is missing or misplaced. The parser recovers, so the same run also reports \
          the remaining mistakes.",
    wrong: r#"{ "env": ".env" "graphs": {} }"#,
    right: r#"{ "env": ".env", "graphs": {} }"#,
};

pub(super) static TOO_MANY_VALUES: Rule = Rule {
    code: "too-many-values",
    severity: Severity::Error,
    summary: "more values than any agent needs",
    why: "agentcli reads at most 10,000 values of a configuration. A larger one is not written for an agent server, and \
          would take minutes to check.",
    wrong: "{ \"dependencies\": [\".\", …10,000 more…] }",
    right: r#"{ "dependencies": ["."] }"#,
};

pub(super) static TRAILING_COMMA: Rule = Rule {
    code: "trailing-comma",
    severity: Severity::Error,
    summary: "trailing comma",
    why: "JSON, unlike JavaScript and Python, does not allow a comma before a closing bracket.",
    wrong: r#"{ "dependencies": ["."], }"#,
    right: r#"{ "dependencies": ["."] }"#,
};
