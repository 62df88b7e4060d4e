//! The kind of token at a cursor. The text around it is mostly incomplete, so the tokens beside the cursor are read from its
//! line, and only the list or object around it from the parsed configuration.

use std::ops::Range;

use crate::compiler::front::document::{Document, Kind, Node};
use crate::diagnostic::Pointer;

/// The kind of token that belongs at a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A key of the object at this place.
    Key(Pointer),
    /// The value at this place.
    Value(Pointer),
}

/// A cursor, and the token that it is in.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    pub(super) slot: Slot,
    /// The bytes of the token, quotes included.
    pub(super) span: Range<usize>,
    /// The bytes of the token without its quotes.
    pub(super) inner: Range<usize>,
    /// The part of the token before the cursor, without the quote.
    pub(super) typed: &'t str,
}

impl<'t> Cursor<'t> {
    /// The cursor at `offset` of `text`; none where nothing belongs.
    pub(super) fn new(document: &Document, text: &'t str, offset: usize) -> Option<Self> {
        let quote = open_quote(text, offset);
        let start = quote.unwrap_or_else(|| text[..offset].trim_end_matches(is_word).len());
        let rest = &text[offset..];
        let closing = quote.and_then(|_| closing_quote(rest));
        let length = match (quote, closing) {
            (Some(_), closing) => closing.unwrap_or(0),
            (None, _) => rest.len() - rest.trim_start_matches(is_word).len(),
        };
        let slot = slot(document, text, start, quote.is_some())?;
        let inner = start + usize::from(quote.is_some())..offset + length;
        let span = start..inner.end + usize::from(closing.is_some());
        Some(Self { slot, span, typed: &text[inner.start..offset], inner })
    }

    /// Whether the token is a string.
    pub(super) fn is_quoted(&self) -> bool {
        self.inner.start > self.span.start
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')
}

/// The quote that opens the string around `offset`. A string ends in the line in which it starts.
fn open_quote(text: &str, offset: usize) -> Option<usize> {
    let line = text[..offset].rfind('\n').map_or(0, |end| end + 1);
    let (mut open, mut is_escaped) = (None, false);
    for (at, c) in text[line..offset].char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = open.is_some(),
            '"' => open = if open.is_some() { None } else { Some(line + at) },
            _ => {}
        }
    }
    open
}

/// The distance of the quote that closes a string. The next quote opens another string if a comma lies before it.
fn closing_quote(rest: &str) -> Option<usize> {
    let at = rest.find(['"', '\n', ','])?;
    rest[at..].starts_with('"').then_some(at)
}

/// The kind of the token that starts at `start`, by the character before it.
fn slot(document: &Document, text: &str, start: usize, is_quoted: bool) -> Option<Slot> {
    let before = text[..start].trim_end();
    let (pointer, node) = container(document, start)?;
    let is_new_line = text[before.len()..start].contains('\n');
    match (before.chars().next_back()?, &node.kind) {
        (':', Kind::Object(_)) => {
            let key = before[..before.len() - 1].trim_end().strip_suffix('"')?;
            Some(Slot::Value(pointer.join(&key[key.rfind('"')? + 1..])))
        }
        ('[' | ',', Kind::Array(items)) => {
            Some(Slot::Value(pointer.join(items.iter().filter(|item| item.span.end <= start).count())))
        }
        ('{' | ',', Kind::Object(_)) => Some(Slot::Key(pointer)),
        // A comma is missing.
        (_, Kind::Object(_)) if is_quoted || is_new_line => Some(Slot::Key(pointer)),
        _ => None,
    }
}

/// The innermost list or object around `offset`.
fn container(document: &Document, offset: usize) -> Option<(Pointer, &Node)> {
    let is_around = |node: &Node| {
        let is_container = matches!(node.kind, Kind::Array(_) | Kind::Object(_));
        is_container && node.span.start < offset && offset <= node.span.end
    };
    let mut found = (Pointer::root(), Some(&document.root).filter(|root| is_around(root))?);
    loop {
        let (pointer, node) = &found;
        let inner = match &node.kind {
            Kind::Object(members) => members
                .iter()
                .find(|(_, member)| is_around(&member.value))
                .map(|(key, member)| (pointer.join(key), &member.value)),
            Kind::Array(items) => {
                let inner = items.iter().enumerate().find(|(_, item)| is_around(item));
                inner.map(|(index, item)| (pointer.join(index), item))
            }
            _ => None,
        };
        match inner {
            Some(inner) => found = inner,
            None => return Some(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::compiler::front::document::parse;

    /// The slot at the `|` of a text, and the token.
    fn at(marked: &str) -> Option<(String, String)> {
        let text = marked.replace('|', "");
        let (document, _) = parse(&text);
        let cursor = Cursor::new(&document, &text, marked.find('|').unwrap())?;
        let slot = match &cursor.slot {
            Slot::Key(pointer) => format!("key of {pointer}"),
            Slot::Value(pointer) => pointer.to_string(),
        };
        Some((slot, text[cursor.span].to_owned()))
    }

    #[test]
    fn slots_of_incomplete_texts() {
        for (marked, slot, token) in [
            ("{|}", "key of ", ""),
            ("{\"de|\"}", "key of ", "\"de\""),
            ("{\"de|", "key of ", "\"de"),
            ("{\"a\": 1,\n  \"de|\n  \"b\": 2}", "key of ", "\"de"),
            ("{\"a\": 1\n  \"|\"}", "key of ", "\"\""),
            ("{\"a\": {\"|\"}, \"b\": 2}", "key of /a", "\"\""),
            ("{\"a\": |}", "/a", ""),
            ("{\"a\": tr|ue}", "/a", "true"),
            ("{\"a\": {\"b\": \"x|y\"}}", "/a/b", "\"xy\""),
            ("{\"a\": {\"b\": \"x|, \"c\": 1}}", "/a/b", "\"x"),
            ("{\"a\": [\"x\", \"|\"]}", "/a/1", "\"\""),
            ("{\"a\": [|]}", "/a/0", ""),
        ] {
            assert_eq!(at(marked), Some((slot.to_owned(), token.to_owned())), "{marked}");
        }
        for marked in ["|", "{}|", "{\"a\": 1|}", "{\"a\"| 1}", "{\"a\": [1 |]}"] {
            assert_eq!(at(marked).map(|(slot, _)| slot).filter(|slot| slot != "/a"), None, "{marked}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[\\[\\]{}:,\"\\\\ \\na-cé😀]{0,24}") {
            let (document, _) = parse(&text);
            for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
                if let Some(cursor) = Cursor::new(&document, &text, offset) {
                    prop_assert!(cursor.span.start <= offset && offset <= cursor.span.end);
                    prop_assert!(text.get(cursor.span).is_some());
                }
            }
        }
    }
}
