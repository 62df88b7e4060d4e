//! The keys of a configuration as a tree. Values are not part of it, since they may be secret.

use lsp_types::{DocumentSymbol, SymbolKind};

use super::buffer::Buffer;
use crate::compiler::front::document::{Kind, Member, Node};

/// The keys of a buffer.
pub(super) fn outline(buffer: &Buffer) -> Vec<DocumentSymbol> {
    members(buffer, &buffer.analysis().document.root)
}

fn members(buffer: &Buffer, node: &Node) -> Vec<DocumentSymbol> {
    let Kind::Object(members) = &node.kind else { return Vec::new() };
    members.iter().map(|(key, member)| symbol(buffer, key, member)).collect()
}

#[expect(deprecated, reason = "the type has no default, and every field has to be given")]
fn symbol(buffer: &Buffer, key: &str, member: &Member) -> DocumentSymbol {
    let kind = match member.value.kind {
        Kind::Array(_) => SymbolKind::ARRAY,
        Kind::Bool(_) => SymbolKind::BOOLEAN,
        Kind::Hole | Kind::Null => SymbolKind::NULL,
        Kind::Number(_) => SymbolKind::NUMBER,
        Kind::Object(_) => SymbolKind::OBJECT,
        Kind::String(_) => SymbolKind::STRING,
    };
    let key_span = &member.key_span;
    let end = member.value.span.end.max(key_span.end);
    DocumentSymbol {
        // Editors reject an empty name.
        name: if key.trim().is_empty() { "\"\"".to_owned() } else { key.to_owned() },
        detail: None,
        kind,
        tags: None,
        deprecated: None,
        range: buffer.text.range(&(key_span.start..end)),
        selection_range: buffer.text.range(key_span),
        children: Some(members(buffer, &member.value)).filter(|children| !children.is_empty()),
    }
}
