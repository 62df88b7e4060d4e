//! PEP 508 requirements: `name[extra]>=1.0; python_version > "3.11"`.
//!
//! `pep508_rs` reads them. This module guards it against names that it panics on and conditions that it recurses into,
//! accepts what installers accept beyond the specification, and words its errors.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use pep508_rs::pep440_rs::{Version, VersionSpecifiers, release_specifiers_to_ranges};
use pep508_rs::{Pep508Error, Pep508ErrorSource, Pep508Url, VersionOrUrl};

use super::Broken;
use crate::words::similar;

/// Characters of a path that a URL can have.
const URL_CHARACTERS: &str = "-._~/!$'()*+,:@=";

/// The most bytes of the extras of a requirement, for which `pep508_rs` takes quadratic time.
const MAX_EXTRAS: usize = 8 * 1024;

/// Conditions longer than this, in bytes, are not checked: `pep508_rs` normalises them, which can take exponential time.
/// The longest ones of published packages have 260.
const MAX_CONDITION: usize = 300;

/// Conditions with more parentheses than this are not checked: `pep508_rs` recurses into them.
const MAX_NESTING: usize = 32;

/// The variables of conditions.
const VARIABLES: &[&str] = &[
    "extra",
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
];

/// The parts of a requirement that are used here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The name, normalised (see [`normalized_name`]); a bare URL has none.
    pub name: Option<String>,
    /// Whether it is a name only.
    pub is_bare: bool,
    /// Whether it has a condition (`; python_version > "3.11"`).
    pub is_conditional: bool,
}

/// The parts of a requirement that decide what is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The name, normalised.
    pub name: String,
    /// The extras, normalised and sorted.
    pub extras: Vec<String>,
    /// The versions, as [`normalized_versions`]; absent for a URL.
    pub versions: Option<String>,
    /// Whether it has a condition, which is not read.
    pub is_conditional: bool,
}

impl Parts {
    /// Whether it may exclude versions that are newer than those that it allows.
    pub fn is_bounded(&self) -> bool {
        let versions = self.versions.as_ref();
        versions.is_none_or(|versions| versions.split(',').any(|it| it.starts_with(['<', '=', '~'])))
    }
}

/// The parts of the requirement `text`; `None` if it is invalid, or cannot be read reliably.
pub fn parts(text: &str) -> Option<Parts> {
    read_name(text).ok().filter(|_| !is_unchecked(text))?;
    let requirement = pep508_rs::Requirement::<Address>::from_str(&lenient(text)).ok()?;
    let mut extras: Vec<String> = requirement.extras.iter().map(ToString::to_string).collect();
    extras.sort();
    let versions = match requirement.version_or_url {
        None => Some(String::new()),
        Some(VersionOrUrl::VersionSpecifier(versions)) => Some(sorted(&versions)),
        Some(VersionOrUrl::Url(_)) => None,
    };
    let is_conditional = text.contains(';');
    Some(Parts { name: requirement.name.to_string(), extras, versions, is_conditional })
}

/// Version specifiers such as `>=1.0, <2` in an order of their own, without white space.
pub fn normalized_versions(text: &str) -> Option<String> {
    VersionSpecifiers::from_str(text).ok().map(|versions| sorted(&versions))
}

/// Whether no version meets both specifiers such as `>=1.0,<2`; `None` if one of them cannot be read.
pub fn is_disjoint(one: &str, other: &str) -> Option<bool> {
    let versions = |text: &str| VersionSpecifiers::from_str(text).ok().map(release_specifiers_to_ranges);
    Some(versions(one)?.is_disjoint(&versions(other)?))
}

/// Whether some version meets `text` and `bounds`, and none of `excluded`; `None` if one of them cannot be read.
pub fn fits(text: &str, bounds: &str, excluded: &[&str]) -> Option<bool> {
    let versions = |text: &str| VersionSpecifiers::from_str(text).ok().map(release_specifiers_to_ranges);
    let mut left = versions(text)?.intersection(&versions(bounds)?);
    for excluded in excluded {
        left = left.intersection(&versions(excluded)?.complement());
    }
    Some(!left.is_empty())
}

