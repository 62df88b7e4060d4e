//! `http`: cross-origin requests and the prefix of routes.

use serde_json::Value;

use super::Context;
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer, Rule, rule};
use crate::front::config::Config;
use crate::server;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &CORS_ALLOWS_GET_ONLY,
    &CORS_ANY_ORIGIN_WITH_CREDENTIALS,
    &CORS_OVERRIDES_VARIABLE,
    &INVALID_MOUNT_PREFIX,
    &INVALID_ORIGIN,
    &INVALID_ORIGIN_REGEX,
];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let found = [
        config.str_at("/http/mount_prefix").and_then(check_prefix),
        config.str_at("/http/cors/allow_origin_regex").and_then(check_regex),
        check_methods(context),
        check_credentials(config),
        check_variable(context),
    ];
    let origins =
        config.strs_at("/http/cors/allow_origins").filter_map(|(at, origin)| check_origin(at, origin));
    found.into_iter().flatten().chain(origins).for_each(|diagnostic| context.report(diagnostic));
}

/// An origin in another form than browsers send it: the server compares strings.
fn check_origin(at: Pointer, origin: &str) -> Option<Diagnostic> {
    let (scheme, host) = origin.split_once("://").unwrap_or(("https", origin));
    let sent = format!("{scheme}://{}", host.split(['/', '?', '#']).next()?).to_lowercase();
    let port = [("http://", ":80"), ("https://", ":443")].iter().find(|(start, _)| sent.starts_with(start));
    let sent = port.and_then(|(_, port)| sent.strip_suffix(port)).unwrap_or(&sent);
    if ["*", "null", sent].contains(&origin) && !sent.contains("://*.") {
        return None;
    }
    let place = Place::Value(at);
    let message = format!("no browser sends the origin `{}`", origin.escape_debug());
    let diagnostic = Diagnostic::new(&INVALID_ORIGIN, place.clone(), message);
    Some(if host.contains('*') {
        diagnostic.help("write a regular expression into `allow_origin_regex`")
    } else {
        diagnostic.help(format!("write `{sent}`")).fix(Fix::likely(place, Edit::string(sent)))
    })
}

