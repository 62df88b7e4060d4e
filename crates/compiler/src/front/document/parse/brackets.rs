//! Lists and objects, and mistakes in their brackets, commas, colons and keys.

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::{Parser, hole};
use crate::diagnostic::{Edit, Fix, Place};
use crate::front::document::rules::{DUPLICATE_KEY, TRAILING_COMMA};
use crate::front::document::{Kind, Member, Node};
use crate::secrecy::is_quote;

impl Parser<'_> {
    pub(super) fn array(&mut self) -> Kind {
        let open = self.at - 1;
        let mut items = Vec::new();
        loop {
            let (before, said) = (self.at, self.diagnostics.len());
            if !self.next_item(open, ']', !items.is_empty()) {
                break;
            }
            let item = self.value();
            if self.rest().trim_start().starts_with(':') && matches!(item.kind, Kind::String(_)) {
                // The string is a key of the object around this list, which was not closed.
                self.at = before;
                self.diagnostics.truncate(said);
                self.syntax(open..open + 1, "`[` is never closed", "add the closing `]`");
                break;
            }
            items.push(item);
        }
        Kind::Array(items)
    }

    pub(super) fn object(&mut self) -> Kind {
        let open = self.at - 1;
        let mut members = IndexMap::new();
        let mut more = false;
        while self.next_item(open, '}', more) {
            let start = self.at;
            let Some(key) = self.key() else {
                self.skip_blank();
                more = false;
                self.eat(',');
                continue;
            };
            more = true;
            let key_span = start..self.at;
            let value = self.member_value();
            let Some(key) = key.filter(|_| !self.secrets.is_doubtful(&key_span)) else {
                self.partial.insert(open);
                continue;
            };
            match members.entry(key) {
                Entry::Vacant(free) => {
                    free.insert(Member { key_span, value });
                }
                Entry::Occupied(taken) => {
                    let is_same = self.text[taken.get().value.span.clone()] == self.text[value.span];
                    let message = format!("`{}` is already defined above", taken.key());
                    let diagnostic = self.report(&DUPLICATE_KEY, key_span, message);
                    diagnostic.help = Some("remove one of the two; only one can take effect".into());
                    diagnostic.is_dispensable = is_same;
                }
            }
        }
        Kind::Object(members)
    }

    /// Moves to the next item of the bracket opened at `open`; false at its end. `more`: there was an item before.
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
                if !self.ended {
                    self.ended = true;
                    let what = if close == '}' { "`{` is never closed" } else { "`[` is never closed" };
                    let missing: String = self.open.iter().rev().map(|&at| self.closing(at)).collect();
                    let help = if missing.len() > 1 {
                        format!("add `{missing}` at the end")
                    } else {
                        format!("add the closing `{missing}`")
                    };
                    self.syntax(open..open + 1, what, help);
                }
                self.broken = true;
                false
            }
            Some(',') => {
                self.syntax(self.at..self.at + 1, "unexpected comma", "remove it");
                self.safe_fix(Edit::Remove);
                self.at += 1;
                self.next_item(open, close, false)
            }
            Some(c @ ('}' | ']')) => {
                if separated {
                    self.report(&TRAILING_COMMA, comma..comma + 1, "trailing comma").help =
                        Some("remove it".into());
                    self.safe_fix(Edit::Remove);
                }
                self.close(open, close, c)
            }
            Some(_) if more && !separated => {
                self.syntax(end..end + 1, "missing comma", "add `,`");
                self.fix_last(|last| {
                    last.fix(Fix::safe(Place::Span(end..end), Edit::Replace(",".to_owned())))
                });
                true
            }
            Some(_) => true,
        }
    }

    /// The closing bracket for the bracket at `at`.
    fn closing(&self, at: usize) -> char {
        if self.text[at..].starts_with('{') { '}' } else { ']' }
    }

    /// Closes the bracket with `found`; a wrong bracket counts as the right one, unless an outer bracket needs it.
    fn close(&mut self, open: usize, close: char, found: char) -> bool {
        if found != close {
            let what = format!("`{found}` closes a `{}`", &self.text[open..=open]);
            self.syntax(self.at..self.at + 1, what, format!("write `{close}`"));
            if self.depth > 1 && self.rest()[1..].trim_start().is_empty() {
                return false;
            }
        }
        self.at += 1;
        false
    }

    /// An object's key, if it can be read; `None` where there is no key and the text was skipped to the next item.
    fn key(&mut self) -> Option<Option<String>> {
        let start = self.at;
        match self.peek() {
            Some(c) if is_quote(c) => Some(self.string()),
            Some(c) if c.is_alphanumeric() || matches!(c, '_' | '$') => {
                let word = self.take_key();
                let shown = self.quotable(start, word);
                let message = format!("the key `{shown}` is not in quotes");
                self.syntax(start..self.at, message, format!("write `\"{shown}\"`"));
                if shown == word || self.rest().trim_start().starts_with(':') {
                    self.safe_fix(Edit::Wrap("\"", "\""));
                }
                Some(Some(word.to_owned()))
            }
            _ => {
                let end = start + self.rest().find([',', '}', '\n']).unwrap_or(self.rest().len()).max(1);
                let end = self.text.ceil_char_boundary(end);
                let conflict = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];
                if conflict.iter().any(|mark| self.rest().starts_with(mark)) {
                    let end = start + self.rest().lines().next().map_or(0, |line| line.trim_end().len());
                    let help = "keep one version, and remove the conflict markers";
                    self.syntax(start..end, "an unresolved merge conflict", help);
                    self.at = end;
                    return None;
                }
                self.syntax(start..end, "expected a key", "write `\"key\": value`");
                self.at = end;
                None
            }
        }
    }

    fn member_value(&mut self) -> Node {
        self.skip_blank();
        let start = self.at;
        if !self.eat(':') {
            let wrong = self.eat('=');
            if wrong {
                self.syntax(start..start + 1, "expected `:`, found `=`", "write `:`");
                self.safe_fix(Edit::Replace(":".to_owned()));
            } else {
                self.syntax(start..start + 1, "missing `:` after the key", "write `\"key\": value`");
            }
            if !wrong && matches!(self.peek(), None | Some(',' | '}' | ']')) {
                return hole(start..start);
            }
        }
        self.skip_blank();
        if matches!(self.peek(), None | Some(',' | '}' | ']')) {
            let help = "write a value, such as a string in double quotes, or remove the key";
            self.syntax(start..start + 1, "expected a value after the `:`", help);
            return hole(start..start);
        }
        self.value()
    }
}
