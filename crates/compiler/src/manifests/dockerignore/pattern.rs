//! One pattern: its syntax check, its translation to a regular expression, and the shortcuts without one.

use std::iter::Peekable;
use std::str::Chars;

use regex_lite::Regex;

use super::expression;

/// Characters that do not always match themselves only.
const SPECIAL: [char; 6] = ['*', '?', '[', ']', '^', '\\'];

/// A compiled line of an ignore file.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// Whether it includes again what an earlier pattern excluded.
    pub(super) exception: bool,
    text: String,
    matcher: Matcher,
}

/// How a path is compared. Docker has these for speed, and they differ from the regular expression in some cases
/// (`**file` matches `a-file`), so they are part of the semantics.
#[derive(Clone, Debug)]
enum Matcher {
    Exact,
    Prefix,
    /// With the literal text that every match starts and ends with, which most paths do not.
    Expression {
        regex: Regex,
        head: String,
        tail: String,
    },
    Suffix,
}

impl Pattern {
    /// Compiles a normalised line; an exception starts with `!`.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let (exception, text) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        if exception && text.is_empty() {
            return Err("nothing follows the `!`".to_owned());
        }
        if text.starts_with('\u{feff}') {
            return Err("it begins with an invisible byte order mark, of which Docker skips some".to_owned());
        }
        // Docker's client sends patterns as headers, which hold none.
        if text.contains(|letter: char| letter.is_ascii_control()) {
            return Err("it holds a control character, which Docker cannot send".to_owned());
        }
        check(text)?;
        Ok(Self { exception, text: text.to_owned(), matcher: compile(text)? })
    }

    /// Whether the pattern matches this path itself, not a directory above it.
    pub(super) fn matches(&self, path: &str) -> bool {
        match &self.matcher {
            Matcher::Exact => path == self.text,
            Matcher::Prefix => path.starts_with(&self.text[..self.text.len() - 2]),
            Matcher::Expression { regex, head, tail } => {
                path.starts_with(head) && path.ends_with(tail) && regex.is_match(path)
            }
            Matcher::Suffix => {
                let suffix = &self.text[2..];
                path.ends_with(suffix) || suffix.strip_prefix('/') == Some(path)
            }
        }
    }

    /// The pattern without a final `/*` or `/**`: the directory whose content it matches, if it is otherwise plain.
    pub(super) fn without_trailing_glob(&self) -> &str {
        let text = self.text.strip_suffix("/**").unwrap_or(&self.text);
        text.strip_suffix("/*").unwrap_or(text)
    }

    /// The pattern to append to a directory, so that it matches the same paths relative to that directory.
    pub(super) fn relative(&self) -> String {
        match &self.matcher {
            Matcher::Expression { .. } => self.text.clone(),
            // After a directory, `**file` would not match `a-file`.
            Matcher::Suffix if !self.text[2..].starts_with('/') && self.text.len() > 2 => {
                format!("**/*{}", plain(&self.text[2..]))
            }
            // Escapes in the directory make it a regular expression.
            Matcher::Exact | Matcher::Prefix | Matcher::Suffix => plain(&self.text),
        }
    }
}

/// Characters that are special in a regular expression only.
pub(super) const SPECIAL_IN_EXPRESSION: [char; 3] = ['^', '|', '{'];

/// A text without other special characters, for a regular expression.
fn plain(text: &str) -> String {
    SPECIAL_IN_EXPRESSION
        .iter()
        .fold(text.to_owned(), |text, letter| text.replace(*letter, &format!("\\{letter}")))
}

/// The shortest equivalent path, as Go's `filepath.Clean` returns it.
pub(super) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(&last)) if last != ".." => _ = parts.pop(),
            ("..", _) if rooted => {}
            _ => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Docker's first check of a pattern: Go's `filepath.Match` must be able to compare it with `.`. That stops at the first