fn sorted(versions: &VersionSpecifiers) -> String {
    let mut versions: Vec<String> = versions.iter().map(ToString::to_string).collect();
    versions.sort();
    versions.join(",")
}

/// `name` as PEP 503 compares it: lowercase, with runs of `-`, `_` and `.` as one `-`.
pub fn normalized_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Whether `text` starts like the name of a package.
pub fn starts_like_a_name(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The normalised name in the requirement `text`, if it is valid and has one.
pub fn name(text: &str) -> Option<String> {
    read(text).ok()?.name
}

/// The normalised name that `text` starts with. The rest may be invalid, such as a URL with variables of a build backend.
pub fn written_name(text: &str) -> Option<String> {
    let name = read_name(text).ok().filter(|_| bare_url(text).is_none())?;
    Some(normalized_name(&text[name]))
}

/// The extras that the requirement `text` asks for, as written.
pub fn extras(text: &str) -> Vec<String> {
    let start = text.find(|c| "[@;<=>~!(".contains(c));
    let list =
        start.and_then(|at| text[at..].strip_prefix('[')?.split_once(']')).map_or("", |(list, _)| list);
    list.split(',').map(|extra| extra.trim().to_owned()).filter(|extra| !extra.is_empty()).collect()
}

/// The requirement `text` without one of its extras.
pub fn without_extra(text: &str, extra: &str) -> String {
    let all = extras(text);
    let Some((name, (_, rest))) =
        text.split_once('[').and_then(|(name, rest)| Some((name, rest.split_once(']')?)))
    else {
        return text.to_owned();
    };
    let others: Vec<_> = all.iter().filter(|it| normalized_name(it) != extra).map(String::as_str).collect();
    match others.len() {
        count if count == all.len() => text.to_owned(),
        0 => format!("{name}{rest}"),
        _ => format!("{name}[{}]{rest}", others.join(",")),
    }
}

/// The requirement `text`, taken from `url` instead of an index.
pub fn with_url(text: &str, url: &str) -> String {
    let (requirement, condition) = text.split_once(';').unwrap_or((text, ""));
    let end = requirement.find(|c| "@<=>~!(".contains(c)).unwrap_or(requirement.len());
    let condition = if condition.is_empty() { String::new() } else { format!(" ; {}", condition.trim()) };
    format!("{} @ {url}{condition}", requirement[..end].trim())
}

/// Reads `text`. A bare URL is valid, since installers accept one.
pub fn read(text: &str) -> Result<Requirement, Broken> {
    if let Some(is_conditional) = bare_url(text) {
        return Ok(Requirement { is_conditional, ..Requirement::default() });
    }
    let name = read_name(text)?;
    if !is_unchecked(text)
        && let Err(error) = pep508_rs::Requirement::<Address>::from_str(&lenient(text))
    {
        return Err(broken(text, name.end, &error));
    }
    Ok(Requirement {
        name: Some(normalized_name(&text[name.clone()])),
        is_bare: text.trim() == &text[name],
        is_conditional: text.contains(';'),
    })
}

/// Whether `text`, if it is `https://…` or `git+ssh://…` without a name before it, has a condition. Installers read one
/// after a `;` next to a space; any other `;` is part of the URL.
fn bare_url(text: &str) -> Option<bool> {
    let split = text.split_once("; ").or_else(|| text.split_once(" ;"));
    let url = split.map_or(text, |(url, _)| url).trim();
    let (scheme, _) = url.split_once("://")?;
    (is_scheme(scheme) && !url.contains(char::is_whitespace)).then_some(split.is_some())
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
}

/// The range of the name, if it is valid and followed by something that can follow a name.
fn read_name(text: &str) -> Result<Range<usize>, Broken> {
    let whole = trimmed(0, text);
    if whole.is_empty() {
        return Err(Broken::new(0..text.len(), "expected the name of a package"));
    }
    let rest = &text[whole.start..];
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name = whole.start..whole.start + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    if !starts_like_a_name(rest) {
        let message = "expected the name of a package, which starts with a letter or digit";
        return Err(Broken::new(character(text, name.start), message));
    }
    if text[name.clone()].ends_with(['-', '_', '.']) {
        return Err(Broken::new(name.end - 1..name.end, "a package name must end with a letter or digit"));
    }
    let mut after = text[name.end..].trim_start();
    if let Some(extras) = after.strip_prefix('[') {
        let open = text.len() - after.len();
        let Some((extras, rest)) = extras.split_once(']') else {
            return Err(Broken::new(open..whole.end, "missing `]` after the extras"));
        };
        if extras.len() > MAX_EXTRAS {
            let message = format!("extras of more than {} KiB are not read", MAX_EXTRAS / 1024);
            return Err(Broken::new(open..open + 1, message));
        }
        let mut names = extras.split(|c: char| c == ',' || c.is_whitespace());
        if names.any(|name| name.ends_with(['-', '_', '.'])) {
            let message = "the name of an extra must end with a letter or digit";
            return Err(Broken::new(open + 1..open + 1 + extras.len(), message));
        }
        after = rest.trim_start();
    }
    if after.is_empty() || after.starts_with(['@', '(', '<', '=', '>', '~', '!', ';']) {
        return Ok(name);
    }
    let mut error = Broken::new(
        text.len() - after.len()..whole.end,
        "expected a version, a URL or a condition after the package name",
    );
    let version = after.trim_start_matches([':', '^']).trim();
    let name = &text[name];
    error.help = Version::from_str(version).is_ok().then(|| {
        if after.starts_with('^') {
            format!("write `{name}~={version}`, or a lower and an upper bound")
        } else {
            format!("write `{name}=={version}`")
        }
    });
    Err(error)
}

/// Whether `pep508_rs` cannot, or should not, read `text`: it does not know `===`, which installers do, and it panics on
/// some conditions that are not ASCII.
fn is_unchecked(text: &str) -> bool {
    let condition = text.split_once(';').map_or("", |(_, condition)| condition);
    text.contains("===")
        || !condition.is_ascii()
        || condition.len() > MAX_CONDITION
        || condition.matches('(').count() > MAX_NESTING
}

/// `text` with blanks for what installers accept beyond the specification: a comma after the last version, and
/// parentheses without versions.
fn lenient(text: &str) -> String {
    let mut lenient = text.to_owned();
    let versions = text.split(';').next().unwrap_or_default().trim_end();
    let (inner, is_enclosed) =
        versions.strip_suffix(')').map_or((versions, false), |it| (it.trim_end(), true));
    let before = inner.strip_suffix([',', '(']).unwrap_or(inner).trim_end();
    if inner.ends_with('(') && is_enclosed {
        lenient.replace_range(inner.len() - 1..versions.len(), &" ".repeat(versions.len() + 1 - inner.len()));
    } else if inner.ends_with(',') && !before.ends_with([',', '(']) && before.contains(['<', '>', '=']) {
        lenient.replace_range(inner.len() - 1..inner.len(), " ");
    }
    lenient
}

/// The error of `pep508_rs` about `text`, whose name ends at byte `name_end`, in our words.
fn broken(text: &str, name_end: usize, error: &Pep508Error<Address>) -> Broken {
    let start = text.floor_char_boundary(error.start);
    let end = text.ceil_char_boundary((error.start + error.len).min(text.len())).max(start);
    let part = trimmed(start, &text[start..end]);
    let written = &text[part.clone()];
    match &error.message {
        Pep508ErrorSource::UrlError(_) => broken_url(text, name_end, part),
        _ if written.starts_with(['<', '>', '=', '~', '!']) => broken_version(text, part),
        // Names before URLs are checked, so that this can only be the name itself.
        Pep508ErrorSource::UnsupportedRequirement(_) => {
            Broken::new(trimmed(0, text), "expected the name of a package, found that of an archive")
        }
        Pep508ErrorSource::String(message) => {
            // The message may quote `text`.
            let message = if text.contains("://") {
                "invalid syntax".to_owned()
            } else {
                lowercase(message.trim_end_matches(", found ``"))
            };
            let help = if written.starts_with(|c: char| c.is_ascii_digit()) {
                Some(format!("put it in quotes: `'{written}'`"))
            } else {
                similar(written, VARIABLES.iter().copied()).map(|it| format!("did you mean `{it}`?"))
            };
            Broken { message, span: visible(text, part), help: help.filter(|_| text[..start].contains(';')) }
        }
    }
}

fn broken_url(text: &str, name_end: usize, part: Range<usize>) -> Broken {
    let (name, url) = (text[..name_end].trim(), &text[part.clone()]);
    if let Some((address, rest)) = url.split_once(char::is_whitespace).filter(|_| url.contains(':')) {
        return Broken::new(trimmed(part.start + address.len() + 1, rest), "unexpected text after the URL");
    }
    let mut error = Broken::new(part, "expected a URL after the `@`");
    if Version::from_str(url).is_ok() {
        error.help = Some(format!("write `{name}=={url}`"));
    } else if url.starts_with(['.', '/']) {
        error.help = Some("list a local directory by its path only, such as `./libs/shared`".to_owned());
    }
    error
}

/// A comparison of versions, at `part`, that is invalid.
fn broken_version(text: &str, part: Range<usize>) -> Broken {
    let written = &text[part.clone()];
    let operator = &written[..written.find(|c| !"<>=!~^".contains(c)).unwrap_or(written.len())];
    let at_operator = part.start..part.start + operator.len();
    let version = trimmed(at_operator.end, &text[at_operator.end..part.end]);
    let (span, message, help) = match &text[version.clone()] {
        _ if operator == "=" => {
            (at_operator, "a single `=` does not compare versions".to_owned(), Some("write `==`"))
        }
        _ if !["==", "!=", "<=", ">=", "~=", "<", ">"].contains(&operator) => (
            at_operator,
            format!("`{operator}` does not compare versions"),
            Some("write one of `==`, `!=`, `<=`, `>=`, `<`, `>` and `~=`"),
        ),
        "" => (at_operator, format!("expected a version after `{operator}`"), None),
        other if other.contains("://") => (version, "expected a version, found a URL".to_owned(), None),
        other if Version::from_str(other.trim_end_matches(".*")).is_ok() => {
            (part, format!("`{operator}` cannot be used with a version of this form"), None)
        }
        other => {
            let help = other.contains(['<', '>', '=', '!', '~']).then_some("separate comparisons with `,`");
            (version.clone(), format!("expected a version, found `{other}`"), help)
        }
    };
    Broken { message, span, help: help.map(str::to_owned) }
}

/// `part`, or the character at or before it if it is empty.
fn visible(text: &str, part: Range<usize>) -> Range<usize> {
    let before = || text[..part.start].char_indices().next_back().map_or(0, |(at, _)| at)..part.end;
    match part.is_empty() {
        true if part.end < text.len() => character(text, part.start),
        true => before(),
        false => part,
    }
}

/// The range of the character at byte `at`.
fn character(text: &str, at: usize) -> Range<usize> {
    at..at + text[at..].chars().next().map_or(0, char::len_utf8)
}

/// The range of `text`, which starts at byte `start`, without white space around it.
fn trimmed(start: usize, text: &str) -> Range<usize> {
    let start = start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

fn lowercase(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The URL of a requirement, of which only the scheme is checked. The URL type of `pep508_rs` reads the environment.
#[derive(Debug)]
struct Address;

#[derive(Debug, thiserror::Error)]
#[error("not a URL")]
struct NotAUrl;

impl Pep508Url for Address {
    type Err = NotAUrl;

    fn parse_url(url: &str, _: Option<&Path>) -> Result<Self, NotAUrl> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let is_url = is_scheme(scheme) && !url.contains(char::is_whitespace);
        is_url.then_some(Self).ok_or(NotAUrl)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// The URL of a file. Installers take a relative one from their working directory.
pub fn file_url(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || URL_CHARACTERS.contains(char::from(byte));
    let letter = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let scheme = if path.starts_with('/') { "file://" } else { "file:" };
    path.bytes().map(letter).fold(scheme.to_owned(), |url, letter| url + &letter)
}

#[cfg(test)]
mod tests;
