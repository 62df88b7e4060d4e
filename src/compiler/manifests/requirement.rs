//! PEP 508 requirements: `name[extra]>=1.0; python_version > "3.11"`, and which part of one is wrong.
//!
//! The grammar is read here rather than by `pep508_rs`, whose parser panics on `foo- >1`, recurses as deep as the
//! text wants and speaks in its own words; versions, comparisons and condition names are left to that crate.

mod condition;

use std::ops::Range;
use std::str::FromStr;

use pep508_rs::pep440_rs::{Version, VersionSpecifier};

/// Comparisons of versions, longest first, so that a prefix is not taken for the whole.
const COMPARISONS: &[&str] = &["===", "==", "!=", "<=", ">=", "~=", "<", ">"];

/// A requirement, as far as anything here asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The name, normalised (see [`normalized_name`]); a bare URL has none.
    pub name: Option<String>,
    /// Whether it is nothing but a name.
    pub is_bare: bool,
    /// Whether it has a condition (`; python_version > "3.11"`).
    pub is_conditional: bool,
}

/// What is wrong with a text that is no requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A lowercase fragment. It never repeats a URL, which may hold a password.
    pub message: String,
    /// Which bytes.
    pub part: Range<usize>,
    /// What to write instead.
    pub help: Option<String>,
}

/// `name` as PEP 503 compares it: lowercase, with runs of `-`, `_` and `.` as one `-`.
pub fn normalized_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}