fn check_methods(context: &Context<'_>) -> Option<Diagnostic> {
    let cors = context.config.at("/http/cors")?.as_object().filter(|cors| !cors.is_empty())?;
    if cors.contains_key("allow_methods") || !context.is_absent("/http/cors/allow_methods") {
        return None;
    }
    let place = Place::Key(Pointer::parse("/http/cors"));
    Some(
        Diagnostic::new(&CORS_ALLOWS_GET_ONLY, place, "`http.cors` allows only GET requests")
            .help(r#"add `"allow_methods": ["*"]`, or list the methods"#)
            .fix(Fix::likely(
                Place::Value(Pointer::parse("/http/cors")),
                Edit::Add(r#""allow_methods": ["*"]"#.to_owned()),
            )),
    )
}

fn check_credentials(config: &Config) -> Option<Diagnostic> {
    config.strs_at("/http/cors/allow_origins").find(|(_, origin)| *origin == "*")?;
    config.at("/http/cors/allow_credentials").filter(|allowed| **allowed == Value::Bool(true))?;
    let place = Place::Value(Pointer::parse("/http/cors/allow_credentials"));
    let message = "credentials are allowed for any origin";
    Some(
        Diagnostic::new(&CORS_ANY_ORIGIN_WITH_CREDENTIALS, place, message)
            .help("list the origins that may send credentials in `allow_origins` instead of `*`"),
    )
}

fn check_variable(context: &Context<'_>) -> Option<Diagnostic> {
    context.config.at("/http/cors")?;
    let name = server::CORS_ORIGINS;
    let variables = context.variables();
    let variable = variables.iter().find(|variable| variable.name == name)?;
    let message = format!("`http.cors` overrides the variable `{name}`");
    let diagnostic = Diagnostic::new(&CORS_OVERRIDES_VARIABLE, variable.place(), message);
    Some(variable.locate(diagnostic).help("remove the variable, or `http.cors`"))
}

fn check_prefix(prefix: &str) -> Option<Diagnostic> {
    let end = prefix.len();
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "?#@\\".contains(c);
    let url = prefix.split_once("://").map(|(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let reserved = server::RESERVED_MOUNT_PREFIX;
    let (why, part) = match prefix.find(is_odd) {
        _ if url.is_some() => ("is a URL, not a path", 0..end),
        _ if prefix.is_empty() => ("is empty", 0..0),
        Some(at) => {
            let length = prefix[at..].chars().next().map_or(0, char::len_utf8);
            ("has an invalid character", at..at + length)
        }
        None if !prefix.starts_with('/') => ("does not start with `/`", 0..end),
        None if prefix
            .strip_prefix(reserved)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) =>
        {
            ("is reserved by the server", 0..reserved.len())
        }
        None => return None,
    };
    let pointer = Pointer::parse("/http/mount_prefix");
    let (help, fix) = match url.unwrap_or(prefix).trim().trim_matches('/') {
        _ if prefix.starts_with(reserved) => ("write another prefix, such as `/agents`".to_owned(), None),
        "" => ("leave `mount_prefix` out, or write for example `/agents`".to_owned(), None),
        trimmed => {
            let correct = format!("/{}", trimmed.replace(is_odd, "-"));
            let fix = Fix::likely(Place::Value(pointer.clone()), Edit::string(&correct));
            let is_safe = url.is_none() && !prefix.contains(is_odd);
            (format!("write `{correct}`"), Some(Fix { is_safe, ..fix }))
        }
    };
    let place = if part.is_empty() { Place::Value(pointer) } else { Place::Within(pointer, part) };
    let message = format!("the prefix `{}` {why}", prefix.escape_debug());
    Some(Diagnostic::new(&INVALID_MOUNT_PREFIX, place, message).help(help).fix(fix))
}

fn check_regex(regex: &str) -> Option<Diagnostic> {
    let (message, at) = regex_fault(regex)?;
    let end = regex[at..].chars().next().map_or(at, |c| at + c.len_utf8());
    let place = Place::Within(Pointer::parse("/http/cors/allow_origin_regex"), at..end);
    Some(
        Diagnostic::new(&INVALID_ORIGIN_REGEX, place, message)
            .help(r"write a Python regular expression, such as `https://.*\\.example\\.com`"),
    )
}

/// An error in a Python regular expression, and its byte offset. Only errors that are certain: the brackets, escapes
/// and repetitions that Python rejects wherever they are.
fn regex_fault(regex: &str) -> Option<(&'static str, usize)> {
    let mut groups = Vec::new();
    let mut repeatable = false;
    let mut chars = regex.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|&(_, c)| c);
        match c {
            '\\' if chars.next().is_none() => return Some(("the regular expression ends with `\\`", at)),
            '[' => {
                // The first `]` of a set is a member of it.
                chars.next_if(|&(_, c)| c == '^');
                chars.next_if(|&(_, c)| c == ']');
                loop {
                    match chars.next() {
                        None => return Some(("the regular expression has an unclosed `[`", at)),
                        Some((_, '\\')) => drop(chars.next()),
                        Some((_, ']')) => break,
                        Some(_) => {}
                    }
                }
            }
            // Groups with extensions may contain comments, or turn on the mode that ignores white space.
            '(' if next == Some('?') => return None,
            '(' => groups.push(at),
            ')' if groups.pop().is_none() => {
                return Some(("the regular expression has an unmatched `)`", at));
            }
            '*' | '+' | '?' if !repeatable => return Some(("the regular expression repeats nothing", at)),
            '*' | '+' | '?' => drop(chars.next_if(|&(_, c)| matches!(c, '?' | '+'))),
            _ => {}
        }
        repeatable = !matches!(c, '(' | '|' | '^' | '*' | '+' | '?');
    }
    groups.pop().map(|at| ("the regular expression has an unclosed `(`", at))
}

static CORS_ALLOWS_GET_ONLY: Rule = rule!("cors-allows-get-only");

static CORS_ANY_ORIGIN_WITH_CREDENTIALS: Rule = rule!("cors-any-origin-with-credentials");

static CORS_OVERRIDES_VARIABLE: Rule = rule!("cors-overrides-variable");

static INVALID_MOUNT_PREFIX: Rule = rule!("invalid-mount-prefix");

static INVALID_ORIGIN: Rule = rule!("invalid-origin");

static INVALID_ORIGIN_REGEX: Rule = rule!("invalid-origin-regex");

#[cfg(test)]
mod tests {
    use super::regex_fault;

    #[test]
    fn only_certain_errors_of_regexes_are_found() {
        for (regex, at) in
            [("*.a", 0), ("a|*", 2), ("(a", 0), ("a)", 1), ("[a", 0), (r"a\", 1), ("[]a", 0), ("(a**)", 3)]
        {
            assert_eq!(regex_fault(regex).map(|(_, at)| at), Some(at), "{regex}");
        }
        for regex in [
            r"https://.*\.example\.com",
            "[]*]+",
            "[^]]",
            r"\(",
            "a*?",
            "a*+",
            "(?x) *",
            "a{2,}?",
            "^a$",
            "$*",
            "(?P<n>*",
        ] {
            assert_eq!(regex_fault(regex), None, "{regex}");
        }
    }
}
