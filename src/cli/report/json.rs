//! One JSON object: `{"version": 1, "files": N, "diagnostics": […]}`.
//!
//! Lines and columns count from 1, columns in characters; the end is the first position after the finding. A related place
//! in another file is always within one line. The edits of a fix are made at once; `validate --fix` makes safe ones.

use serde_json::{Value, json};

use super::{harmless, related_name};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::document::TextEdit;
use crate::compiler::front::source::Source;
use crate::diagnostic::Related;

/// All findings as one line of JSON.
pub fn render(checked: &[Checked]) -> String {
    let entries =
        checked.iter().flat_map(|file| file.findings.iter().map(|finding| entry(&file.source, finding)));
    let diagnostics: Vec<Value> = entries.collect();
    let report = json!({ "version": 1, "files": checked.len(), "diagnostics": diagnostics });
    harmless(&report.to_string()) + "\n"
}

fn entry(source: &Source, finding: &Finding) -> Value {
    let (start, end) = source.positions(&finding.span);
    let diagnostic = &finding.diagnostic;
    json!({
        "code": diagnostic.rule.code,
        "severity": diagnostic.severity.word(),
        "message": diagnostic.message,
        "file": source.name,
        "pointer": diagnostic.place.pointer().to_string(),
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "related": diagnostic.related.as_ref().map(|place| related(source, place)),
        "help": diagnostic.help,
        "fix": diagnostic.fix.as_ref().filter(|_| !finding.edits.is_empty()).map(|fix| json!({
            "safe": fix.is_safe,
            "edits": finding.edits.iter().map(|edit| text_edit(source, edit)).collect::<Vec<_>>(),
        })),
    })
}

fn text_edit(source: &Source, edit: &TextEdit) -> Value {
    let (start, end) = source.positions(&edit.span);
    json!({
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        "text": edit.text,
    })
}

fn related(source: &Source, place: &Related) -> Value {
    let (column, end_column) = place.columns();
    json!({
        "message": place.label,
        "file": related_name(source, place),
        "line": place.line,
        "column": column,
        "end_line": place.line,
        "end_column": end_column,
    })
}
