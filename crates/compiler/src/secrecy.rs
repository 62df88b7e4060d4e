//! Secrets: the values of a configuration below `env`, or below a key that is spelt like it; and, in any text, passwords and
//! tokens in [`urls`].
//!
//! Decided from the text alone, before it is parsed, so that no repair of the parser can show a secret. In a text with
//! a syntax error, everything that may be below `env` is secret.

mod tokens;
pub mod urls;

use std::ops::Range;
use std::sync::LazyLock;

use serde::de::IgnoredAny;

use crate::diagnostic::Pointer;
use crate::words::nearest;
use tokens::{Kind, Token, is_delimiter};

pub(crate) use tokens::is_quote;

/// The key with secret values, of the configuration and of parts of it.
pub(crate) const ENVIRONMENT: &str = "env";

/// Endings of other spellings of [`ENVIRONMENT`], such as `environment` or `env_vars`.
const ENVIRONMENT_ENDINGS: &[&str] =
    &["", "s", "vars", "variables", "iron", "ironment", "ironments", "ironmentvars", "ironmentvariables"];

static SPELLINGS: LazyLock<Vec<String>> =
    LazyLock::new(|| ENVIRONMENT_ENDINGS.iter().map(|ending| format!("{ENVIRONMENT}{ending}")).collect());

/// The characters after the backslash of an escape, but for `u`.
const SIMPLE_ESCAPES: [char; 8] = ['"', '\\', '/', 'b', 'f', 'n', 'r', 't'];

/// Whether values below a member named `key`, at any depth, are secret: `env` and misspellings of it.
pub fn is_secret(key: &str) -> bool {
    let plain: String = unescaped(key).0.chars().map(as_letter).filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_lowercase();
    // Without the rest of a torn escape, as in `e\"006ev`.
    let letters: String = plain.chars().filter(char::is_ascii_alphabetic).collect();
    let is_spelling = |word: &str| {
        let names = SPELLINGS.iter().map(String::as_str);
        nearest(word, names).is_some_and(|(distance, name)| distance <= (name.len() / 4).max(1))
    };
    is_spelling(&plain) || letters != plain && is_spelling(&letters)
}

/// The letter of the escape for `c`, which may be one of a name that a backslash got into.
fn as_letter(c: char) -> char {
    match c {
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        c => c,
    }
}

/// Whether the value at `pointer` is below a secret key.
pub fn is_secret_place(pointer: &Pointer) -> bool {
    let keys: Vec<String> = pointer.keys().collect();
    keys.split_last().is_some_and(|(_, above)| above.iter().any(|key| is_secret(key)))
}

/// `key` with its `\uXXXX`, also those without the backslash, as characters; and whether it has an invalid escape.
fn unescaped(key: &str) -> (String, bool) {
    let mut decoded = String::new();
    let mut is_torn = false;
    let mut rest = key;
    while let Some(c) = rest.chars().next() {
        let digits = rest.trim_start_matches('\\').strip_prefix('u').and_then(|it| it.get(..4));
        let code = digits.and_then(|it| u32::from_str_radix(it, 16).ok()).and_then(char::from_u32);
        if let Some(code) = code {
            decoded.push(code);
            rest = &rest.trim_start_matches('\\')[5..];
        } else {
            is_torn |= c == '\\' && !rest[1..].is_empty() && !rest[1..].starts_with(SIMPLE_ESCAPES);
            decoded.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    (decoded, is_torn)
}

/// The secret parts of a text.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    /// Byte ranges of secret values, without their quotes.
    pub(crate) values: Vec<Range<usize>>,
    /// Byte ranges that may be below `env` in a text with a syntax error. The document has nothing of them.
    pub(crate) doubtful: Vec<Range<usize>>,
}

impl Secrets {
    /// The secret parts of `text`.
    pub(crate) fn of(text: &str) -> Self {
        let mut secrets = Self::default();
        match tokens::read(text) {
            _ if let Some(start) = other_format(text) => secrets.doubtful.push(start..text.len()),
            Some(tokens) if is_json(text, &tokens) => secrets.values = values(text, &tokens),
            Some(tokens) => secrets.add_groups(text, &tokens),
            None => secrets.doubtful.extend(first_name(text).map(|end| value_start(text, end)..text.len())),
        }
        secrets
    }

    /// Whether `span` has a secret part.
    pub(crate) fn is_secret(&self, span: &Range<usize>) -> bool {
        let is_within = |it: &Range<usize>| it.start < span.end && span.start < it.end;
        self.values.iter().any(is_within) || self.is_doubtful(span)
    }

    /// Whether `span` has a part that may be below `env`.
    pub(crate) fn is_doubtful(&self, span: &Range<usize>) -> bool {
        self.doubtful.iter().any(|it| it.start < span.end && span.start < it.end)
    }

    /// Adds the value of each `env` in a text whose brackets match; from the first one that does not end like a value,
    /// the rest of the text.
    fn add_groups(&mut self, text: &str, tokens: &[Token]) {
        let mut depth = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token.kind {
                Kind::Open => depth.push(&text[token.span.clone()]),
                Kind::Close => {
                    depth.pop();
                }
                Kind::String | Kind::Word if let Some(end) = name_end(text, &tokens[..at]) => {
                    let is_item = depth.last() == Some(&"[") || at >= 2 && tokens[at - 2].kind == Kind::Colon;
                    if is_item && ends(tokens, at) {
                        continue;
                    }
                    let Some(next) = value_end(text, tokens, at) else {
                        self.doubtful.push(value_start(text, end)..text.len());
                        return;
                    };
                    let start = at + usize::from(tokens[at].kind == Kind::Colon);
                    if tokens[next - 1].kind == Kind::Close {
                        self.doubtful.push(tokens[start].span.end..tokens[next - 1].span.start);
                    }
                    at = next;
                }
                _ => {}
            }
        }
    }
}

