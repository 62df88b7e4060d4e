//! `webhooks`: header names, templates in header values, and allowed domains.

use std::ops::Range;

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};
use crate::words::is_variable;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[
    &INVALID_HEADER_NAME,
    &INVALID_HEADER_VALUE,
    &MALFORMED_TEMPLATE,
    &TEMPLATE_OUTSIDE_PREFIX,
    &UNSUPPORTED_WILDCARD,
];

pub(super) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let unknown = context.is_removed("/webhooks/env_prefix");
    let given = config.str_at("/webhooks/env_prefix");
    let prefix = (!unknown).then(|| given.unwrap_or(config.dialect.webhook_prefix()));
    let mut found = Vec::new();
    for (name, value) in config.members_at("/webhooks/headers") {
        let pointer = Pointer::parse("/webhooks/headers").join(name);
        found.extend(check_header_name(name, &pointer));
        found.extend(check_header_value(name, value, &pointer));
        found.extend(check_templates(value, &pointer, prefix));
    }
    for (pointer, domain) in config.strs_at("/webhooks/url/allowed_domains") {
        found.extend(check_domain(domain, &pointer));
    }
    found.into_iter().for_each(|diagnostic| context.report(diagnostic));
}

fn check_header_name(name: &str, pointer: &Pointer) -> Option<Diagnostic> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if !name.is_empty() && name.chars().all(allowed) {
        return None;
    }
    let message = match name {
        "" => "a header name is empty".to_owned(),
        _ => format!("invalid header name `{}`", name.escape_debug()),
    };
    let diagnostic = Diagnostic::new(&INVALID_HEADER_NAME, Place::Key(pointer.clone()), message);
    Some(diagnostic.help("write letters, digits and `-`, such as `X-Api-Key`"))
}

/// Reports characters that cannot be sent. Those in templates are not sent.
fn check_header_value(name: &str, value: &str, pointer: &Pointer) -> Option<Diagnostic> {
    let mut templates = templates(value).into_iter().peekable();
    let mut is_sent = |at: usize| {
        while templates.next_if(|template| template.end <= at).is_some() {}
        templates.peek().is_none_or(|template| at < template.start)
    };
    let mut odd = value.char_indices().filter(|(_, c)| c.is_control() && *c != '\t');
    let (at, c) = odd.find(|(at, _)| is_sent(*at))?;
    let what = if matches!(c, '\n' | '\r') { "a line break" } else { "a control character" };
    let message = format!("the value of the header `{}` has {what}", name.escape_debug());
    let place = Place::Within(pointer.clone(), at..at + c.len_utf8());
    Some(Diagnostic::new(&INVALID_HEADER_VALUE, place, message).help("write it on one line, as plain text"))
}

/// The byte ranges of templates in `value`; an unclosed one goes to the end.
fn templates(value: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = value[at..].find("${{").map(|offset| at + offset) {
        at = value[start..].find("}}").map_or(value.len(), |offset| start + offset + 2);
        found.push(start..at);
    }
    found
}

fn check_templates(value: &str, pointer: &Pointer, prefix: Option<&str>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for part in templates(value) {
        let start = part.start;
        match variable(&value[part.clone()]) {
            Some(inner) => {
                let part = start + inner.start..start + inner.end;
                found.extend(check_prefix(
                    &value[part.clone()],
                    Place::Within(pointer.clone(), part),
                    prefix,
                ));
            }
            None => found.push(malformed(&value[part.clone()], Place::Within(pointer.clone(), part), prefix)),
        }
    }
    found
}

/// The byte range of NAME in `${{ env.NAME }}`.
fn variable(template: &str) -> Option<Range<usize>> {
    let name = template.strip_prefix("${{")?.trim_start().strip_prefix("env.")?;
    let start = template.len() - name.len();
    let name = name.strip_suffix("}}")?.trim_end();
    is_variable(name).then(|| start..start + name.len())
}

fn malformed(template: &str, place: Place, prefix: Option<&str>) -> Diagnostic {
    let message = if template.ends_with("}}") {
        format!("`{}` is not of the form `${{{{ env.NAME }}}}`", template.escape_debug())
    } else {
        "unclosed template".to_owned()
    };
    // Most likely, the last word is the name.
    let name =
        template.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|word| is_variable(word));
    let name = name.filter(|name| *name != "env").unwrap_or("TOKEN");
    let prefix = prefix.filter(|prefix| !name.starts_with(prefix)).unwrap_or_default();
    Diagnostic::new(&MALFORMED_TEMPLATE, place, message)
        .help(format!("write `${{{{ env.{prefix}{name} }}}}`"))
}

fn check_prefix(name: &str, place: Place, prefix: Option<&str>) -> Option<Diagnostic> {
    let prefix = prefix.filter(|prefix| !name.starts_with(prefix))?;
    let message = format!("the variable `{name}` does not start with `{}`", prefix.escape_debug());
    Some(
        Diagnostic::new(&TEMPLATE_OUTSIDE_PREFIX, place, message)
            .help(format!("rename the variable to `{prefix}{name}`, or set `env_prefix`")),
    )
}

fn check_domain(domain: &str, pointer: &Pointer) -> Option<Diagnostic> {
    let (why, part, help) = domain_fault(domain)?;
    let message = format!("`{}` {why}", domain.escape_debug());
    let place =
        if part.is_empty() { Place::Value(pointer.clone()) } else { Place::Within(pointer.clone(), part) };
    Some(Diagnostic::new(&UNSUPPORTED_WILDCARD, place, message).help(help))
}

fn domain_fault(domain: &str) -> Option<(&'static str, Range<usize>, String)> {
    let host = "write the host alone, such as `example.com` or `*.example.com`".to_owned();
    if let Some(at) = domain.find("://") {
        return Some(("has a scheme", 0..at + 3, host));
    }
    if let Some(at) = domain.find(['/', '?', '#', '@']) {
        return Some(("is more than a host", at..domain.len(), host));
    }
    if let Some(at) = domain.find(':') {
        return Some(("has a port", at..domain.len(), "list ports in `allowed_ports`".to_owned()));
    }
    if domain == "*" {
        let help = "leave `allowed_domains` out to allow every host".to_owned();
        return Some(("is not a host", 0..1, help));
    }
    let rest = domain.strip_prefix("*.").unwrap_or(domain);
    if let Some(at) = rest.find('*').map(|at| at + domain.len() - rest.len()) {
        let help = "write `*` only as the first part, such as `*.example.com`".to_owned();
        return Some(("has an unsupported `*`", at..at + 1, help));
    }
    let odd = |c: char| c.is_whitespace() || c.is_control();
    (rest.split('.').any(str::is_empty) || domain.contains(odd)).then_some((
        "is not a host",
        0..domain.len(),
        host,
    ))
}

static INVALID_HEADER_NAME: Rule = rule!("invalid-header-name");

static INVALID_HEADER_VALUE: Rule = rule!("invalid-header-value");

static MALFORMED_TEMPLATE: Rule = rule!("malformed-template");

static TEMPLATE_OUTSIDE_PREFIX: Rule = rule!("template-outside-prefix");

static UNSUPPORTED_WILDCARD: Rule = rule!("unsupported-wildcard");
