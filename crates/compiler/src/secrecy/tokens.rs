//! The tokens of a text that should be JSON, read without repairs.

use std::ops::Range;

/// A token and its place.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{` or `[`.
    Open,
    /// `}` or `]`.
    Close,
    Comma,
    /// `:`, or `=`, which people write instead.
    Colon,
    /// A string in quotes of any kind.
    String,
    /// Other characters.
    Word,
}

/// The tokens of `text`; none if a string does not end in its line or the brackets do not match, so that nobody can
/// tell what is inside of what.
pub(super) fn read(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let (kind, length) = match c {
            c if c.is_whitespace() || c == '\u{feff}' => {
                at += c.len_utf8();
                continue;
            }
            '{' | '[' => {
                open.push(c);
                (Kind::Open, 1)
            }
            '}' | ']' => {
                let opening = if c == '}' { '{' } else { '[' };
                open.pop().filter(|&last| last == opening)?;
                (Kind::Close, 1)
            }
            ',' => (Kind::Comma, 1),
            ':' | '=' => (Kind::Colon, 1),
            c if is_quote(c) => (Kind::String, string(&text[at..])?),
            _ => (Kind::Word, text[at..].find(is_delimiter).unwrap_or(text.len() - at)),
        };
        tokens.push(Token { span: at..at + length, kind });
        at += length;
    }
    open.is_empty().then_some(tokens)
}

/// The length of the string at the start of `text`.
fn string(text: &str) -> Option<usize> {
    let mut rest = text.char_indices();
    let (_, quote) = rest.next()?;
    let is_straight = matches!(quote, '"' | '\'');
    while let Some((at, c)) = rest.next() {
        match c {
            '\n' => return None,
            '\\' => {
                rest.next().filter(|&(_, escaped)| escaped != '\n')?;
            }
            c if c == quote || !is_straight && is_quote(c) => return Some(at + c.len_utf8()),
            _ => {}
        }
    }
    None
}

/// Whether `c` is a quote: `"`, or one that people and word processors write instead.
pub(crate) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '”' | '„' | '‘' | '’' | '«' | '»')
}

/// Whether a word ends before `c`.
pub(super) fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '=')
}
