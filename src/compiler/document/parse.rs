//! The recovering parser.

use std::ops::Range;

use serde_json::Number;

use super::rules::{
    BYTE_ORDER_MARK, DUPLICATE_KEY, EMPTY_FILE, JSON_COMMENT, JSON_NUMBER, JSON_STRING, JSON_SYNTAX,
    TRAILING_COMMA,
};
use super::{Kind, Member, Node, string};
use crate::diagnostic::{Diagnostic, Place, Rule};

/// Values nested deeper than this are refused, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 128;

/// After this many syntax errors the text is not JSON at all, and more would only bury the first.
const MAX_ERRORS: usize = 20;

pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    broken: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, broken: false, diagnostics: Vec::new() }
    }

    pub(super) fn run(mut self) -> (Node, Vec<Diagnostic>, bool) {
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
            self.report(&BYTE_ORDER_MARK, 0..self.at, "the file starts with a byte order mark").help =
                Some("save the file as UTF-8 without a byte order mark".into());
        }
        self.skip_blank();
        if self.at == self.text.len() {
            self.broken = true;
            self.report(&EMPTY_FILE, 0..0, "the file is empty").help = Some(
                r#"start with `{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}`"#.into(),
            );
            return (hole(0..0), self.diagnostics, true);
        }
        let root = self.value();
        self.skip_blank();
        if self.at < self.text.len() && !self.exhausted() {
            let end = self.text.ceil_char_boundary(self.text.trim_end().len().max(self.at + 1));
            let end = self.text[self.at..end].find('\n').map_or(end, |line| self.at + line);
            self.syntax(self.at..end, "text after the end of the configuration", "remove it");
        }
        self.diagnostics.sort_by_key(|diagnostic| match &diagnostic.place {
            Place::Span(span) => span.start,
            _ => 0,
        });
        (root, self.diagnostics, self.broken)
    }

    fn report(
        &mut self,
        rule: &'static Rule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let end = self.text.ceil_char_boundary(span.end.min(self.text.len()));
        self.diagnostics.push(Diagnostic::new(rule, Place::Span(span.start.min(end)..end), message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// A mistake after which something may be missing from the tree.
    fn syntax(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.broken = true;
        self.report(&JSON_SYNTAX, span, message).help = Some(help.into());
    }

    fn exhausted(&self) -> bool {
        self.diagnostics.len() >= MAX_ERRORS
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    /// Skips white space and, reporting them, comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            let end = self.at + rest[..length].trim_end().len();
            self.report(&JSON_COMMENT, self.at..end, "a comment, which JSON does not have").help =
                Some("remove it".into());
            self.at += length;
        }
    }

    fn value(&mut self) -> Node {
        let start = self.at;
        match self.peek() {
            _ if self.exhausted() => self.give_up(start),
            Some('{' | '[') if self.depth == MAX_DEPTH => {
                self.syntax(start..start + 1, format!("nested deeper than {MAX_DEPTH} levels"), "flatten it");
                self.give_up(start)
            }
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some('"' | '\'') => {
                let text = self.string();
                self.node(start, Kind::String(text))
            }
            Some(c) if c.is_alphanumeric() || matches!(c, '-' | '+' | '.' | '_' | '$') => self.word(),
            Some(_) | None => {
                let end = self.peek().map_or(start, |c| start + c.len_utf8());
                self.syntax(
                    start..end,
                    "a value is missing here",
                    "write a value, such as a string in double quotes",
                );
                hole(start..start)
            }
        }
    }

    fn give_up(&mut self, start: usize) -> Node {
        self.broken = true;
        self.at = self.text.len();
        hole(start..start)
    }

    fn node(&self, start: usize, kind: Kind) -> Node {
        Node { span: start..self.at, kind }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Kind) -> Node {
        let start = self.at;
        self.depth += 1;
        self.at += 1;
        let kind = read(self);
        self.depth -= 1;
        self.node(start, kind)
    }

    fn array(&mut self) -> Kind {
        let open = self.at - 1;
        let mut items = Vec::new();
        while self.next_item(open, ']', !items.is_empty()) {
            items.push(self.value());
        }
        Kind::Array(items)
    }

    fn object(&mut self) -> Kind {
        let open = self.at - 1;
        let mut members: Vec<Member> = Vec::new();
        while self.next_item(open, '}', !members.is_empty()) {
            let start = self.at;
            let Some(key) = self.key() else { continue };
            let key_span = start..self.at;
            let value = self.member_value();
            if members.iter().any(|member| member.key == key) {
                self.report(&DUPLICATE_KEY, key_span, format!("`{key}` is already set above")).help =
                    Some("keep one of the two; only one of them can take effect".into());
            } else {
                members.push(Member { key, key_span, value });
            }
        }
        Kind::Object(members)
    }

    /// Moves to the next item of what was opened at `open`; false at its end. `more`: an item stands before.
    fn next_item(&mut self, open: usize, close: char, more: bool) -> bool {
        let end = self.at;
        self.skip_blank();
        let comma = self.at;
        let separated = more && self.eat(',');
        self.skip_blank();
        match self.peek() {
            _ if self.exhausted() => {
                self.give_up(open);
                false
            }
            None => {
                let what = if close == '}' { "`{` is never closed" } else { "`[` is never closed" };
                self.syntax(open..open + 1, what, format!("add the matching `{close}`"));
                false
            }
            Some(',') => {
                self.syntax(self.at..self.at + 1, "a comma with nothing before it", "remove it");
                self.at += 1;
                self.next_item(open, close, false)
            }
            Some(c @ ('}' | ']')) => {
                if separated {
                    self.report(&TRAILING_COMMA, comma..comma + 1, "a comma after the last item").help =
                        Some("remove it".into());
                }
                self.close(open, close, c)
            }
            Some(_) if more && !separated => {
                self.syntax(end..end + 1, "a comma is missing here", "add `,` between the two");
                true
            }
            Some(_) => true,
        }
    }

    /// `found` ends the item; a wrong bracket is taken for the right one, unless an outer one needs it.
    fn close(&mut self, open: usize, close: char, found: char) -> bool {
        if found != close {
            let what = format!("`{found}` closes what `{}` opened", &self.text[open..=open]);
            self.syntax(self.at..self.at + 1, what, format!("write `{close}`"));
            if self.depth > 1 && self.rest()[1..].trim_start().is_empty() {
                return false;
            }
        }
        self.at += 1;
        false
    }

    /// An object's key; `None` where there is none and the text up to the next item was passed over.
    fn key(&mut self) -> Option<String> {
        let start = self.at;
        match self.peek() {
            Some('"' | '\'') => Some(self.string()),
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {
                let word = self.take_word();
                self.syntax(
                    start..self.at,
                    format!("the key `{word}` is not in quotes"),
                    format!("write `\"{word}\"`"),
                );
                Some(word.to_owned())
            }
            _ => {
                let end = start + self.rest().find([',', '}', '\n']).unwrap_or(self.rest().len()).max(1);
                let end = self.text.ceil_char_boundary(end);
                self.syntax(start..end, "a key is missing here", "write `\"key\": value`");
                self.at = end;
                None
            }
        }
    }

    fn member_value(&mut self) -> Node {
        self.skip_blank();
        let start = self.at;
        if !self.eat(':') {
            let wrong = usize::from(self.eat('='));
            self.syntax(start..start + 1, "a `:` is missing after the key", "write `\"key\": value`");
            if wrong == 0 && matches!(self.peek(), None | Some(',' | '}' | ']')) {
                return hole(start..start);
            }
        }
        self.skip_blank();
        self.value()
    }

    fn take_word(&mut self) -> &'a str {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_alphanumeric() || "_$.+-:/\\@".contains(c))).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches([':']);
        self.at += word.len();
        word
    }

    /// A number, a literal, or text without quotes.
    fn word(&mut self) -> Node {
        let start = self.at;
        let word = self.take_word();
        let kind = match word {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            _ => match number(word) {
                Some(number) => Kind::Number(number),
                None => self.not_a_value(start, word),
            },
        };
        if self.at == start {
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        self.node(start, kind)
    }

    fn not_a_value(&mut self, start: usize, word: &str) -> Kind {
        let end = start + word.len().max(1);
        let lower = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        if matches!(lower.as_str(), "nan" | "inf" | "infinity") {
            self.report(&JSON_NUMBER, start..end, format!("`{word}` is not a JSON number")).help =
                Some("write a finite number, or leave the key out".into());
        } else if lower.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            self.report(&JSON_NUMBER, start..end, format!("`{word}` is not a JSON number")).help =
                Some(format!("write digits without a leading zero or sign, or text as \"{word}\""));
        } else if matches!(lower.as_str(), "true" | "false" | "null" | "none" | "undefined") {
            let right = if lower == "none" || lower == "undefined" { "null" } else { &lower };
            self.syntax(start..end, format!("`{word}` is not a JSON value"), format!("write `{right}`"));
        } else {
            self.syntax(start..end, "text without quotes", format!("write `\"{word}\"`"));
        }
        Kind::Hole
    }

    /// A string literal; single quotes are read too, and reported.
    fn string(&mut self) -> String {
        let start = self.at;
        let quote = self.peek().unwrap_or('"');
        self.at += 1;
        let mut value = String::new();
        while let Some(c) = self.peek() {
            if c == quote {
                self.at += 1;
                if quote == '\'' {
                    self.report(&JSON_STRING, start..self.at, "a string in single quotes").help =
                        Some("use double quotes".into());
                }
                return value;
            }
            if c == '\n' && !self.continues(quote) {
                break;
            }
            self.string_unit(&mut value);
        }
        self.broken = true;
        let end = start + self.text[start..self.at].trim_end().len();
        self.report(&JSON_STRING, start..end, "a string that is never closed").help =
            Some(format!("add the closing `{quote}`"));
        value
    }

    /// Whether a string that meets a line break goes on: its closing quote stands on the next line, in a place
    /// where a string can end.
    fn continues(&self, quote: char) -> bool {
        let next = self.rest()[1..].lines().next().unwrap_or_default();
        next.split_once(quote).is_some_and(|(before, after)| {
            !before.trim().is_empty()
                && !before.contains(':')
                && after.trim_start().starts_with([',', '}', ']'])
        })
    }

    fn string_unit(&mut self, value: &mut String) {
        let unit = string::unit(self.rest());
        let span = self.at..self.at + unit.raw;
        self.at = span.end.min(self.text.len());
        match unit.decoded {
            Ok(character) => value.push(character),
            Err(why) => {
                let help = if why == "a control character" {
                    "write a line break as `\\n` and a tab as `\\t`"
                } else {
                    "write a backslash as `\\\\`; JSON knows \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX"
                };
                self.report(&JSON_STRING, span, format!("{why} in a string")).help = Some(help.into());
            }
        }
    }
}

fn hole(span: Range<usize>) -> Node {
    Node { span, kind: Kind::Hole }
}

/// `word` as a number, if it is one in JSON's grammar and finite.
fn number(word: &str) -> Option<Number> {
    if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        serde_json::from_str(word).ok()
    } else {
        None
    }
}
