//! `node_version` and `api_version`, and what needs which.

use std::str::FromStr;

use pep508_rs::pep440_rs::Version;

use super::Context;
use crate::compiler::server::OLDEST_NODE;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] = &[&INVALID_API_VERSION, &INVALID_NODE_VERSION, &SERDE_NEEDS_NEWER_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let node = context.config.node_version.as_deref().and_then(check_node);
    let api = context.config.api_version.as_deref().and_then(check_api);
    let found = [node, api, check_serde(context)];
    found.into_iter().flatten().for_each(|diagnostic| context.report(diagnostic));
}

fn check_node(version: &str) -> Option<Diagnostic> {
    let place = Place::Value(Pointer::parse("/node_version"));
    let shown = version.escape_debug();
    let digits = |c: char| c.is_ascii_digit();
    // It is part of an image's tag, where `020` is not `20`.
    let is_padded = version.len() > 1 && version.starts_with('0');
    if !version.is_empty() && version.chars().all(digits) && !is_padded {
        if version.parse::<u64>().is_ok_and(|major| major >= OLDEST_NODE) {
            return None;
        }
        let message = format!("Node.js {shown} is too old: the server needs {OLDEST_NODE} or later");
        return Some(
            Diagnostic::new(&INVALID_NODE_VERSION, place, message).help(format!("write `\"{OLDEST_NODE}\"`")),
        );
    }
    let start = version.find(digits);
    let major =
        start.map(|start| version[start..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    let major = major.map(|major| major.trim_start_matches('0'));
    let major = major.filter(|major| major.parse::<u64>().is_ok_and(|major| major >= OLDEST_NODE));
    let message = format!("`{shown}` is not a major version");
    Some(
        Diagnostic::new(&INVALID_NODE_VERSION, place, message)
            .help(format!("write the major version alone: `\"{}\"`", major.unwrap_or("20"))),
    )
}

fn check_api(version: &str) -> Option<Diagnostic> {
    if is_api_version(version) {
        return None;
    }
    let pointer = Pointer::parse("/api_version");
    let shown = version.escape_debug();
    let (message, help) = if version.contains(['<', '>', '=', '~', '^', '*', ',', '|']) {
        (
            format!("`{shown}` is a range of versions"),
            "write one version, such as `0.8`; it stands for its latest patch",
        )
    } else if version == "latest" {
        (format!("`{shown}` is not a version"), "leave `api_version` out for the latest server")
    } else if version.strip_prefix(['v', 'V']).is_some_and(is_api_version) {
        (format!("`{shown}` starts with a letter"), "write the numbers alone, such as `0.8`")
    } else {
        (
            format!("`{shown}` is not a version of the server"),
            "write it as major.minor or major.minor.patch, such as `0.8`",
        )
    };
    Some(Diagnostic::new(&INVALID_API_VERSION, Place::Value(pointer), message).help(help))
}

/// MAJOR[.MINOR[.PATCH]], and behind it perhaps the mark of a pre-release.
fn is_api_version(version: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    let plain = version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(inside);
    let parsed = Version::from_str(version).ok().filter(|_| plain);
    parsed.is_some_and(|it| it.release().len() <= 3 && it.epoch() == 0 && !it.is_post() && !it.is_local())
}

fn check_serde(context: &Context<'_>) -> Option<Diagnostic> {
    context.config.at("/checkpointer/serde")?;
    let version = context.config.api_version.as_deref().filter(|version| is_api_version(version))?;
    // A bare `0` stands for the latest of its series.
    Version::from_str(version).ok().filter(|it| matches!(it.release(), [0, minor, ..] if *minor < 5))?;
    let place = Place::Key(Pointer::parse("/checkpointer/serde"));
    let message = format!("`checkpointer.serde` needs server 0.5 or later, and `api_version` is `{version}`");
    let diagnostic = Diagnostic::new(&SERDE_NEEDS_NEWER_SERVER, place, message);
    Some(diagnostic.help("write a later `api_version`, such as `0.5`, or remove `serde`"))
}

static INVALID_API_VERSION: Rule = Rule {
    code: "invalid-api-version",
    severity: Severity::Error,
    summary: "`api_version` is not a version",
    why: "The version becomes part of the tag of the server image. It is major.minor, or with a patch or the mark of a \
          pre-release; ranges have no image.",
    wrong: r#"{ "api_version": ">=0.8" }"#,
    right: r#"{ "api_version": "0.8" }"#,
};

static INVALID_NODE_VERSION: Rule = Rule {
    code: "invalid-node-version",
    severity: Severity::Error,
    summary: "`node_version` is not a major version from 20 on",
    why: "The JavaScript server has one image for each major version of Node.js, from 20 on. Ranges and minor versions \
          have none.",
    wrong: r#"{ "node_version": ">=22" }"#,
    right: r#"{ "node_version": "22" }"#,
};

static SERDE_NEEDS_NEWER_SERVER: Rule = Rule {
    code: "serde-needs-newer-server",
    severity: Severity::Error,
    summary: "`checkpointer.serde` with a server that does not know it",
    why: "Servers before 0.5 do not read `checkpointer.serde`. They would restore state without the limits that it sets.",
    wrong: r#"{ "api_version": "0.4", "checkpointer": { "serde": { "pickle_fallback": false } } }"#,
    right: r#"{ "api_version": "0.5", "checkpointer": { "serde": { "pickle_fallback": false } } }"#,
};
