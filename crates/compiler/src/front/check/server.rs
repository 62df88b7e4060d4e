//! What the chosen server does not support.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::front::config::Variant;
use crate::manifests::dockerfile::start_stage;
use crate::paths;
use crate::server::product::{Installation, Refusal};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&UNSUPPORTED_BY_SERVER];

pub(super) fn check(context: &mut Context<'_>) {
    let server = context.config.server;
    let Some(installation) = &server.installation else { return };
    let is_javascript = context.config.variant() == Variant::Javascript && server.javascript_image.is_some();
    let refusals: Vec<&Refusal> = if is_javascript {
        server.refusals_in_javascript().iter().collect()
    } else {
        server.refusals().collect()
    };
    for refusal in refusals {
        if is_used(context, refusal) {
            report(context, Pointer::parse(refusal.pointer), refusal.why);
        }
    }
    if !is_javascript {
        check_languages(context);
        check_version(context, installation);
    }
    check_lines(context);
}

fn is_used(context: &Context<'_>, refusal: &Refusal) -> bool {
    let value = context.config.at(refusal.pointer);
    let is_refused = |text: &str| refusal.values.contains(&text);
    value.is_some_and(|value| refusal.values.is_empty() || value.as_str().is_some_and(is_refused))
}

/// Refuses references to JavaScript files.
fn check_languages(context: &mut Context<'_>) {
    let config = context.config;
    let graphs = config.graphs.iter().filter(|(_, graph)| paths::is_javascript(graph));
    let mut found: Vec<Pointer> = graphs.map(|(id, _)| Pointer::root().join("graphs").join(id)).collect();
    let others = ["/auth/path", "/http/app"]
        .into_iter()
        .filter(|pointer| config.str_at(pointer).is_some_and(paths::is_javascript));
    found.extend(others.map(Pointer::parse));
    for pointer in found {
        let is_alone = context.config.server.javascript_image.is_some();
        let why = if is_alone { "it runs no JavaScript beside Python" } else { "it runs no JavaScript" };
        report(context, pointer, why);
    }
}

/// Refuses a version of the server other than the one that is installed.
fn check_version(context: &mut Context<'_>, installation: &Installation) {
    let Some(wanted) = context.config.api_version.as_deref() else { return };
    let is_installed = installation
        .version
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    if !is_installed {
        let why = format!("it has version {} of the server", installation.version);
        report(context, Pointer::parse("/api_version"), &why);
    }
}

/// Refuses lines that start a stage: the server is installed before them.
fn check_lines(context: &mut Context<'_>) {
    let lines = context.config.dockerfile_lines.as_deref().unwrap_or_default();
    if start_stage(lines) {
        report(
            context,
            Pointer::parse("/dockerfile_lines"),
            "it is installed before these lines, and not in another stage",
        );
    }
}

fn report(context: &mut Context<'_>, pointer: Pointer, why: &str) {
    let name = context.config.server.name;
    let message = format!("the server `{name}` does not support this: {why}");
    let help = "remove it, or choose another server with --server";
    context.report(Diagnostic::new(&UNSUPPORTED_BY_SERVER, Place::Value(pointer), message).help(help));
}

static UNSUPPORTED_BY_SERVER: Rule = rule!("unsupported-by-server");
