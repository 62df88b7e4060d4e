//! Secret values: those below `env`, or below a key that looks like it.

use std::ops::Range;

use super::{Parser, is_quote};
use crate::compiler::front::document::{Kind, Node};
use crate::compiler::front::keys;

impl Parser<'_> {
    /// Reads the value of the member `key`.
    pub(super) fn value_of(&mut self, key: Option<&str>, key_span: &Range<usize>) -> Node {
        if self.is_torn_secret() {
            self.secrets.push(key_span.clone());
        }
        let outer = self.secret_depth;
        if key.is_some_and(keys::is_secret) {
            self.secret_depth = outer.or(Some(self.depth));
        }
        let value = self.member_value();
        self.secret_depth = outer;
        value
    }

    /// Whether the text just read is in a value that is secret. The path of a file, `"env": ".env"`, is not.
    pub(super) fn is_secret(&self) -> bool {
        self.secret_depth.is_some_and(|depth| self.depth > depth)
    }

    /// Whether the key just read is the rest of a secret value with a quote in it: no colon follows.
    pub(super) fn is_torn_secret(&self) -> bool {
        self.is_secret() && !self.rest().trim_start().starts_with([':', '='])
    }

    /// `text` as a message may quote it.
    pub(super) fn quotable<'t>(&self, text: &'t str) -> &'t str {
        if self.is_secret() { "***" } else { text }
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
