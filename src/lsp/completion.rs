//! Completion of keys, values, paths, and names in files.

mod path;

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent, MarkupKind,
    TextEdit,
};
use serde_json::Value;

use super::buffer::Buffer;
use super::cursor::{Cursor, Slot};
use super::hover::documented;
use crate::compiler::front::document::Kind;
use crate::compiler::front::schema::describing;
use crate::diagnostic::Pointer;

/// A proposal.
struct Proposal {
    label: String,
    /// The text of the token, without quotes.
    text: String,
    kind: CompletionItemKind,
    detail: Option<String>,
    documentation: Option<String>,
}

impl Proposal {
    fn new(text: impl Into<String>, kind: CompletionItemKind) -> Self {
        let text = text.into();
        Self { label: text.clone(), text, kind, detail: None, documentation: None }
    }

    fn item(self, index: usize, range: lsp_types::Range, new_text: String, filter: String) -> CompletionItem {
        let markdown = |value| MarkupContent { kind: MarkupKind::Markdown, value };
        CompletionItem {
            label: self.label,
            kind: Some(self.kind),
            detail: self.detail,
            documentation: self.documentation.map(|text| Documentation::MarkupContent(markdown(text))),
            sort_text: Some(format!("{index:04}")),
            filter_text: Some(filter),
            text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text })),
            ..CompletionItem::default()
        }
    }
}

/// The proposals at `offset`, in their order.
pub(super) fn complete(buffer: &Buffer, offset: usize) -> Vec<CompletionItem> {
    let Some(cursor) = Cursor::new(&buffer.analysis().document, buffer.text.as_str(), offset) else {
        return Vec::new();
    };
    match &cursor.slot {
        Slot::Key(object) => keys(buffer, &cursor, object),
        Slot::Value(pointer) => {
            let part = describing(pointer).unwrap_or(&Value::Null);
            let paths = inserted(buffer, &cursor, path::proposals(buffer, pointer, cursor.typed));
            let strings = whole(buffer, &cursor, options(part), "");
            let words = if cursor.is_quoted() { Vec::new() } else { literals(part) };
            let words = words.into_iter().enumerate().map(|(index, proposal)| {
                let text = proposal.text.clone();
                proposal.item(index, buffer.text.range(&cursor.span), text.clone(), text)
            });
            paths.into_iter().chain(strings).chain(words).collect()
        }
    }
}

/// The keys that the object at `pointer` may have, and does not have yet.
fn keys(buffer: &Buffer, cursor: &Cursor<'_>, pointer: &Pointer) -> Vec<CompletionItem> {
    let document = &buffer.analysis().document;
    let node = pointer.keys().try_fold(&document.root, |node, key| node.child(&key));
    let is_taken = |key: &str| match node.map(|node| &node.kind) {
        Some(Kind::Object(members)) => {
            members.get(key).is_some_and(|member| member.key_span.start != cursor.span.start)
        }
        _ => false,
    };
    let properties = describing(pointer).and_then(|part| part["properties"].as_object());
    let known = properties.into_iter().flatten().map(|(key, _)| key).filter(|key| !is_taken(key));
    let proposals = known.map(|key| Proposal {
        documentation: documented(&pointer.join(key)),
        ..Proposal::new(key, CompletionItemKind::PROPERTY)
    });
    let has_colon = buffer.text.as_str()[cursor.span.end..].trim_start().starts_with(':');
    whole(buffer, cursor, proposals.collect(), if has_colon { "" } else { ": " })
}

/// The strings that the schema lists for a value.
fn options(part: &Value) -> Vec<Proposal> {
    let listed = [&part["enum"], &part["examples"]].into_iter().find_map(Value::as_array);
    let strings = listed.into_iter().flatten().filter_map(Value::as_str);
    let proposal = |text: &str| {
        let detail = (part["default"] == text).then(|| "default".to_owned());
        Proposal { detail, ..Proposal::new(text, CompletionItemKind::ENUM_MEMBER) }
    };
    strings.map(proposal).collect()
}

/// `true` and `false`, where they are allowed.
fn literals(part: &Value) -> Vec<Proposal> {
    let takes = |kind: &Value| kind == "boolean";
    if !takes(&part["type"]) && !part["type"].as_array().is_some_and(|kinds| kinds.iter().any(takes)) {
        return Vec::new();
    }
    let proposal = |value: bool| {
        let detail = (part["default"] == value).then(|| "default".to_owned());
        Proposal { detail, ..Proposal::new(value.to_string(), CompletionItemKind::VALUE) }
    };
    [true, false].map(proposal).into()
}

/// Items that replace the token by a string in quotes, with `end` after it.
fn whole(buffer: &Buffer, cursor: &Cursor<'_>, proposals: Vec<Proposal>, end: &str) -> Vec<CompletionItem> {
    let range = buffer.text.range(&cursor.span);
    let item = |(index, proposal): (usize, Proposal)| {
        let quoted = Value::from(proposal.text.as_str()).to_string();
        let filter = if cursor.is_quoted() { quoted.clone() } else { proposal.text.clone() };
        proposal.item(index, range, quoted + end, filter)
    };
    proposals.into_iter().enumerate().map(item).collect()
}

/// Items that leave the cursor in the string, so that one can type on.
fn inserted(buffer: &Buffer, cursor: &Cursor<'_>, proposals: Vec<Proposal>) -> Vec<CompletionItem> {
    if !cursor.is_quoted() {
        return whole(buffer, cursor, proposals, "");
    }
    let range = buffer.text.range(&cursor.inner);
    let item = |(index, proposal): (usize, Proposal)| {
        let quoted = Value::from(proposal.text.as_str()).to_string();
        let inner = quoted[1..quoted.len() - 1].to_owned();
        proposal.item(index, range, inner.clone(), inner)
    };
    proposals.into_iter().enumerate().map(item).collect()
}
