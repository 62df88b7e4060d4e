//! `http`: cross-origin requests and the prefix of routes.

use super::Context;
use crate::compiler::front::config::{Config, EnvConfig};
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// What this check reports.
pub(super) const RULES: &[&Rule] =
    &[&CORS_ANY_ORIGIN_WITH_CREDENTIALS, &CORS_OVERRIDES_VARIABLE, &INVALID_MOUNT_PREFIX];

/// The variable whose value `http.cors` replaces.
const ORIGINS: &str = "CORS_ALLOW_ORIGINS";

pub(super) fn check(context: &mut Context<'_>) {
    let prefix = context.config.str_at("/http/mount_prefix").and_then(check_prefix);
    let found = [prefix, check_credentials(context.config), check_variable(context)];
    found.into_iter().flatten().for_each(|diagnostic| context.report(diagnostic));
}

fn check_credentials(config: &Config) -> Option<Diagnostic> {
    config.strs_at("/http/cors/allow_origins").find(|(_, origin)| *origin == "*")?;
    config.at("/http/cors/allow_credentials")?.as_bool().filter(|&allowed| allowed)?;
    let place = Place::Value(Pointer::parse("/http/cors/allow_credentials"));
    let message = "credentials are allowed for any origin";
    Some(
        Diagnostic::new(&CORS_ANY_ORIGIN_WITH_CREDENTIALS, place, message)
            .help("list the origins that may send credentials in `allow_origins` instead of `*`"),
    )
}

fn check_variable(context: &Context<'_>) -> Option<Diagnostic> {
    context.config.at("/http/cors")?;
    let env = Pointer::parse("/env");
    let place = match context.config.env.as_ref()? {
        EnvConfig::Map(variables) => Place::Key(variables.contains_key(ORIGINS).then(|| env.join(ORIGINS))?),
        EnvConfig::File(path) => {
            let text = context.files.text(&paths::normalize(path))?;
            Place::Value(text.lines().any(sets_origins).then_some(env)?)
        }
    };
    let message = format!("`http.cors` overrides the variable `{ORIGINS}`, which has no effect");
    let help = "keep one of the two: remove the variable, or `http.cors`";
    Some(Diagnostic::new(&CORS_OVERRIDES_VARIABLE, place, message).help(help))
}

fn sets_origins(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    line.strip_prefix(ORIGINS).is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn check_prefix(prefix: &str) -> Option<Diagnostic> {
    let end = prefix.len();
    let odd = prefix.find(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c));
    let url = prefix.split_once("://").map(|(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let (why, part) = match odd {
        _ if url.is_some() => ("is a URL, not a path", 0..end),
        _ if prefix.is_empty() => ("is empty", 0..0),
        Some(at) => (
            "has a character that no path can have",
            at..at + prefix[at..].chars().next().map_or(0, char::len_utf8),
        ),
        None if !prefix.starts_with('/') => ("does not start with `/`", 0..end),
        None if prefix.ends_with('/') => ("ends with `/`", end - 1..end),
        None => return None,
    };
    let help = match url.unwrap_or(prefix).trim().trim_matches('/') {
        "" => "leave `mount_prefix` out, or write for example `/agents`".to_owned(),
        trimmed => format!(
            "write `/{}`",
            trimmed.replace(|c: char| c.is_whitespace() || c.is_control() || "?#".contains(c), "-")
        ),
    };
    let pointer = Pointer::parse("/http/mount_prefix");
    let place = if part.is_empty() { Place::Value(pointer) } else { Place::Within(pointer, part) };
    let message = format!("the prefix `{}` {why}", prefix.escape_debug());
    Some(Diagnostic::new(&INVALID_MOUNT_PREFIX, place, message).help(help))
}

static CORS_ANY_ORIGIN_WITH_CREDENTIALS: Rule = Rule {
    code: "cors-any-origin-with-credentials",
    severity: Severity::Warning,
    summary: "any origin may send credentials",
    why: "With `*` and credentials, every web site that a user visits may call the server with that user's cookies. \
          Browsers refuse the literal combination; servers that answer with the caller's origin instead open it to all.",
    wrong: r#"{ "http": { "cors": { "allow_origins": ["*"], "allow_credentials": true } } }"#,
    right: r#"{ "http": { "cors": { "allow_origins": ["https://app.example.com"], "allow_credentials": true } } }"#,
};

static CORS_OVERRIDES_VARIABLE: Rule = Rule {
    code: "cors-overrides-variable",
    severity: Severity::Warning,
    summary: "`http.cors` overrides CORS_ALLOW_ORIGINS",
    why: "Where `http.cors` is given, the server does not read the variable CORS_ALLOW_ORIGINS. Changing the variable \
          would seem to do nothing.",
    wrong: r#"{ "env": { "CORS_ALLOW_ORIGINS": "https://a.example" }, "http": { "cors": { "allow_origins": ["https://b.example"] } } }"#,
    right: r#"{ "http": { "cors": { "allow_origins": ["https://a.example", "https://b.example"] } } }"#,
};

static INVALID_MOUNT_PREFIX: Rule = Rule {
    code: "invalid-mount-prefix",
    severity: Severity::Error,
    summary: "a prefix of routes that is no path",
    why: "The prefix is put before the path of every route. It starts with a slash, ends without one, and holds \
          nothing that ends a path.",
    wrong: r#"{ "http": { "mount_prefix": "agents/" } }"#,
    right: r#"{ "http": { "mount_prefix": "/agents" } }"#,
};
