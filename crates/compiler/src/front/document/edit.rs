//! Fixes → changes of the text. All bytes that a fix does not name stay as they are.

use std::ops::Range;

use serde_json::Value;

use super::{Document, Kind, Member};
use crate::diagnostic::{Edit, Fix, Place, Pointer};

/// A change of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes that are replaced.
    pub span: Range<usize>,
    /// The new text.
    pub text: String,
}

/// `text` with the changes, which do not overlap.
pub fn apply(text: &str, mut edits: Vec<TextEdit>) -> String {
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let (mut changed, mut at) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        changed.push_str(&text[at..edit.span.start]);
        changed.push_str(&edit.text);
        at = edit.span.end;
    }
    changed + &text[at..]
}

/// The edits of all `fixes` that do not touch one before them, and the number of these fixes.
pub fn disjoint<'a>(fixes: impl Iterator<Item = &'a [TextEdit]>) -> (Vec<TextEdit>, usize) {
    let (mut edits, mut count): (Vec<TextEdit>, usize) = (Vec::new(), 0);
    for fix in fixes {
        let overlaps = |edit: &TextEdit| {
            edits.iter().any(|made| made.span.start <= edit.span.end && edit.span.start <= made.span.end)
        };
        if !fix.iter().any(overlaps) {
            edits.extend(fix.iter().cloned());
            count += 1;
        }
    }
    (edits, count)
}

impl Document {
    /// The changes of the text that make `fix`; none if it cannot be made without touching anything else.
    pub fn edits(&self, fix: &Fix) -> Option<Vec<TextEdit>> {
        let edits = fix.edits.iter().map(|(place, edit)| self.edit(place, edit));
        Some(edits.collect::<Option<Vec<_>>>()?.concat())
    }

    fn edit(&self, place: &Place, edit: &Edit) -> Option<Vec<TextEdit>> {
        let span = self.span(place);
        Some(match edit {
            Edit::Replace(text) => vec![TextEdit { span, text: written(place, text) }],
            Edit::Remove => vec![TextEdit { span: self.removed(place, span)?, text: String::new() }],
            Edit::Add(text) => vec![self.added(place, text)?],
            Edit::Wrap(before, after) => [(span.start, before), (span.end, after)]
                .map(|(at, text)| TextEdit { span: at..at, text: (*text).to_owned() })
                .to_vec(),
        })
    }

    /// Adds `text` after the last item or member of the value at `place`, in a line of its own if that one is.
    fn added(&self, place: &Place, text: &str) -> Option<TextEdit> {
        let Place::Value(pointer) = place else { return None };
        let node = pointer.keys().try_fold(&self.root, |node, key| node.child(&key))?;
        let last = match &node.kind {
            Kind::Object(members) => {
                members.values().last().map(|member| member.key_span.start..member.value.span.end)
            }
            Kind::Array(items) => items.last().map(|item| item.span.clone()),
            _ => return None,
        };
        let Some(last) = last else {
            let start = node.span.start + 1;
            return Some(TextEdit { span: start..start, text: text.to_owned() });
        };
        let before = &self.text[..last.start];
        let space = &before[before.trim_end().len()..];
        let space = if space.contains('\n') { space } else { " " };
        Some(TextEdit { span: last.end..last.end, text: format!(",{space}{text}") })
    }

    /// The bytes to remove at `place`, whose own are `span`.
    fn removed(&self, place: &Place, span: Range<usize>) -> Option<Range<usize>> {
        let (Place::Key(pointer) | Place::Value(pointer)) = place else { return Some(span) };
        let (siblings, index) = self.siblings(pointer)?;
        let own = siblings.get(index)?;
        // With its comma and the space up to the next item, which then has the place of this one.
        let next = siblings.get(index + 1).map(|next| (own.end..next.start, own.start..next.start));
        let last = || match index.checked_sub(1).and_then(|index| siblings.get(index)) {
            Some(previous) => (previous.end..own.start, previous.end..own.end),
            None => (0..0, own.clone()),
        };
        let (between, removed) = next.unwrap_or_else(last);
        // A comment or a member that could not be read would be lost.
        let is_empty = self.text[between].chars().all(|c| c == ',' || c.is_ascii_whitespace());
        is_empty.then_some(removed)
    }

