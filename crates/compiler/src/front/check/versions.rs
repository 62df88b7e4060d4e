//! Versions and distributions of the image.

use std::str::FromStr;

use pep508_rs::pep440_rs::Version;

use super::Context;
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer, Rule, rule};
use crate::front::base_image::is_api_version;
use crate::front::config::Config;
use crate::front::reference::Located;
use crate::paths;
use crate::server::{OLDEST_NODE, RETIRED_DISTROS};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &INVALID_API_VERSION,
    &INVALID_NODE_VERSION,
    &NEEDLESS_PYTHON,
    &SERDE_NEEDS_NEWER_SERVER,
    &UNAVAILABLE_DISTRO,
];

pub(super) fn check(context: &mut Context<'_>) {
    let node = context.config.node_version.as_deref().and_then(check_node);
    let api = context.config.api_version.as_deref().and_then(check_api);
    let found = [node, api, check_serde(context), check_distro(context.config), check_needless(context)];
    found.into_iter().flatten().for_each(|diagnostic| context.report(diagnostic));
}

/// Reports a distribution without an image, unless a base image has it.
fn check_distro(config: &Config) -> Option<Diagnostic> {
    let (pointer, distro) = match config.python_distro() {
        Some(suffix) => ("/python_version", suffix),
        None => ("/image_distro", config.image_distro.as_deref()?),
    };
    let (_, other) = RETIRED_DISTROS.iter().find(|(retired, _)| *retired == distro)?;
    if config.base_image.is_some() {
        return None;
    }
    let message = format!("there are no current server images for `{distro}`");
    let diagnostic = Diagnostic::new(&UNAVAILABLE_DISTRO, Place::Value(Pointer::parse(pointer)), message);
    let fix = Edit::string(other);
    let fix = (pointer == "/image_distro").then(|| Fix::likely(diagnostic.place.clone(), fix));
    Some(diagnostic.help(format!("use `{other}`")).fix(fix))
}

/// Reports a version of Python that makes the server a Python one, where nothing else is Python.
fn check_needless(context: &Context<'_>) -> Option<Diagnostic> {
    let config = context.config;
    config.python_version.as_ref()?;
    let is_javascript = |located: &Located| paths::is_javascript(&located.text[located.path_part()]);
    let has_python = config.entries().next().is_some() || config.source.is_some();
    if has_python || context.references.is_empty() || !context.references.iter().all(is_javascript) {
        return None;
    }
    let place = Place::Key(Pointer::parse("/python_version"));
    let message = "`python_version` selects the server in Python, and no file of the configuration is Python";
    let diagnostic = Diagnostic::new(&NEEDLESS_PYTHON, place.clone(), message);
    Some(diagnostic.help("remove it for the server in JavaScript").fix(Fix::likely(place, Edit::Remove)))
}

fn check_node(version: &str) -> Option<Diagnostic> {
    let place = Place::Value(Pointer::parse("/node_version"));
    let shown = version.escape_debug();
    let digits = |c: char| c.is_ascii_digit();
    // The version is part of an image tag, where `020` is not `20`.
    let is_padded = version.len() > 1 && version.starts_with('0');
    if !version.is_empty() && version.chars().all(digits) && !is_padded {
        if version.parse::<u64>().is_ok_and(|major| major >= OLDEST_NODE) {
            return None;
        }
        let message = format!("Node.js {shown} is too old; the server needs {OLDEST_NODE} or later");
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
            .help(format!("write the major version only: `\"{}\"`", major.unwrap_or("20"))),
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
            "write one version, such as `0.8`, which means its latest patch",
        )
    } else if version == "latest" {
        (format!("`{shown}` is not a version"), "leave `api_version` out for the latest server")
    } else if version.strip_prefix(['v', 'V']).is_some_and(is_api_version) {
        (format!("`{shown}` starts with a letter"), "write the numbers only, such as `0.8`")
    } else {
        (
            format!("`{shown}` is not a version of the server"),
            "write it as major.minor or major.minor.patch, such as `0.8`",
        )
    };
    Some(Diagnostic::new(&INVALID_API_VERSION, Place::Value(pointer), message).help(help))
}

fn check_serde(context: &Context<'_>) -> Option<Diagnostic> {
    context.config.at("/checkpointer/serde")?;
    let version = context.config.api_version.as_deref().filter(|version| is_api_version(version))?;
    // `0` alone means the latest version of its series.
    Version::from_str(version).ok().filter(|it| matches!(it.release(), [0, minor, ..] if *minor < 5))?;
    let place = Place::Key(Pointer::parse("/checkpointer/serde"));
    let message = format!("`checkpointer.serde` needs server 0.5 or later, and `api_version` is `{version}`");
    let diagnostic = Diagnostic::new(&SERDE_NEEDS_NEWER_SERVER, place, message);
    Some(diagnostic.help("write a later `api_version`, such as `0.5`, or remove `serde`"))
}

static UNAVAILABLE_DISTRO: Rule = rule!("unavailable-distro");

static NEEDLESS_PYTHON: Rule = rule!("needless-python");

static INVALID_API_VERSION: Rule = rule!("invalid-api-version");

static INVALID_NODE_VERSION: Rule = rule!("invalid-node-version");

static SERDE_NEEDS_NEWER_SERVER: Rule = rule!("serde-needs-newer-server");
