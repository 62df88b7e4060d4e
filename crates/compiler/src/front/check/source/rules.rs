//! The rules about `source` and its lock file.

use crate::diagnostic::{Rule, Severity};

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

pub(super) static CONFLICTING_SOURCE: Rule = Rule {
    code: "conflicting-source",
    severity: Severity::Error,
    summary: "a key that cannot be used with `source`",
    why: "With `source`, everything is installed by uv from the lock file of a workspace. Other dependencies, other \
          installers and their settings have no place there.",
    wrong: r#"{ "source": { "kind": "uv" }, "dependencies": ["httpx"] }"#,
    right: r#"{ "source": { "kind": "uv" } }"#,
};

pub(super) static INVALID_LOCK: Rule = Rule {
    code: "invalid-lock",
    severity: Severity::Error,
    summary: "a uv.lock that cannot be read",
    why: "The versions to install are read from the lock file. It must be TOML in version 1 of uv's format, and hold \
          all packages that the requested one needs. It is often broken by a merge.",
    wrong: r#"{ "source": { "kind": "uv", "root": "./workspace-with-a-broken-lock" } }"#,
    right: r#"{ "source": { "kind": "uv", "root": "." } }"#,
};

pub(in crate::front::check) static LOCK_CONFLICTS_WITH_SERVER: Rule = Rule {
    code: "lock-conflicts-with-server",
    severity: Severity::Warning,
    summary: "a locked version that the server does not work with",
    why: "The server shares its Python environment with the project. With a version outside of what it requires, it would \
          not start, or the build would fail. Such a package is not installed from the lock file, and the server keeps its \
          own version. Without `source`, a package of a lock file is reported if the server replaces it by another major \
          version, and the code imports FastAPI or LangChain in a version that is made for the locked one. Only the current \
          server's requirements are known, so nothing is reported with `api_version` or `base_image`.",
    wrong: r#"{ "source": { "kind": "uv", "root": "./workspace-with-an-old-starlette" } }"#,
    right: r#"{ "source": { "kind": "uv", "root": "." } }"#,
};

pub(super) static LOCK_FOR_OTHER_TARGET: Rule = Rule {
    code: "lock-for-other-target",
    severity: Severity::Error,
    summary: "a uv.lock for another Python version or platform",
    why: "uv locks packages for the Python versions of `requires-python` and the platforms of `tool.uv.environments`. For \
          others it installs nothing, or finds no file of a package.",
    wrong: r#"{ "python_version": "3.11", "source": { "kind": "uv", "root": "./workspace-for-python-3.12" } }"#,
    right: r#"{ "python_version": "3.12", "source": { "kind": "uv", "root": "./workspace-for-python-3.12" } }"#,
};

pub(super) static LOCK_NOT_FOUND: Rule = Rule {
    code: "lock-not-found",
    severity: Severity::Error,
    summary: "no uv.lock in the directory of `source.root`",
    why: "`source` installs the versions that the lock file of the workspace names. It is in the workspace's root, \
          relative to the directory of the configuration.",
    wrong: r#"{ "source": { "kind": "uv", "root": "./packages" } }"#,
    right: r#"{ "source": { "kind": "uv", "root": "." } }"#,
};

pub(super) static OUTDATED_LOCK: Rule = Rule {
    code: "outdated-lock",
    severity: Severity::Error,
    summary: "a uv.lock that does not match a pyproject.toml",
    why: "The requirements of a package changed after the lock file was made, so that it lacks packages, or has other \
          versions than the pyproject.toml asks for. Conditions are not compared.",
    wrong: r#"{ "source": { "kind": "uv", "root": "./workspace-with-an-outdated-lock" } }"#,
    right: r#"{ "source": { "kind": "uv", "root": "." } }"#,
};

pub(super) static SOURCE_PACKAGE_NOT_FOUND: Rule = Rule {
    code: "source-package-not-found",
    severity: Severity::Error,
    summary: "`source` names a package, an extra or a group that the lock file does not have",
    why: "The package to run is one of the workspace: the one in `source.package`, or the one that the configuration is \
          in. Its extras and dependency groups are those of its pyproject.toml when the lock file was made.",
    wrong: r#"{ "source": { "kind": "uv", "root": "../..", "package": "agnet" } }"#,
    right: r#"{ "source": { "kind": "uv", "root": "../..", "package": "agent" } }"#,
};
