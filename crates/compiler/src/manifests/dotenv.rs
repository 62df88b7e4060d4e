//! `.env` files, with the semantics of python-dotenv, which the server's own launcher loads them with. `tests/dotenv.rs`
//! compares this module with the library.
//!
//! ```text
//! export NAME = VALUE  # comment
//! ```
//!
//! - A name ends at white space, `=` or `#`, or is in single quotes. Without a `=` it has no value.
//! - `'…'` has the escapes `\\` and `\'`, `"…"` also `\"` and `\a \b \f \n \r \t \v`; both may span lines. Other backslashes
//!   are kept.
//! - An unquoted value ends with its line, or at white space and a `#`.
//! - `${NAME}` and `${NAME:-default}` are replaced everywhere, also in single quotes. Earlier lines of the file take
//!   precedence over the environment. The default applies to undefined names; an empty value is a value.
//! - An invalid statement is skipped up to the end of its line.

use std::borrow::Cow;
use std::fmt;

use indexmap::IndexMap;

/// The content of a `.env` file. Values are secrets, so `Debug` omits them.
#[derive(Default)]
pub struct Dotenv {
    /// Values by name, interpolated. A repeated name keeps its first position and has its last value. A name without a
    /// `=` has no value: the server's launcher removes such a variable from its environment.
    pub variables: IndexMap<String, Option<String>>,
    /// The statement that decides each value, by name.
    pub definitions: IndexMap<String, Definition>,
    /// Invalid statements, in the order of the file.
    pub mistakes: Vec<Mistake>,
}

/// The place of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// The line that it starts on, from 1.
    pub line: usize,
    /// Its text up to the `=`: the name, perhaps after `export`.
    pub start: String,
}

/// A statement that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line that it starts on, from 1.
    pub line: usize,
    /// Why, as a lowercase fragment.
    pub why: &'static str,
}

impl fmt::Debug for Dotenv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.variables.keys().collect();
        f.debug_struct("Dotenv").field("names", &names).field("mistakes", &self.mistakes).finish()
    }
}

/// Length in bytes at which interpolation of a value stops: Linux does not pass longer values to a process, and a few
/// lines could otherwise double a value until memory is full.
const MAX_VALUE: usize = 128 * 1024;

/// Length in bytes of all interpolated values of a file, from which on a statement with a `${` is left out: each line could
/// otherwise add [`MAX_VALUE`].
const MAX_INTERPOLATED: usize = 16 * 1024 * 1024;

/// Parses the text of a file; `outside` is the environment, for `${NAME}`.
pub fn parse(text: &str, outside: impl Fn(&str) -> Option<String>) -> Dotenv {
    let mut found = Dotenv::default();
    let mut interpolated = 0;
    statements(&with_newlines(text), |line, text, statement| match statement {
        Some(Statement { name: Some(name), value }) => {
            let start = text.split(['=', '#']).next().unwrap_or_default().trim_end().to_owned();
            let value = match value {
                Some(value) if value.contains("${") => {
                    if interpolated > MAX_INTERPOLATED {
                        let why = "the values that refer to others are larger than 16 MiB together";
                        found.mistakes.push(Mistake { line, why });
                        return;
                    }
                    let value = found.interpolated(&value, &outside);
                    interpolated += value.len();
                    Some(value)
                }
                value => value.map(Cow::into_owned),
            };
            found.definitions.insert(name.to_owned(), Definition { line, start });
            found.variables.insert(name.to_owned(), value);
        }
        Some(Statement { name: None, .. }) => {}
        None => found.mistakes.push(Mistake { line, why: "not an assignment" }),
    });
    found
}

/// The text with `\n` as its only line end, as Python reads text files.
fn with_newlines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// Calls `each` for each statement, with the line that it starts on, its text, and its content if it is valid.
fn statements<'a>(text: &'a str, mut each: impl FnMut(usize, &'a str, Option<Statement<'a>>)) {
    let mut reader = Reader { rest: text };
    let (mut line, mut counted) = (1, 0);
    loop {
        reader.skip(is_space);
        if reader.rest.is_empty() {
            return;
        }
        let start = text.len() - reader.rest.len();
        line += text[counted..start].matches('\n').count();
        counted = start;
        let statement = reader.statement();
        if statement.is_none() {
            reader.skip(|c| c != '\n');
        }
        each(line, &text[start..text.len() - reader.rest.len()], statement);
    }
}