/// part between two `*` that does not match, and does not check the rest.
fn check(pattern: &str) -> Result<(), String> {
    let mut rest = pattern.chars().peekable();
    for name_is_left in [true, false] {
        while rest.next_if_eq(&'*').is_some() {}
        if rest.peek().is_none() {
            return Ok(());
        }
        let is_dot = check_part(&mut rest)?;
        if !(is_dot && name_is_left) {
            return Ok(());
        }
    }
    Ok(())
}

/// Checks the part up to the next `*`. Returns whether it matches `.`.
fn check_part(rest: &mut Peekable<Chars<'_>>) -> Result<bool, String> {
    let mut dots = Vec::new();
    while let Some(letter) = rest.next_if(|letter| *letter != '*') {
        dots.push(match letter {
            '\\' => rest.next().ok_or("nothing follows the last `\\`")? == '.',
            '[' => check_class(rest)?,
            letter => matches!(letter, '.' | '?'),
        });
    }
    Ok(dots == [true])
}

/// Checks the content of brackets. Returns whether it matches `.`.
fn check_class(rest: &mut Peekable<Chars<'_>>) -> Result<bool, String> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut found = false;
    loop {
        let low = check_member(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() { check_member(rest)? } else { low };
        found |= (low..=high).contains(&'.');
        if rest.next_if_eq(&']').is_some() {
            return Ok(found != negated);
        }
    }
}

fn check_member(rest: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    let member = match rest.next() {
        Some('-' | ']') => {
            return Err("a `-` or `]` here in `[…]` needs a `\\` before it".to_owned());
        }
        Some('\\') => rest.next(),
        other => other,
    };
    member.filter(|_| rest.peek().is_some()).ok_or_else(|| "a `[` is not closed".to_owned())
}

/// The kind of matcher for the part translated so far.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Exact,
    Expression,
    Prefix,
    Suffix,
}

/// The pattern's matcher. Like Docker's, the translation goes letter by letter and ignores brackets.
fn compile(pattern: &str) -> Result<Matcher, String> {
    let mut expression = String::new();
    let mut letters = pattern.chars().peekable();
    let mut kind = Kind::Exact;
    let mut first = true;
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.next_if_eq(&'*').is_some() => {
                letters.next_if_eq(&'/');
                kind = double_star(&mut expression, kind, first, letters.peek().is_none());
            }
            // Docker means to escape `|` and `{`, too, and does not.
            '.' | '+' | '(' | ')' | '$' => expression.extend(['\\', letter]),
            '*' | '?' | '[' | ']' | '\\' => {
                kind = Kind::Expression;
                match letter {
                    '*' => expression.push_str("[^/]*"),
                    '?' => expression.push_str("[^/]"),
                    '\\' => expression.extend(['\\'].into_iter().chain(letters.next())),
                    bracket => expression.push(bracket),
                }
            }
            letter => expression.push(letter),
        }
        first = false;
    }
    Ok(match kind {
        Kind::Exact => Matcher::Exact,
        Kind::Expression => Matcher::Expression {
            regex: expression::compile(&expression)?,
            head: pattern.split(SPECIAL).next().unwrap_or_default().to_owned(),
            tail: literal_tail(pattern).to_owned(),
        },
        Kind::Prefix => Matcher::Prefix,
        Kind::Suffix => Matcher::Suffix,
    })
}

/// The text after the last special character, where that is not part of an escape or of a `**/`.
fn literal_tail(pattern: &str) -> &str {
    let tail = pattern.rsplit(SPECIAL).next().unwrap_or_default().trim_start_matches('/');
    if pattern.contains('\\') { "" } else { tail }
}

/// Translates `**` (or `**/`, which is the same), and returns the new kind.
fn double_star(expression: &mut String, kind: Kind, first: bool, last: bool) -> Kind {
    expression.push_str(if last { ".*" } else { "(.*/)?" });
    match (first, last, kind) {
        (true, ..) => Kind::Suffix,
        (false, true, Kind::Exact) => Kind::Prefix,
        _ => Kind::Expression,
    }
}