/// Whether `text` could be meant as a package's name and something behind it.
pub fn starts_like_a_name(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The name, normalised, of what `text` requires, where it is a requirement that has one.
pub fn name(text: &str) -> Option<String> {
    parse(text).ok()?.name
}

/// Reads `text`. A bare URL passes, for both installers take one.
pub fn parse(text: &str) -> Result<Requirement, Fault> {
    let mut reader = Reader { text, at: 0 };
    reader.skip_space();
    if is_bare_url(text) {
        return Ok(Requirement::default());
    }
    let name = reader.name()?.to_owned();
    reader.skip_space();
    reader.extras()?;
    reader.skip_space();
    match reader.peek() {
        Some('@') => reader.url(&name)?,
        Some('(') => reader.enclosed_versions()?,
        Some(';') | None => {}
        Some(_) => reader.versions(&name)?,
    }
    reader.skip_space();
    let is_conditional = reader.take(";");
    if is_conditional {
        reader.condition()?;
    }
    reader.skip_space();
    match reader.peek() {
        Some(_) => Err(reader.fault(reader.at..text.len(), "goes on with text that does not belong there")),
        None => Ok(Requirement {
            name: Some(normalized_name(&name)),
            is_bare: text.trim() == name,
            is_conditional,
        }),
    }
}

/// `https://…` or `git+ssh://…` without a name before it.
fn is_bare_url(text: &str) -> bool {
    let scheme = text.trim_start().split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|it| {
        !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    }) && !text.trim().contains(char::is_whitespace)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    /// A fault at `part`; an empty part stretches back over the character before it, so that it can be seen.
    fn fault(&self, part: Range<usize>, message: impl Into<String>) -> Fault {
        let before = || self.text[..part.start].char_indices().next_back().map_or(0, |(at, _)| at);
        let part = if part.is_empty() { before()..part.end } else { part };
        Fault { message: message.into(), part, help: None }
    }

    /// The bytes of the next character.
    fn here(&self) -> Range<usize> {
        self.at..self.at + self.peek().map_or(0, char::len_utf8)
    }

    fn name(&mut self) -> Result<&'t str, Fault> {
        if self.rest().is_empty() {
            return Err(self.fault(0..self.text.len(), "names no package"));
        }
        let start = self.at;
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if name.is_empty() {
            return Err(self.fault(self.here(), "does not start with the name of a package"));
        }
        if name.starts_with(['-', '_', '.']) {
            return Err(self.fault(start..start + 1, "starts with a mark, not with a letter or digit"));
        }
        if name.ends_with(['-', '_', '.']) {
            return Err(self.fault(self.at - 1..self.at, "has a name that ends with a mark"));
        }
        Ok(name)
    }

    fn extras(&mut self) -> Result<(), Fault> {
        let open = self.at;
        if !self.take("[") {
            return Ok(());
        }
        let Some(length) = self.rest().find(']') else {
            return Err(self.fault(open..self.text.len(), "has a `[` that is never closed"));
        };
        let inner = &self.rest()[..length];
        let mut start = self.at;
        for extra in inner.split(',') {
            let part = trimmed(start, extra);
            let extra = &self.text[part.clone()];
            let inside = extra.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            let ends = |end: Option<char>| end.is_some_and(|c| c.is_ascii_alphanumeric());
            let named = inside && ends(extra.chars().next()) && ends(extra.chars().next_back());
            if !named && !inner.trim().is_empty() {
                return Err(self.fault(part, "has an extra that is no name"));
            }
            start += self.text[start..].find([',', ']']).unwrap_or_default() + 1;
        }
        self.at += length + 1;
        Ok(())
    }

    fn url(&mut self, name: &str) -> Result<(), Fault> {
        self.take("@");
        let space = self.peek().is_some_and(char::is_whitespace);
        self.skip_space();
        let start = self.at;
        let url = self.take_while(|c| !c.is_whitespace());
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let known = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
        if url.is_empty() {
            return Err(self.fault(start..start, "has no URL after the `@`"));
        }
        if known {
            return Ok(());
        }
        let mut fault = self.fault(start..self.at, "has something after the `@` that is no URL");
        fault.help = if !space && Version::from_str(url).is_ok() {
            Some(format!("write a version as `{name}=={url}`"))
        } else if url.starts_with(['.', '/']) {
            Some("list a local directory by its path alone, such as `./libs/shared`".to_owned())
        } else {
            None
        };
        Err(fault)
    }

    fn enclosed_versions(&mut self) -> Result<(), Fault> {
        let open = self.at;
        self.take("(");
        let Some(length) = self.rest().find(')') else {
            return Err(self.fault(open..self.text.len(), "has a `(` that is never closed"));
        };
        if self.rest()[..length].trim().is_empty() {
            self.at += length;
        } else {
            self.comparisons(length)?;
        }
        self.take(")");
        Ok(())
    }

    fn versions(&mut self, name: &str) -> Result<(), Fault> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with('=') && !rest.starts_with("==") {
            let mut fault = self.fault(start..start + 1, "compares versions with a single `=`");
            fault.help = Some("write `==`".to_owned());
            return Err(fault);
        }
        if !rest.starts_with(['<', '>', '=', '!', '~']) {
            let mut fault = self
                .fault(start..self.text.len(), "goes on with something that is no comparison of versions");
            let version = rest.trim_start_matches([':', '^']).trim();
            fault.help = Version::from_str(version).is_ok().then(|| match rest.starts_with('^') {
                true => format!("write `{name}~={version}`, or a lower and an upper bound"),
                false => format!("write a version as `{name}=={version}`"),
            });
            return Err(fault);
        }
        self.comparisons(rest.find(';').unwrap_or(rest.len()))
    }

    /// The comparisons in the next `length` bytes, separated by commas; installers take one behind the last, too.
    fn comparisons(&mut self, length: usize) -> Result<(), Fault> {
        let end = self.at + length;
        let mut first = true;
        while first || !self.text[self.at..end].trim().is_empty() {
            let rest = &self.text[self.at..end];
            // What `===` compares with is any text, commas included.
            let any = rest.trim_start().strip_prefix("===").map(str::trim_start);
            let any =
                any.map_or(0, |it| rest.len() - it.trim_start_matches(|c: char| !c.is_whitespace()).len());
            let length = rest[any..].find(',').map_or(rest.len(), |comma| any + comma);
            self.comparison(trimmed(self.at, &rest[..length]))?;
            self.at = (self.at + length + 1).min(end);
            first = false;
        }
        self.at = end;
        Ok(())
    }

    fn comparison(&self, part: Range<usize>) -> Result<(), Fault> {
        let text = &self.text[part.clone()];
        if text.is_empty() {
            return Err(self.fault(part, "has a `,` without a comparison behind it"));
        }
        let written = text.find(|c| !"<>=!~^".contains(c)).unwrap_or(text.len());
        let Some(operator) = COMPARISONS.iter().find(|&&it| it == &text[..written]) else {
            let mut fault =
                self.fault(part.start..part.start + written.max(1), "has no known comparison of versions");
            if !text.is_char_boundary(written.max(1)) {
                fault.part = part;
            }
            fault.help = Some("write one of `==`, `!=`, `<=`, `>=`, `<`, `>` and `~=`".to_owned());
            return Err(fault);
        };
        let version = trimmed(part.start + written, &text[written..]);
        let is_any = *operator == "==="
            && !version.is_empty()
            && !self.text[version.clone()].contains(char::is_whitespace);
        if is_any || VersionSpecifier::from_str(text).is_ok() {
            return Ok(());
        }
        let text = &self.text[version.clone()];
        let plain = text.trim_end_matches(".*");
        if text.is_empty() {
            return Err(self.fault(part, format!("has no version after `{operator}`")));
        }
        if Version::from_str(plain).is_ok() {
            let why = if plain == text {
                "does not go with a version of this form"
            } else {
                "does not go with `.*`"
            };
            return Err(self.fault(part, format!("has a `{operator}` that {why}")));
        }
        let mut fault = match text.contains("://") {
            true => self.fault(version, "has a URL where a version belongs"),
            false => self.fault(version, format!("has `{text}` where a version belongs")),
        };
        if text.contains(['<', '>', '=', '!', '~']) {
            fault.help = Some("separate comparisons with `,`".to_owned());
        }
        Err(fault)
    }
}

/// The range of `text`, which starts at byte `start`, without white space around it.
fn trimmed(start: usize, text: &str) -> Range<usize> {
    let start = start + text.len() - text.trim_start().len();
    start..start + text.trim().len()
}

#[cfg(test)]
mod tests;
