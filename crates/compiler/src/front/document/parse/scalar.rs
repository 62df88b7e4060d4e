//! Scalars: numbers, literals and strings, and mistakes in them.

use serde_json::Number;

use super::Parser;
use crate::diagnostic::{Edit, Fix, Place};
use crate::front::document::rules::{JSON_NUMBER, JSON_STRING};
use crate::front::document::{Kind, Node, string};
use crate::secrecy::is_quote;

impl<'a> Parser<'a> {
    /// An unquoted key, which ends at the `:`.
    pub(super) fn take_key(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$.-/".contains(c))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
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
    pub(super) fn word(&mut self) -> Node {
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
        let shown = self.quotable(start, word);
        let end = start + word.len().max(1);
        let lower = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        if matches!(lower.as_str(), "nan" | "inf" | "infinity") {
            self.report(&JSON_NUMBER, start..end, format!("`{shown}` is not a JSON number")).help =
                Some("write a finite number, or leave the key out".into());
        } else if lower.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
            // The same number in another form is secret too.
            let number = plain_number(word).filter(|_| shown == word);
            self.report(&JSON_NUMBER, start..end, format!("`{shown}` is not a JSON number")).help =
                Some(match number {
                    Some(number) => format!("write `{number}`, or `\"{shown}\"` for text"),
                    None => format!("write a smaller number in decimal digits, or `\"{shown}\"` for text"),
                });
        } else if matches!(lower.as_str(), "true" | "false" | "null" | "none" | "undefined") {
            let help = match lower.as_str() {
                "none" | "undefined" | "null" => "write `null`, or leave the key out".to_owned(),
                right => format!("write `{right}`"),
            };
            self.syntax(start..end, format!("`{word}` is not a JSON value"), help);
            let value =
                if matches!(lower.as_str(), "none" | "undefined") { "null".to_owned() } else { lower };
            if !word.starts_with(['+', '-']) {
                self.safe_fix(Edit::Replace(value));
            }
        } else {
            self.syntax(start..end, "text without quotes", format!("write `\"{shown}\"`"));
            if !word.contains('\\') {
                self.likely_fix(Edit::Wrap("\"", "\""));
            }
        }
        Kind::Hole
    }

    /// A string literal; other quotes are accepted and reported. `None` for invalid strings.
    pub(super) fn string(&mut self) -> Option<String> {
        let start = self.at;
        let quote = self.peek().unwrap_or('"');
        self.at += quote.len_utf8();
        let closes = |c: char| c == quote || (quote != '"' && quote != '\'' && is_quote(c));
        let (mut value, mut sound) = (String::new(), true);
        while let Some(c) = self.peek() {
            if closes(c) {
                self.at += c.len_utf8();
                if quote != '"' {
                    let kind = if quote == '\'' { "single" } else { "curly" };
                    self.report(&JSON_STRING, start..self.at, format!("a string in {kind} quotes")).help =
                        Some("use straight double quotes".into());
                    let (open, close) = (start..start + quote.len_utf8(), self.at - c.len_utf8()..self.at);
                    if sound && !self.text[open.end..close.start].contains('"') {
                        let straight = |span| (Place::Span(span), Edit::Replace("\"".to_owned()));
                        let edits = vec![straight(open), straight(close)];
                        self.fix_last(|last| last.fix(Fix { edits, is_safe: true }));
                    }
                }
                return sound.then_some(value);
            }
            if c == '\n' && !self.continues(quote) {
                break;
            }
            sound &= self.string_unit(&mut value, sound);
        }
        self.broken = true;
        if self.peek().is_none() {
            self.ended = true;
        }
        // Brackets and commas at the end of the line are not part of the string.
        let end = start + self.text[start..self.at].trim_end_matches([' ', '\t', '\r', ',', '}', ']']).len();
        if end > start + quote.len_utf8() {
            self.at = end;
        }
        self.report(&JSON_STRING, start..end.max(start + 1), "unterminated string").help =
            Some(format!("add the closing `{quote}`"));
        None
    }

    /// Whether a string continues after a line break: the next line has its closing quote, where a string can end.
    fn continues(&self, quote: char) -> bool {
        let next = self.rest()[1..].lines().next().unwrap_or_default();
        next.split_once(quote).is_some_and(|(before, after)| {
            !before.trim().is_empty()
                && !before.contains(':')
                && after.trim_start().starts_with([',', '}', ']'])
        })
    }

    /// Reads one character or escape; false where it is invalid. Only the first in a string is reported.
    fn string_unit(&mut self, value: &mut String, report: bool) -> bool {
        let unit = string::unit(self.rest());
        let span = self.at..self.at + unit.raw;
        self.at = span.end.min(self.text.len());
        let character = match unit.decoded {
            Ok(character) => {
                self.escapes.add(span.end, unit.raw - character.len_utf8());
                value.push(character);
                return true;
            }
            Err(why) if report => why,
            Err(_) => return false,
        };
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let shown = self.quotable(span.start, raw);
        let (what, help) = match raw {
            "\n" | "\r" => ("a line break in a string".to_owned(), "write it as `\\n`"),
            "\t" => ("a tab in a string".to_owned(), "write it as `\\t`"),
            _ if raw.starts_with("\\u") && unit.raw == 2 => {
                (format!("{character} in a string"), "write four hexadecimal digits, such as `\\u00e9`")
            }
            _ if raw.starts_with("\\u") => (
                format!("`{shown}` is {character}"),
                "write both halves, such as `\\ud83d\\ude00`, or the character itself",
            ),
            _ if raw.starts_with('\\') => (
                format!("`{shown}` is not a JSON escape"),
                "write each backslash as `\\\\`, or use `/` in paths",
            ),
            _ => (format!("{character} in a string"), "write it as `\\u` and four hexadecimal digits"),
        };
        self.report(&JSON_STRING, span, what).help = Some(help.into());
        false
    }
}

/// A number in another language's grammar (`+5`, `007`, `.5`, `0x10`, `1_000`) as JSON writes it.
fn plain_number(word: &str) -> Option<String> {
    let text = word.trim_start_matches('+').replace('_', "").to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number.to_string());
    }
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let text = text.trim_start_matches('0');
    let zero = if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "0" };
    let plain = format!("{sign}{zero}{}", text.trim_end_matches('.'));
    number(&plain).map(|_| plain)
}

/// `word` as a number, if it is one in JSON's grammar and finite.
fn number(word: &str) -> Option<Number> {
    if word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        serde_json::from_str(word).ok()
    } else {
        None
    }
}
