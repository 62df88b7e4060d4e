//! What stands below `env`: values that may be secrets, wherever the text is shown.

use std::ops::Range;

use super::{Parser, is_quote};
use crate::compiler::front::document::{Kind, Node};

impl Parser<'_> {
    /// Reads the value of the member `key`.
    pub(super) fn value_of(&mut self, key: Option<&str>, key_span: &Range<usize>) -> Node {
        // Of a value with a quote in it, the rest looks like a key.
        let is_key = self.rest().trim_start().starts_with([':', '=']);
        if self.in_env && !is_key {
            self.secrets.push(key_span.clone());
        }
        let outer = self.in_env;
        self.in_env |= self.depth == 1 && key == Some("env");
        let value = self.member_value();
        self.in_env = outer;
        value
    }

    /// Remembers where the value is, if it stands below `env`; the path of a file is none.
    pub(super) fn keep_secret(&mut self, node: &Node) {
        if self.in_env
            && self.depth > 1
            && matches!(node.kind, Kind::String(_) | Kind::Number(_) | Kind::Hole)
        {
            let raw = &self.text[node.span.clone()];
            let inner = raw.trim_start_matches(is_quote).trim_end_matches(is_quote);
            let start = node.span.start + (raw.len() - raw.trim_start_matches(is_quote).len());
            self.secrets.push(start..start + inner.len());
        }
    }
}
