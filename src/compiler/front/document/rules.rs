//! What can be wrong with a text before it is a tree.

use crate::diagnostic::{Rule, Severity};

/// What reading the text can find.
pub const RULES: &[&Rule] = &[
    &BYTE_ORDER_MARK,
    &DUPLICATE_KEY,
    &EMPTY_FILE,
    &JSON_COMMENT,
    &JSON_NUMBER,
    &JSON_STRING,
    &JSON_SYNTAX,
    &TRAILING_COMMA,
];

pub(super) static BYTE_ORDER_MARK: Rule = Rule {
    code: "byte-order-mark",
    severity: Severity::Warning,
    summary: "the file starts with a byte order mark",
    why: "JSON must not start with a byte order mark. This tool reads past it; others that read the same file, the \
          server among them, may refuse it.",
    wrong: "\u{feff}{ \"graphs\": { \"agent\": \"./agent.py:graph\" } }",
    right: "{ \"graphs\": { \"agent\": \"./agent.py:graph\" } }",
};

pub(super) static DUPLICATE_KEY: Rule = Rule {
    code: "duplicate-key",
    severity: Severity::Error,
    summary: "a key stands twice in one object",
    why: "Of two members with one name only one takes effect, and which one depends on the reader. The other is lost \
          without a word.",
    wrong: r#"{ "env": ".env", "env": ".env.local" }"#,
    right: r#"{ "env": ".env.local" }"#,
};

pub(super) static EMPTY_FILE: Rule = Rule {
    code: "empty-file",
    severity: Severity::Error,
    summary: "the file holds nothing",
    why: "A configuration is a JSON object with at least `graphs`. An empty file is usually one that an editor or a \
          script failed to write.",
    wrong: "",
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static JSON_COMMENT: Rule = Rule {
    code: "json-comment",
    severity: Severity::Error,
    summary: "a comment, which JSON does not have",
    why: "The file is plain JSON, which every tool that reads it must be able to parse. Comments are not part of it.",
    wrong: "{ \"env\": \".env\" } // local values",
    right: "{ \"env\": \".env\" }",
};

pub(super) static JSON_NUMBER: Rule = Rule {
    code: "json-number",
    severity: Severity::Error,
    summary: "a number that JSON cannot express",
    why: "JSON numbers are finite, decimal and written without a leading zero, plus sign or bare dot. NaN and \
          Infinity have no form in JSON.",
    wrong: r#"{ "store": { "ttl": { "default_ttl": Infinity } } }"#,
    right: r#"{ "store": { "ttl": { "default_ttl": 43200 } } }"#,
};

pub(super) static JSON_STRING: Rule = Rule {
    code: "json-string",
    severity: Severity::Error,
    summary: "a string that JSON cannot read",
    why: "Strings stand in double quotes on one line. A backslash starts an escape, so that a Windows path needs each \
          backslash twice, and line breaks are written as `\\n`.",
    wrong: r#"{ "env": 'C:\agent\.env' }"#,
    right: r#"{ "env": "C:\\agent\\.env" }"#,
};

pub(super) static JSON_SYNTAX: Rule = Rule {
    code: "json-syntax",
    severity: Severity::Error,
    summary: "the text is not valid JSON",
    why: "A bracket, comma, colon or quote is missing or out of place. The parser repairs what it can and reads on, \
          so that the remaining mistakes are shown in the same run.",
    wrong: r#"{ "env": ".env" "graphs": {} }"#,
    right: r#"{ "env": ".env", "graphs": {} }"#,
};

pub(super) static TRAILING_COMMA: Rule = Rule {
    code: "trailing-comma",
    severity: Severity::Error,
    summary: "a comma after the last item",
    why: "JSON, unlike JavaScript and Python, does not allow a comma before a closing bracket.",
    wrong: r#"{ "dependencies": ["."], }"#,
    right: r#"{ "dependencies": ["."] }"#,
};
