//! One JSON object: `{"version": 2, "files": N, "diagnostics": […]}`.
//!
//! The file, line and column are those of the mistake. Related places are more of it, what it comes from, and the part of the
//! configuration that leads to it. Lines and columns count from 1, columns in characters; the end is the first position after
//! the part. The edits of a fix are changes of the configuration, made at once; `validate --fix` makes safe ones.

use serde_json::{Value, json};

use super::{Location, harmless};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::document::TextEdit;
use crate::compiler::front::source::Source;

/// All findings as one line of JSON.
pub fn render(checked: &[Checked]) -> String {
    let entries =
        checked.iter().flat_map(|file| file.findings.iter().map(|finding| entry(&file.source, finding)));
    let diagnostics: Vec<Value> = entries.collect();
    let report = json!({ "version": 2, "files": checked.len(), "diagnostics": diagnostics });
    harmless(&report.to_string()) + "\n"
}

fn entry(source: &Source, finding: &Finding) -> Value {
    let places = Location::all(source, finding);
    let Location { file, start, end, .. } = &places[0];
    let diagnostic = &finding.diagnostic;
    json!({
        "code": diagnostic.rule.code,
        "severity": diagnostic.severity.word(),
        "message": diagnostic.message,
        "file": file,
        "pointer": diagnostic.place.pointer().to_string(),
        "line": start.0,
        "column": start.1,
        "end_line": end.0,
        "end_column": end.1,
        "related": places[1..].iter().map(related).collect::<Vec<_>>(),
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

fn related(place: &Location<'_>) -> Value {
    json!({
        "message": place.label,
        "file": place.file,
        "line": place.start.0,
        "column": place.start.1,
        "end_line": place.end.0,
        "end_column": place.end.1,
    })
}
