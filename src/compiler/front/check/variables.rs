//! Variables of the server in `env`: values that it rejects, and sections that belong elsewhere.

use super::Context;
use crate::compiler::front::config::EnvConfig;
use crate::compiler::front::keys;
use crate::compiler::manifests::dotenv;
use crate::compiler::paths;
use crate::compiler::server::{FORMS, Form};
use crate::compiler::words::either;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_SERVER_VARIABLE, &SECTION_VARIABLE];

pub(super) fn check(context: &mut Context<'_>) {
    for (name, value) in variables(context) {
        let file = match &context.config.env {
            Some(EnvConfig::File(path)) => format!(" in `{}`", super::written(&paths::normalize(path))),
            _ => String::new(),
        };
        let message = format!("`{name}`{file}");
        if let Some((section, _)) = keys::handed_over().find(|(_, variable)| *variable == name) {
            let place = place(context, &name, false);
            let message = format!("{message} overrides the section `{section}` of the image");
            let help = format!("remove it, and write the section `{section}` instead");
            context.report(Diagnostic::new(&SECTION_VARIABLE, place, message).help(help));
        }
        let form = FORMS.iter().find(|(known, _)| *known == name).map(|(_, form)| *form);
        let is_wrong = |form: &Form| value.as_ref().is_some_and(|value| !is_valid(*form, value));
        if let Some(form) = form.filter(is_wrong) {
            let place = place(context, &name, true);
            let message = format!("{message} must be {}", described(form));
            let help = format!("write {}, or leave the variable out", described(form));
            context.report(Diagnostic::new(&INVALID_SERVER_VARIABLE, place, message).help(help));
        }
    }
}

/// The variables of `env` with their values; without a value where it depends on the environment.
pub(super) fn variables(context: &Context<'_>) -> Vec<(String, Option<String>)> {
    match &context.config.env {
        Some(EnvConfig::Map(variables)) => {
            variables.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect()
        }
        Some(EnvConfig::File(path)) => {
            let Some(text) = context.files.text(&paths::normalize(path)) else { return Vec::new() };
            let found = dotenv::parse(&text, |_| Some(UNKNOWN.to_owned())).variables;
            let known = |value: Option<String>| value.filter(|value| !value.contains(UNKNOWN));
            found.into_iter().map(|(name, value)| (name, known(value))).collect()
        }
        None => Vec::new(),
    }
}

/// Stands for a value of the environment; no variable can contain it.
const UNKNOWN: &str = "\0";

/// The key or value of the variable, or the path of the .env file.
pub(super) fn place(context: &Context<'_>, name: &str, is_value: bool) -> Place {
    let env = Pointer::parse("/env");
    match &context.config.env {
        Some(EnvConfig::Map(_)) if is_value => Place::Value(env.join(name)),
        Some(EnvConfig::Map(_)) => Place::Key(env.join(name)),
        _ => Place::Value(env),
    }
}

fn is_valid(form: Form, value: &str) -> bool {
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(value).is_ok();
    // Python allows white space around numbers, and underscores in them.
    let number = value.trim().replace('_', "");
    let is_number = || number.parse::<f64>().is_ok();
    match form {
        Form::Boolean => ["true", "false", "1", "0"].iter().any(|word| value.eq_ignore_ascii_case(word)),
        Form::Integer => number.trim_start_matches(['+', '-']).parse::<u128>().is_ok(),
        Form::Json => is_json(),
        Form::Number => is_number(),
        Form::NumberOrJson => is_number() || is_json(),
        Form::Path => value.is_empty() || value.starts_with('/'),
        Form::Lengths(lengths) => lengths.contains(&value.len()),
        Form::Words(words) => words.contains(&value),
    }
}

fn described(form: Form) -> String {
    match form {
        Form::Boolean => "`true` or `false`".to_owned(),
        Form::Integer => "a whole number".to_owned(),
        Form::Json => "JSON".to_owned(),
        Form::Number => "a number".to_owned(),
        Form::NumberOrJson => "a number of minutes, or JSON".to_owned(),
        Form::Path => "a path that starts with `/`".to_owned(),
        Form::Lengths(lengths) => {
            let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
            format!("a key of {} bytes", lengths.join(" or "))
        }
        Form::Words(words) => either(words.iter().copied()),
    }
}

static INVALID_SERVER_VARIABLE: Rule = Rule {
    code: "invalid-server-variable",
    severity: Severity::Error,
    summary: "a variable of the server has an invalid value",
    why: "The server reads some of its settings from environment variables, and does not start with a value of another \
          type.",
    wrong: r#"{ "env": { "N_JOBS_PER_WORKER": "many" } }"#,
    right: r#"{ "env": { "N_JOBS_PER_WORKER": "20" } }"#,
};

static SECTION_VARIABLE: Rule = Rule {
    code: "section-variable",
    severity: Severity::Warning,
    summary: "a variable in `env` overrides a section of the configuration",
    why: "The server reads each section of the configuration from a variable, which the image sets. In `env`, the variable \
          replaces the section without being checked, and its paths are not rewritten to the image's.",
    wrong: r#"{ "env": { "LANGGRAPH_HTTP": "{\"app\": \"./app.py:app\"}" } }"#,
    right: r#"{ "http": { "app": "./app.py:app" } }"#,
};
