//! Secret values: those below `env`, or below a key that is spelt like it.

use std::mem;
use std::ops::Range;

use super::{Parser, hole, is_quote};
use crate::compiler::front::document::{Kind, Node};
use crate::compiler::front::keys;

impl Parser<'_> {
    /// Reads the value of the member `key`, or of the member at `key_span` if its key is invalid.
    pub(super) fn value_of(&mut self, key: Option<&str>, key_span: &Range<usize>) -> Node {
        if self.is_torn_secret() {
            self.secrets.push(key_span.clone());
        }
        let key = key.unwrap_or(&self.text[key_span.clone()]);
        let name = key.split([':', '=']).next().unwrap_or_default();
        if self.secret_depth.is_some() || !keys::is_secret(name) {
            return self.member_value();
        }
        let value = self.rest().trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '=');
        // If a quote is missing after the name, the value is a part of the key.
        let start = if name.len() < key.len() { key_span.start } else { self.text.len() - value.len() };
        let was_broken = mem::take(&mut self.broken);
        self.secret_depth = Some(self.depth);
        self.first_secret.get_or_insert(start);
        let mut value = self.member_value();
        if self.ends_member(&value) {
            // The parser may have taken a part of a value for a key, or skipped it.
            let text = &self.text[value.span.clone()];
            if self.broken && !matches!(value.kind, Kind::String(_)) && !is_path(text) {
                self.secrets.push(start..self.at.max(start));
                value = hole(value.span);
            }
        } else {
            if !matches!(value.kind, Kind::Hole) {
                let help = "write the path of a .env file, or an object of names and values";
                self.syntax(self.at..self.at + 1, "unexpected text after the value", help);
            }
            self.at = start;
            value = self.give_up(start);
        }
        self.secret_depth = None;
        self.broken |= was_broken;
        value
    }

    /// Whether the member with this value ends here: there is a comma, a bracket, or the next key.
    fn ends_member(&mut self, value: &Node) -> bool {
        self.skip_blank();
        let is_key = |text: &str| {
            let quoted = text.strip_prefix(is_quote).and_then(|text| text.split_once(is_quote));
            let rest = quoted.map_or_else(|| text.trim_start_matches(is_word), |(_, rest)| rest);
            rest.len() < text.len() && rest.trim_start().starts_with([':', '='])
        };
        match self.peek() {
            None | Some(',' | '}' | ']') => true,
            Some(_) => self.exhausted() || !matches!(value.kind, Kind::Hole) && is_key(self.rest()),
        }
    }

    /// Whether the text just read is in a value that is secret. The path of a file, `"env": ".env"`, is not.
    pub(super) fn is_secret(&self) -> bool {
        self.secret_depth.is_some_and(|depth| self.depth > depth)
    }

    /// Whether the key just read is the rest of a secret value with a quote in it: no colon follows.
    pub(super) fn is_torn_secret(&self) -> bool {
        self.is_secret() && (self.broken || !self.rest().trim_start().starts_with([':', '=']))
    }

    /// `text` as a message may quote it.
    pub(super) fn quotable<'t>(&self, text: &'t str) -> &'t str {
        let is_shown = self.secret_depth.is_none() || !self.is_secret() && is_path(text);
        if is_shown { text } else { "***" }
    }

    /// Remembers the place of a secret value.
    pub(super) fn keep_secret(&mut self, node: &Node) {
        if self.is_secret() && matches!(node.kind, Kind::String(_) | Kind::Number(_) | Kind::Hole) {
            let raw = &self.text[node.span.clone()];
            let inner = raw.trim_start_matches(is_quote).trim_end_matches(is_quote);
            let start = node.span.start + (raw.len() - raw.trim_start_matches(is_quote).len());
            self.secrets.push(start..start + inner.len());
        }
    }
}

/// Whether `text` can be the path of a file without quotes.
fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| is_word(c) || matches!(c, '.' | '/' | '\\'))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}
