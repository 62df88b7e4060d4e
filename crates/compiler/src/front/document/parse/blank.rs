//! White space, and comments, which JSON does not have.

use super::Parser;
use crate::diagnostic::Edit;
use crate::front::document::rules::{JSON_COMMENT, JSON_SYNTAX};

impl Parser<'_> {
    /// Skips white space and, reporting them, comments.
    pub(super) fn skip_blank(&mut self) {
        while !self.exhausted() {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let rest = self.rest();
            let space = rest.len() - rest.trim_start_matches(is_odd_space).len();
            if space > 0 {
                let code = rest.chars().next().map_or(0, u32::from);
                let what = format!("U+{code:04X} is not white space in JSON");
                self.report(&JSON_SYNTAX, self.at..self.at + space, what).help =
                    Some("replace it with a space".into());
                self.safe_fix(Edit::Replace(" ".to_owned()));
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
                "unterminated comment; JSON has no comments"
            } else {
                "JSON has no comments"
            };
            self.report(&JSON_COMMENT, self.at..end, what).help = Some("remove it".into());
            self.likely_fix(Edit::Remove);
            self.at += length;
        }
    }
}

/// Whether `c` is white space that JSON does not allow, or has no width.
fn is_odd_space(c: char) -> bool {
    (c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r'))
        || matches!(c, '\u{200b}' | '\u{feff}' | '\u{2060}')
}