/// The index after the value of a member whose name ends before the token at `at`: after its bracket, or the path of
/// a .env file. `None` if no comma or bracket follows it.
fn value_end(text: &str, tokens: &[Token], at: usize) -> Option<usize> {
    let start = at + usize::from(tokens.get(at)?.kind == Kind::Colon);
    let end = match tokens.get(start)?.kind {
        Kind::Open => start + group(&tokens[start..]),
        Kind::String | Kind::Word if is_path(&text[tokens[start].span.clone()]) => start + 1,
        _ => return None,
    };
    ends(tokens, end).then_some(end)
}

/// Where a value may start after the name that ends at `end`.
fn value_start(text: &str, end: usize) -> usize {
    let rest = text[end..].trim_start_matches(is_quote).trim_start();
    let rest = rest.strip_prefix([':', '=']).unwrap_or(rest).trim_start();
    text.len() - rest.len()
}

/// Number of tokens of the bracket that opens first.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// Whether a member or an item ends before the token at `at`.
fn ends(tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| matches!(token.kind, Kind::Comma | Kind::Close))
}

/// Whether `tokens` are JSON, apart from commas before a closing bracket and the escapes in strings.
fn is_json(text: &str, tokens: &[Token]) -> bool {
    let next = tokens.iter().skip(1).map(Some).chain([None]);
    let is_kept = |token: &Token, next: Option<&Token>| {
        token.kind != Kind::Comma || next.is_none_or(|next| next.kind != Kind::Close)
    };
    let kept = tokens.iter().zip(next).filter(|(token, next)| is_kept(token, *next));
    // What is in a string does not change where it ends.
    let is_string = |part: &str| part.len() > 1 && part.starts_with('"');
    let parts = kept.map(|(token, _)| &text[token.span.clone()]);
    let plain: Vec<&str> = parts.map(|part| if is_string(part) { r#""""# } else { part }).collect();
    serde_json::from_str::<IgnoredAny>(&plain.join(" ")).is_ok()
}

/// The secret values of JSON: strings and numbers below `env`. The path of a file, `"env": ".env"`, is none.
fn values(text: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut depth = 0;
    // The depth of the object with `env`.
    let mut secret = None;
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1).map(|next| next.kind);
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => {
                depth -= 1;
                secret = secret.filter(|&it| it < depth);
            }
            Kind::String if next == Some(Kind::Colon) => {
                let is_group = tokens.get(index + 2).is_some_and(|value| value.kind == Kind::Open);
                let raw = &text[token.span.clone()];
                // Nobody writes letters as escapes; of a torn one, the name cannot be read.
                let name = serde_json::from_str::<String>(raw);
                let is_env = || raw.contains(r"\u00") || name.ok().is_none_or(|name| is_secret(&name));
                if secret.is_none() && is_group && is_env() {
                    secret = Some(depth);
                }
            }
            Kind::String if secret.is_some() => found.push(token.span.start + 1..token.span.end - 1),
            Kind::Word
                if secret.is_some() && !matches!(&text[token.span.clone()], "true" | "false" | "null") =>
            {
                found.push(token.span.clone());
            }
            _ => {}
        }
    }
    found
}