    /// The bytes of all members or items around `pointer`, and the index of its own.
    fn siblings(&self, pointer: &Pointer) -> Option<(Vec<Range<usize>>, usize)> {
        let key = pointer.keys().last()?;
        let whole = |member: &Member| member.key_span.start..member.value.span.end;
        match &self.nearest(&pointer.parent()?).kind {
            Kind::Object(members) => {
                Some((members.values().map(whole).collect(), members.get_index_of(&key)?))
            }
            Kind::Array(items) => {
                Some((items.iter().map(|item| item.span.clone()).collect(), key.parse().ok()?))
            }
            _ => None,
        }
    }
}

/// The text as the file has it at `place`.
fn written(place: &Place, text: &str) -> String {
    let quoted = || Value::from(text).to_string();
    match place {
        Place::Key(_) => quoted(),
        Place::Within(..) => quoted()[1..].strip_suffix('"').unwrap_or_default().to_owned(),
        Place::File | Place::Option(_) | Place::Span(_) | Place::Value(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn fixed(text: &str, place: Place, edit: Edit) -> Option<String> {
        Some(apply(text, parse(text).0.edits(&Fix::safe(place, edit))?))
    }

    fn key(pointer: &str) -> Place {
        Place::Key(Pointer::parse(pointer))
    }

    #[test]
    fn additions_follow_the_layout() {
        let add = |text, pointer: &str, new: &str| {
            fixed(text, Place::Value(Pointer::parse(pointer)), Edit::Add(new.to_owned()))
        };
        for (text, pointer, new, expected) in [
            (r#"{"a": []}"#, "/a", "1", r#"{"a": [1]}"#),
            (r#"{"a": [0]}"#, "/a", "1", r#"{"a": [0, 1]}"#),
            ("{\"a\": [\r\n\t0\r\n]}", "/a", "1", "{\"a\": [\r\n\t0,\r\n\t1\r\n]}"),
            ("{\n  \"a\": 0 // why\n}", "", r#""b": 1"#, "{\n  \"a\": 0,\n  \"b\": 1 // why\n}"),
        ] {
            assert_eq!(add(text, pointer, new).as_deref(), Some(expected));
        }
        assert_eq!(add(r#"{"a": 0}"#, "/a", "1"), None);
        assert_eq!(add(r#"{"a": 0}"#, "/b", "1"), None);
    }

    #[test]
    fn members_and_items_are_removed_with_their_comma() {
        let text = "{\n  \"a\": 1,\n  \"b\": [1, 2,3],\n  \"c\": {\"d\": 4}\n}";
        for (pointer, expected) in [
            ("/a", "{\n  \"b\": [1, 2,3],\n  \"c\": {\"d\": 4}\n}"),
            ("/c", "{\n  \"a\": 1,\n  \"b\": [1, 2,3]\n}"),
            ("/c/d", "{\n  \"a\": 1,\n  \"b\": [1, 2,3],\n  \"c\": {}\n}"),
        ] {
            assert_eq!(fixed(text, key(pointer), Edit::Remove).as_deref(), Some(expected));
        }
        let item = |index| Place::Value(Pointer::parse("/b").join(index));
        assert!(fixed(text, item(0), Edit::Remove).unwrap().contains("[2,3]"));
        assert!(fixed(text, item(2), Edit::Remove).unwrap().contains("[1, 2]"));
    }

    #[test]
    fn comments_are_kept() {
        assert_eq!(fixed("{\"a\": 1, // why\n \"b\": 2}", key("/a"), Edit::Remove), None);
        assert_eq!(fixed("{\"a\": 1, \"a\": 3, \"b\": 2}", key("/a"), Edit::Remove), None);
    }

    #[test]
    fn keys_and_parts_of_strings_are_escaped() {
        let text = r#"{"ä\u00e9b": "x\u00e9:y"}"#;
        let replace = || Edit::Replace("\"\\".to_owned());
        assert_eq!(fixed(text, key("/äéb"), replace()).unwrap(), r#"{"\"\\": "x\u00e9:y"}"#);
        let part = Place::Within(Pointer::parse("/äéb"), 1..3);
        assert_eq!(fixed(text, part, replace()).unwrap(), r#"{"ä\u00e9b": "x\"\\:y"}"#);
    }
}
