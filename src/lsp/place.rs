//! The part of a configuration at a place of its text.

use std::ops::Range;

use crate::compiler::front::document::{Document, Kind, Node};
use crate::diagnostic::Pointer;

/// A key or a value, and its place.
#[derive(Debug)]
pub(super) struct Spot<'d> {
    /// The innermost value around the offset, or the value of the key at it.
    pub(super) pointer: Pointer,
    pub(super) node: &'d Node,
    /// The key that the offset is in.
    pub(super) key: Option<Range<usize>>,
}

impl Spot<'_> {
    /// The bytes of the key or the value.
    pub(super) fn span(&self) -> Range<usize> {
        self.key.clone().unwrap_or_else(|| self.node.span.clone())
    }
}

/// The part of `document` at `offset`; both ends of a part belong to it.
pub(super) fn at(document: &Document, offset: usize) -> Spot<'_> {
    let mut spot = Spot { pointer: Pointer::root(), node: &document.root, key: None };
    while let Some(inner) = inner(&spot, offset) {
        let is_key = inner.key.is_some();
        spot = inner;
        if is_key {
            break;
        }
    }
    spot
}

fn inner<'d>(spot: &Spot<'d>, offset: usize) -> Option<Spot<'d>> {
    let touches = |span: &Range<usize>| span.start <= offset && offset <= span.end;
    match &spot.node.kind {
        Kind::Object(members) => members.iter().find_map(|(key, member)| {
            let on_key = touches(&member.key_span);
            (on_key || touches(&member.value.span)).then(|| Spot {
                pointer: spot.pointer.join(key),
                node: &member.value,
                key: on_key.then(|| member.key_span.clone()),
            })
        }),
        Kind::Array(items) => {
            let (index, node) = items.iter().enumerate().find(|(_, item)| touches(&item.span))?;
            Some(Spot { pointer: spot.pointer.join(index), node, key: None })
        }
        _ => None,
    }
}
