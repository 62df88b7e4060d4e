//! What the shape of a document can get wrong.

use crate::diagnostic::{Rule, Severity};

/// What the shape of a document can get wrong.
pub const RULES: &[&Rule] =
    &[&EMPTY_VALUE, &MISSING_KEY, &MISSPELT_KEY, &OUT_OF_RANGE, &UNKNOWN_KEY, &UNKNOWN_VALUE, &WRONG_TYPE];

pub(super) static EMPTY_VALUE: Rule = Rule {
    code: "empty-value",
    severity: Severity::Error,
    summary: "a value that must hold something is empty",
    why: "A server without graphs has nothing to serve, and an empty path or package name means nothing.",
    wrong: r#"{ "dependencies": ["."], "graphs": {} }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static MISSING_KEY: Rule = Rule {
    code: "missing-key",
    severity: Severity::Error,
    summary: "a required key is absent",
    why: "`dependencies` and `graphs` are required, and a graph written as an object needs its `path`. Only where \
          every graph is JavaScript or TypeScript may `dependencies` be left out.",
    wrong: r#"{ "graphs": { "agent": "./agent.py:graph" } }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static MISSPELT_KEY: Rule = Rule {
    code: "misspelt-key",
    severity: Severity::Error,
    summary: "an unknown key that looks like a known one",
    why: "An unknown key has no effect. One that nearly reads like a known key is almost surely meant to have one, \
          so that it is an error rather than a warning.",
    wrong: r#"{ "dependancies": ["."] }"#,
    right: r#"{ "dependencies": ["."] }"#,
};

pub(super) static OUT_OF_RANGE: Rule = Rule {
    code: "out-of-range",
    severity: Severity::Error,
    summary: "a number outside of what is possible",
    why: "Ports, vector lengths, intervals and sizes have bounds; a value outside of them would be refused when the \
          server starts, or never take effect.",
    wrong: r#"{ "webhooks": { "url": { "allowed_ports": [0] } } }"#,
    right: r#"{ "webhooks": { "url": { "allowed_ports": [443] } } }"#,
};

pub(super) static UNKNOWN_KEY: Rule = Rule {
    code: "unknown-key",
    severity: Severity::Warning,
    summary: "a key that nothing reads",
    why: "The key has no effect, neither here nor on the server. It may be a note, or belong to another tool; one \
          that looks like a misspelling is an error instead (misspelt-key).",
    wrong: r#"{ "package_manager": "uv" }"#,
    right: r#"{ "pip_installer": "uv" }"#,
};

pub(super) static UNKNOWN_VALUE: Rule = Rule {
    code: "unknown-value",
    severity: Severity::Error,
    summary: "a word that is not among the possible ones",
    why: "The key takes one of a few words. Any other would be refused by the server, or by the image registry, long \
          after the build started.",
    wrong: r#"{ "image_distro": "ubuntu" }"#,
    right: r#"{ "image_distro": "debian" }"#,
};

pub(super) static WRONG_TYPE: Rule = Rule {
    code: "wrong-type",
    severity: Severity::Error,
    summary: "a value of the wrong type",
    why: "Each key takes one type of value, or a few. Versions are strings, since 3.10 and 3.1 are one number.",
    wrong: r#"{ "python_version": 3.12 }"#,
    right: r#"{ "python_version": "3.12" }"#,
};