impl Dotenv {
    /// `value` with every `${NAME}` and `${NAME:-default}` replaced.
    fn interpolated(&self, value: &str, outside: impl Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        let mut rest = value;
        // Number of bytes after the `}` that ends the next reference, which may be that of several.
        let mut behind = value.len();
        while let Some(at) = rest.find("${").filter(|_| text.len() < MAX_VALUE) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if behind >= rest.len() {
                let Some((_, after)) = rest.split_once('}') else { break };
                behind = after.len();
            }
            let Some((name, default)) = reference(&rest["${".len()..rest.len() - behind - "}".len()]) else {
                text.push_str("${");
                rest = &rest["${".len()..];
                continue;
            };
            match self.variables.get(name) {
                Some(value) => text.push_str(value.as_deref().unwrap_or_default()),
                None => text.push_str(outside(name).as_deref().unwrap_or(default)),
            }
            rest = &rest[rest.len() - behind..];
        }
        text + rest
    }
}

/// The name and the default of a reference. A name may contain anything but `:`.
fn reference(inside: &str) -> Option<(&str, &str)> {
    match inside.split_once(':') {
        Some((name, rest)) => Some((name, rest.strip_prefix('-')?)),
        None => Some((inside, "")),
    }
}

/// One line, or several lines if quotes span them. A comment has no name.
struct Statement<'a> {
    name: Option<&'a str>,
    value: Option<Cow<'a, str>>,
}

/// The rest of the text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn statement(&mut self) -> Option<Statement<'a>> {
        self.skip_export();
        let name = if self.rest.starts_with('#') { None } else { Some(self.name()?) };
        self.skip(is_blank);
        let value = if self.rest.starts_with('=') { Some(self.value()?) } else { None };
        self.skip(is_blank);
        if self.rest.starts_with('#') {
            self.skip(|c| c != '\n');
        }
        (self.rest.is_empty() || self.rest.starts_with('\n')).then_some(Statement { name, value })
    }

    /// Skips the word `export`; `export=1` is a variable.
    fn skip_export(&mut self) {
        if let Some(rest) = self.rest.strip_prefix("export").filter(|rest| rest.starts_with(is_blank)) {
            self.rest = rest.trim_start_matches(is_blank);
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        let (name, rest) = match self.rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'')?,
            None => self.rest.split_at(end(self.rest, |c| c == '=' || c == '#' || is_space(c))),
        };
        if name.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(name)
    }

    /// The value, starting at its `=`.
    fn value(&mut self) -> Option<Cow<'a, str>> {
        self.rest = &self.rest[1..];
        let is_apart = self.rest.starts_with(is_blank);
        self.skip(is_blank);
        match self.rest.chars().next() {
            Some('#') if is_apart => Some("".into()),
            Some('\'') => self.quoted('\'', |c| matches!(c, '\\' | '\'').then_some(c)),
            Some('"') => self.quoted('"', double_quoted_escape),
            _ => Some(self.unquoted().into()),
        }
    }

    fn unquoted(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_at(end(self.rest, |c| c == '\n'));
        self.rest = rest;
        let comment = line.match_indices('#').map(|(at, _)| at).find(|at| line[..*at].ends_with(is_space));
        line[..comment.unwrap_or(line.len())].trim_end_matches(is_space)
    }

    /// The text up to the closing quote; `escape` maps the character after a backslash.
    fn quoted(&mut self, quote: char, escape: impl Fn(char) -> Option<char>) -> Option<Cow<'a, str>> {
        let mut value = String::new();
        let mut letters = self.rest[1..].chars();
        loop {
            match letters.next()? {
                '\\' => {
                    let escaped = letters.next()?;
                    match escape(escaped) {
                        Some(meant) => value.push(meant),
                        None => value.extend(['\\', escaped]),
                    }
                }
                letter if letter == quote => break,
                letter => value.push(letter),
            }
        }
        self.rest = letters.as_str();
        Some(value.into())
    }

    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(what);
    }
}

/// The offset of the first character that `is_end`, or the end.
fn end(text: &str, is_end: impl Fn(char) -> bool) -> usize {
    text.find(is_end).unwrap_or(text.len())
}

fn double_quoted_escape(letter: char) -> Option<char> {
    Some(match letter {
        '\\' | '\'' | '"' => letter,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        _ => return None,
    })
}

/// White space as in Python: that of Unicode, and the four separators of ASCII.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

