//! What stands between values and means nothing, and what people write there though JSON has no such thing.

use super::Parser;
use crate::compiler::front::document::rules::{JSON_COMMENT, JSON_SYNTAX};

impl Parser<'_> {
    /// Skips white space and, reporting them, comments.
    pub(super) fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches(is_odd_space).len();
            if space > 0 {
                let code = rest.chars().next().map_or(0, u32::from);
                let what = format!("the character U+{code:04X} looks like a blank, but is none in JSON");
                self.report(&JSON_SYNTAX, self.at..self.at + space, what).help =
                    Some("write normal blanks".into());
                self.at += space;
                continue;
            }
            let length = if rest.starts_with("//") || rest.starts_with('#') {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            let end = self.at + rest[..length].trim_end().len();
            let what = if rest.starts_with("/*") && !rest[..length].ends_with("*/") {
                (self.broken, self.ended) = (true, true);
                "a comment that is never closed, and JSON has no comments"
            } else {
                "a comment, which JSON does not have"
            };
            self.report(&JSON_COMMENT, self.at..end, what).help = Some("remove it".into());
            self.at += length;
        }
    }
}

/// White space that JSON does not take for such, and marks without any width.
fn is_odd_space(c: char) -> bool {
    (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r'))
        || matches!(c, '\u{200b}' | '\u{feff}' | '\u{2060}')
}