/// Where the name in the last of `tokens` ends that may be `env`. A string in wrong quotes may have a name inside, and a
/// quote may tear a name in two.
fn name_end(text: &str, tokens: &[Token]) -> Option<usize> {
    let (token, before) = tokens.split_last()?;
    let inner = text[token.span.clone()].trim_matches(is_quote);
    let start = inner.as_ptr() as usize - text.as_ptr() as usize;
    if inner.contains(is_quote)
        && let Some(end) = first_name(inner)
    {
        return Some(start + end);
    }
    let torn = before.last().filter(|last| last.span.end == token.span.start);
    let is_torn = torn.is_some_and(|last| is_secret(&text[last.span.start..token.span.end]));
    (is_torn || is_name(inner)).then_some(token.span.end)
}

/// Whether this part of a text with a syntax error may be the name `env`.
fn is_name(part: &str) -> bool {
    unescaped(part).1 || is_secret(part)
}

/// Where the first name that may be `env` ends, apart from those with the path of a file.
fn first_name(text: &str) -> Option<usize> {
    let words = text.split(is_delimiter).map(|word| {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        start..start + word.len()
    });
    let mut last = 0..0;
    let mut read = 0;
    for word in words.filter(|word| !word.is_empty()) {
        // A name may be torn in two.
        let joined = format!("{}{}", &text[last.clone()], &text[word.clone()]);
        let is_torn = word.start <= last.end + 2 && is_secret(&joined);
        last = word.clone();
        if word.start < read || !is_torn && !is_name(&text[word.clone()]) {
            continue;
        }
        match path_after(text, word.end) {
            Some(end) => read = end,
            None => return Some(word.end),
        }
    }
    None
}

/// The end of the path that is the whole value of the name before `at`.
fn path_after(text: &str, at: usize) -> Option<usize> {
    let rest = text[at..].strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start();
    let (path, after) = rest.strip_prefix('"')?.split_once('"')?;
    let is_end = after.trim_start().is_empty() || after.trim_start().starts_with([',', '}', ']']);
    (is_path(path) && is_end).then(|| text.len() - after.len())
}

/// Whether `text`, with or without quotes, can only be the path of a file.
fn is_path(text: &str) -> bool {
    let path = text.trim_matches(['"', '\'']);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '\\' | ' ');
    !path.is_empty() && path.chars().all(is_part)
}

/// Where the values of a text start that is no JSON, but may be a .env file or YAML: after the first `:` or `=`.
fn other_format(text: &str) -> Option<usize> {
    let is_comment = |line: &&str| line.is_empty() || line.starts_with('#') || line.starts_with("//");
    let first = text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|line| !is_comment(line))?;
    let is_other = !first.starts_with(['{', '[', '/']) && !first.starts_with(is_quote);
    text.find([':', '=']).filter(|_| is_other).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{ENVIRONMENT, is_secret};
    use crate::front::keys::{Holds, KEYS};
    use crate::front::schema;

    /// The names of all members that `schema` describes.
    fn names(schema: &Value, found: &mut Vec<String>) {
        if let Some(members) = schema["properties"].as_object() {
            found.extend(members.keys().cloned());
        }
        match schema {
            Value::Object(members) => members.values().for_each(|member| names(member, found)),
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            _ => {}
        }
    }

    #[test]
    fn only_env_and_what_may_be_a_spelling_of_it_is_secret() {
        let mut known = Vec::new();
        names(schema::schema(), &mut known);
        assert!(known.len() > 50, "{known:?}");
        let secret: Vec<&String> = known.iter().filter(|name| is_secret(name)).collect();
        assert!(secret.iter().all(|name| *name == ENVIRONMENT), "{secret:?}");
        let held = KEYS.iter().filter(|row| row.holds == Holds::Environment);
        assert!(held.filter_map(|row| row.parts().last()).all(is_secret));
        for name in
            ["env", "ENV", "envs", "env_vars", "Environment", "environ", "e nv", "u0065nv", "e\nv", "énv"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["", "graphs", "events", "headers", "encoding", "name", "key"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