fn is_blank(c: char) -> bool {
    is_space(c) && c != '\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values, in order, with `OUTSIDE` in the environment.
    fn read(text: &str) -> Vec<(String, Option<String>)> {
        let found = parse(text, |name| (name == "OUTSIDE").then(|| "world".to_owned()));
        assert_eq!(found.mistakes, [], "{text:?}");
        found.variables.into_iter().collect()
    }

    fn value(text: &str) -> String {
        read(text).pop().unwrap().1.unwrap()
    }

    fn mistakes(text: &str) -> Vec<usize> {
        parse(text, |_| None).mistakes.iter().map(|mistake| mistake.line).collect()
    }

    #[test]
    fn values() {
        for (text, expected) in [
            ("A=1", "1"),
            ("A=", ""),
            ("  export \t A = 1  ", "1"),
            ("'A B'=1", "1"),
            ("A=a b # comment", "a b"),
            ("A=a#b", "a#b"),
            ("A=#b", "#b"),
            ("A= # comment", ""),
            ("A='#' # comment", "#"),
            (r"A=\n'x'", r"\n'x'"),
            (r#"A='\' \\ \n "'"#, r#"' \ \n ""#),
            (r#"A="\" \\ \t \$ '""#, "\" \\ \t \\$ '"),
            ("A=\"1\r\n2\r3\"", "1\n2\n3"),
            ("\u{feff}A=1\r\n", "1"),
        ] {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    #[test]
    fn interpolation() {
        for (text, expected) in [
            ("A=hello ${OUTSIDE}", "hello world"),
            ("OUTSIDE=1\nA=${OUTSIDE}", "1"),
            ("A=1\nA=${A}2", "12"),
            ("A='${OUTSIDE}'", "world"),
            ("A=[${NOWHERE}${NOWHERE:-x y}]", "[x y]"),
            ("EMPTY=\nA=[${EMPTY:-x}]", "[]"),
            ("NONE\nA=[${NONE:-x}]", "[]"),
            ("A=$OUTSIDE ${OUTSIDE ${OUTSIDE:x}", "$OUTSIDE ${OUTSIDE ${OUTSIDE:x}"),
        ] {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_keep_their_first_place_and_may_lack_a_value() {
        let shown: Vec<String> =
            read("# comment\nA=1\n\nB # none\nA=2").iter().map(|pair| format!("{pair:?}")).collect();
        assert_eq!(shown, [r#"("A", Some("2"))"#, r#"("B", None)"#]);
    }

    #[test]
    fn a_mistake_costs_its_line() {
        assert_eq!(mistakes("A=1\n\n=2\nA=\"x\nB=2"), [3, 4]);
        assert_eq!(mistakes("A B\nexport \nA='x' y\n'A"), [1, 2, 3, 4]);
    }

    #[test]
    fn values_that_double_stay_bounded() {
        let lines = (1..60).map(|index| format!("A{index}=${{A{0}}}${{A{0}}}\n", index - 1));
        let found = parse(&("A0=0123456789\n".to_owned() + &lines.collect::<String>()), |_| None);
        let longest = found.variables.values().flatten().map(String::len).max().unwrap();
        assert!((MAX_VALUE..3 * MAX_VALUE).contains(&longest), "{longest}");
    }

    #[test]
    fn large_files_take_linear_time() {
        let line = "A=${A}${A}\n";
        for text in [
            format!("A=0123456789\n{}", line.repeat(300_000)),
            format!("A={}}}", "${:x".repeat(1 << 20)),
            format!("A={}", "${a".repeat(1 << 20)),
            "A='\n".repeat(1 << 20),
            "A=\"\nA='\n".repeat(1 << 18),
        ] {
            let start = std::time::Instant::now();
            let found = parse(&text, |_| Some("x".repeat(MAX_VALUE)));
            let size: usize = found.variables.values().flatten().map(String::len).sum();
            assert!(size <= 2 * MAX_INTERPOLATED + text.len());
            assert!(start.elapsed().as_secs() < 10, "{}: {:?}", &text[..20], start.elapsed());
        }
    }

    #[test]
    fn nothing_prints_a_value() {
        let found = parse("TOKEN=secret\nNONE", |_| None);
        assert_eq!(format!("{found:?}"), r#"Dotenv { names: ["TOKEN", "NONE"], mistakes: [] }"#);
    }
}
