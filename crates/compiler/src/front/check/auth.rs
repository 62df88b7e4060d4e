//! `auth`: the handler, and the security schemes of the OpenAPI document.

use serde_json::Value;

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::front::keys::row;
use crate::words::{listed, similar};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&MISSING_AUTH_PATH, &UNKNOWN_SECURITY_SCHEME];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let is_empty = config.at("/auth").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
    if !is_empty && context.is_absent("/auth/path") {
        let example = row(&Pointer::parse("/auth/path")).map_or("", |row| row.example);
        let place = Place::Key(Pointer::parse("/auth"));
        context.report(
            Diagnostic::new(&MISSING_AUTH_PATH, place, "`auth` has no handler")
                .help(format!("add `\"path\": {example}`")),
        );
    }
    if !context.is_removed("/auth/openapi") {
        check_schemes(context);
    }
}

/// Reports requirements that name an undefined scheme.
fn check_schemes(context: &mut Context<'_>) {
    let Some(openapi) = context.config.at("/auth/openapi") else { return };
    let at = Pointer::parse("/auth/openapi");
    let schemes = openapi.get("securitySchemes").and_then(Value::as_object);
    let known: Vec<&str> = schemes.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let mut lists = vec![(at.join("security"), openapi.get("security"))];
    for (path, methods) in openapi.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (method, list) in methods.as_object().into_iter().flatten() {
            lists.push((at.join("paths").join(path).join(method), Some(list)));
        }
    }
    for (at, list) in lists {
        for (index, requirement) in list.and_then(Value::as_array).into_iter().flatten().enumerate() {
            for (name, _) in requirement.as_object().into_iter().flatten() {
                if known.contains(&name.as_str()) {
                    continue;
                }
                let message = format!("`{}` is not one of the `securitySchemes`", name.escape_debug());
                let place = Place::Key(at.join(index).join(name));
                let help = match similar(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => "define it in `auth.openapi.securitySchemes`".to_owned(),
                    None => format!("define it there, or use one of {}", listed(known.iter().copied())),
                };
                let diagnostic = Diagnostic::new(&UNKNOWN_SECURITY_SCHEME, place, message).help(help);
                context.report(diagnostic.dispensable());
            }
        }
    }
}

static MISSING_AUTH_PATH: Rule = rule!("missing-auth-path");

static UNKNOWN_SECURITY_SCHEME: Rule = rule!("unknown-security-scheme");
