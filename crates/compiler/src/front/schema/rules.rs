//! The rules about keys and types.

use crate::diagnostic::{Rule, Severity};

/// All rules of the schema.
pub const RULES: &[&Rule] =
    &[&EMPTY_VALUE, &MISSING_KEY, &MISSPELT_KEY, &OUT_OF_RANGE, &UNKNOWN_KEY, &UNKNOWN_VALUE, &WRONG_TYPE];

pub(super) static EMPTY_VALUE: Rule = Rule {
    code: "empty-value",
    severity: Severity::Error,
    summary: "empty value",
    why: "A server needs at least one graph, and an empty path or package name has no meaning.",
    wrong: r#"{ "dependencies": ["."], "graphs": {} }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static MISSING_KEY: Rule = Rule {
    code: "missing-key",
    severity: Severity::Error,
    summary: "missing required key",
    why: "`graphs` is required, and `dependencies` too unless all graphs are JavaScript or TypeScript. A graph written \
          as an object, `auth`, `encryption` and `priority` need a `path`: the server does not start without it.",
    wrong: r#"{ "graphs": { "agent": "./agent.py:graph" } }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

pub(super) static MISSPELT_KEY: Rule = Rule {
    code: "misspelt-key",
    severity: Severity::Error,
    summary: "unknown key, similar to a known one",
    why: "Unknown keys are only a warning. This one is probably a misspelling of a known key, which would silently have \
          no effect. Only `validate` fails because of it: the other commands warn and go on without the key, unless it \
          is one that they need.",
    wrong: r#"{ "dependancies": ["."] }"#,
    right: r#"{ "dependencies": ["."] }"#,
};

pub(super) static OUT_OF_RANGE: Rule = Rule {
    code: "out-of-range",
    severity: Severity::Error,
    summary: "number out of range",
    why: "Ports, vector lengths, intervals and sizes have bounds. The server rejects values outside of them when it \
          starts, or they never take effect.",
    wrong: r#"{ "webhooks": { "url": { "allowed_ports": [0] } } }"#,
    right: r#"{ "webhooks": { "url": { "allowed_ports": [443] } } }"#,
};

pub(super) static UNKNOWN_KEY: Rule = Rule {
    code: "unknown-key",
    severity: Severity::Warning,
    summary: "unknown key",
    why: "At the top level, the key has no effect. In a section that the server reads, it is passed on unchanged: a newer \
          server may know it, and others ignore it. A key that is similar to a known one is an error instead \
          (misspelt-key).",
    wrong: r#"{ "package_manager": "uv" }"#,
    right: r#"{ "pip_installer": "uv" }"#,
};

/// A value that is not one of the possible ones.
pub static UNKNOWN_VALUE: Rule = Rule {
    code: "unknown-value",
    severity: Severity::Error,
    summary: "unknown value",
    why: "The key takes one of a fixed set of values. The server rejects others when it starts, or the registry has no \
          such image.",
    wrong: r#"{ "image_distro": "ubuntu" }"#,
    right: r#"{ "image_distro": "debian" }"#,
};

pub(super) static WRONG_TYPE: Rule = Rule {
    code: "wrong-type",
    severity: Severity::Error,
    summary: "wrong type",
    why: "Each key takes values of certain types. Versions are strings, because 3.10 and 3.1 are the same number.",
    wrong: r#"{ "python_version": 3.12 }"#,
    right: r#"{ "python_version": "3.12" }"#,
};
