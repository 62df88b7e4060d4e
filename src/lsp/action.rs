//! Code actions: the fixes that `validate --fix` knows, and those that are only likely.

use std::collections::HashMap;
use std::ops::Range;

use lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOptions, CodeActionResponse, WorkspaceEdit,
};

use super::buffer::Buffer;
use super::finding;
use super::text::Encoding;
use crate::compiler::front::document::{TextEdit, disjoint};
use crate::diagnostic::{Diagnostic, Edit, Fix};

/// The kind of the action that makes all safe fixes, which editors can run on save.
const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.agentcli");

/// Length of a replacement that a title can show.
const MAX_SHOWN: usize = 60;

/// The kinds that the server offers.
pub(super) fn offered() -> CodeActionOptions {
    CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, FIX_ALL]),
        ..CodeActionOptions::default()
    }
}

/// The actions for the bytes `span`: the fixes of findings there, and all safe fixes at once.
pub(super) fn actions(
    buffer: &Buffer,
    span: &Range<usize>,
    context: &CodeActionContext,
    encoding: Encoding,
) -> CodeActionResponse {
    let is_asked = |kind: &CodeActionKind| {
        context.only.as_ref().is_none_or(|only| only.iter().any(|it| includes(it.as_str(), kind.as_str())))
    };
    let mut actions = Vec::new();
    if is_asked(&CodeActionKind::QUICKFIX) {
        let analysis = buffer.analysis();
        let here = analysis.diagnostics.iter().filter(|finding| {
            let own = analysis.document.span(&finding.place);
            own.start <= span.end && span.start <= own.end
        });
        actions.extend(here.filter_map(|finding| quick_fix(buffer, finding, encoding)));
    }
    if is_asked(&FIX_ALL) {
        actions.extend(fix_all(buffer));
    }
    actions.into_iter().map(Into::into).collect()
}

/// Whether the kind `outer`, such as `source`, includes `kind`, such as `source.fixAll`.
fn includes(outer: &str, kind: &str) -> bool {
    kind.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || outer.is_empty() || rest.starts_with('.'))
}

fn quick_fix(buffer: &Buffer, finding: &Diagnostic, encoding: Encoding) -> Option<CodeAction> {
    let fix = finding.fix.as_ref()?;
    let edits = buffer.analysis().document.edits(fix).filter(|edits| !edits.is_empty())?;
    Some(CodeAction {
        title: title(finding, fix),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![finding::shown(buffer, finding, encoding)]),
        edit: Some(change(buffer, &edits)),
        is_preferred: Some(fix.is_safe),
        ..CodeAction::default()
    })
}

fn title(finding: &Diagnostic, fix: &Fix) -> String {
    match fix.edits.as_slice() {
        [(_, edit @ (Edit::Add(text) | Edit::Replace(text)))]
            if (1..=MAX_SHOWN).contains(&text.len()) && !text.contains(char::is_control) =>
        {
            let verb = if matches!(edit, Edit::Add(_)) { "Add" } else { "Replace with" };
            format!("{verb} `{text}`")
        }
        _ => format!("Fix: {}", finding.message),
    }
}

fn fix_all(buffer: &Buffer) -> Option<CodeAction> {
    let analysis = buffer.analysis();
    let safe = analysis.diagnostics.iter().filter_map(Diagnostic::safe);
    let safe = safe.filter_map(|fix| analysis.document.edits(fix));
    let (edits, count) = disjoint(safe.collect::<Vec<_>>().iter().map(Vec::as_slice));
    (count > 0).then(|| CodeAction {
        title: "Make all safe fixes".to_owned(),
        kind: Some(FIX_ALL),
        edit: Some(change(buffer, &edits)),
        ..CodeAction::default()
    })
}

fn change(buffer: &Buffer, edits: &[TextEdit]) -> WorkspaceEdit {
    let edit = |edit: &TextEdit| lsp_types::TextEdit::new(buffer.text.range(&edit.span), edit.text.clone());
    WorkspaceEdit::new(HashMap::from([(buffer.uri.clone(), edits.iter().map(edit).collect())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_include_those_below_them() {
        assert!(includes("source", "source.fixAll") && includes("", "quickfix") && includes("a", "a"));
        assert!(!includes("source", "sources") && !includes("source.fixAll", "source"));
    }
}
