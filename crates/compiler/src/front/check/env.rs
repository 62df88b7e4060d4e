//! `env`: the file, and names and values of variables; also the prefix of variables in `webhooks`.

use super::{Context, locations, written};
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::files::Files;
use crate::front::config::EnvConfig;
use crate::manifests::gitignore;
use crate::paths;

/// All rules of this check.
pub(super) const RULES: &[&Rule] =
    &[&ENV_FILE_NOT_CREATED, &ENV_FILE_NOT_FOUND, &INVALID_VARIABLE_NAME, &INVALID_VARIABLE_VALUE];

/// Endings of the committed file that shows which variables an env file needs.
const EXAMPLES: &[&str] = &[".example", ".sample", ".template", ".dist"];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    match &config.env {
        Some(EnvConfig::File(path)) => check_file(context, path),
        Some(EnvConfig::Map(variables)) => {
            for (name, value) in variables {
                check_name(context, name);
                check_value(context, name, value);
            }
        }
        None => {}
    }
    if let Some(prefix) = config.str_at("/webhooks/env_prefix") {
        check_prefix(context, prefix);
    }
}

fn check_file(context: &mut Context<'_>, text: &str) {
    let path = paths::normalize(text);
    let is_reported = paths::is_unprintable(text) || context.refused_paths.contains(&path);
    let shown = written(&path);
    if !is_reported
        && matches!(context.files.content(&path), Some(Ok(bytes)) if std::str::from_utf8(&bytes).is_err())
    {
        let message = format!("`{shown}` is not valid UTF-8, so its variables cannot be read");
        let place = Place::Value(Pointer::parse("/env"));
        context.report(Diagnostic::new(&INVALID_VARIABLE_VALUE, place, message).help("save it as UTF-8"));
    }
    if is_reported || context.files.is_file(&path) {
        return;
    }
    let is_path = locations::is_usable(context, text) && !text.trim().is_empty();
    let example = EXAMPLES.iter().map(|ending| format!("{path}{ending}"));
    let example = example.into_iter().find(|example| is_path && context.files.is_file(example));
    let (rule, message, help) = if text.trim().is_empty() {
        let help = "write the path of a .env file, or leave `env` out".to_owned();
        (&ENV_FILE_NOT_FOUND, "`env` names no file".to_owned(), help)
    } else if context.files.is_directory(&path) {
        let help = format!("name the file in it, such as `{}`", written(&paths::join(&path, ".env")));
        (&ENV_FILE_NOT_FOUND, format!("`{shown}` is a directory, not a file"), help)
    } else if let Some(example) = example {
        let help = format!("copy `{}` to it and fill it in", written(&example));
        (&ENV_FILE_NOT_CREATED, format!("there is no file `{shown}` yet"), help)
    } else if is_path && let Some(by) = gitignore::ignored_by(&path, context.files) {
        let help = "create it where the server runs".to_owned();
        let message =
            format!("there is no file `{shown}`, which `{}` keeps out of the repository", written(&by));
        (&ENV_FILE_NOT_CREATED, message, help)
    } else {
        let help = "create it, or leave `env` out if the variables are set elsewhere".to_owned();
        (&ENV_FILE_NOT_FOUND, format!("there is no file `{shown}`"), help)
    };
    context.report(Diagnostic::new(rule, Place::Value(Pointer::parse("/env")), message).help(help));
}

fn fault(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        _ if name.contains('=') => Some("has a `=`"),
        _ if name.chars().any(char::is_control) => Some("has a control character"),
        _ if name.contains(char::is_whitespace) => Some("has white space"),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => Some("starts with a digit"),
        _ => None,
    }
}

fn check_name(context: &mut Context<'_>, name: &str) {
    let Some(why) = fault(name) else { return };
    let place = Place::Key(Pointer::root().join("env").join(name));
    let message = match name {
        "" => format!("a variable name {why}"),
        _ => format!("the variable name `{}` {why}", name.escape_debug()),
    };
    context.report(
        Diagnostic::new(&INVALID_VARIABLE_NAME, place, message)
            .help("write a name of letters, digits and `_`, such as `LOG_LEVEL`"),
    );
}

fn check_value(context: &mut Context<'_>, name: &str, value: &str) {
    if !value.contains('\0') {
        return;
    }
    let place = Place::Value(Pointer::root().join("env").join(name));
    let message = format!("the value of `{}` has a NUL character", name.escape_debug());
    context.report(
        Diagnostic::new(&INVALID_VARIABLE_VALUE, place, message)
            .help("remove the `\\u0000`, or encode the value, for example in base64"),
    );
}

fn check_prefix(context: &mut Context<'_>, prefix: &str) {
    // Without a prefix, all variables may be used.
    let Some(why) = fault(prefix).filter(|_| !prefix.is_empty()) else { return };
    let default = context.config.dialect.webhook_prefix();
    let place = Place::Value(Pointer::parse("/webhooks/env_prefix"));
    let message = format!("the prefix `{}` {why}", prefix.escape_debug());
    context.report(
        Diagnostic::new(&INVALID_VARIABLE_NAME, place, message)
            .help(format!("write a prefix of letters, digits and `_`, such as `{default}`")),
    );
}

static ENV_FILE_NOT_CREATED: Rule = rule!("env-file-not-created");

static ENV_FILE_NOT_FOUND: Rule = rule!("env-file-not-found");

static INVALID_VARIABLE_NAME: Rule = rule!("invalid-variable-name");

static INVALID_VARIABLE_VALUE: Rule = rule!("invalid-variable-value");
