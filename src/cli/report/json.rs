//! One JSON object: `{"version": 1, "files": N, "diagnostics": […]}`.

use serde::Serialize;

use super::{harmless, related_name};
use crate::cli::check::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::diagnostic;

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    files: usize,
    diagnostics: Vec<Entry<'a>>,
}

/// Lines and columns count from 1, columns in characters; the end is the first position after the finding.
#[derive(Serialize)]
struct Entry<'a> {
    code: &'a str,
    severity: &'a str,
    message: &'a str,
    file: &'a str,
    pointer: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    related: Option<Related<'a>>,
    help: Option<&'a str>,
}

/// A place in another file; always within one line.
#[derive(Serialize)]
struct Related<'a> {
    message: &'a str,
    file: String,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// All findings as one line of JSON.
pub fn render(checked: &[Checked]) -> String {
    let entries =
        checked.iter().flat_map(|file| file.findings.iter().map(|finding| entry(&file.source, finding)));
    let report = Report { version: 1, files: checked.len(), diagnostics: entries.collect() };
    harmless(&serde_json::to_string(&report).unwrap_or_default()) + "\n"
}

fn entry<'a>(source: &'a Source, finding: &'a Finding) -> Entry<'a> {
    let (start, end) = source.positions(&finding.span);
    let diagnostic = &finding.diagnostic;
    Entry {
        code: diagnostic.rule.code,
        severity: diagnostic.rule.severity.word(),
        message: &diagnostic.message,
        file: &source.name,
        pointer: diagnostic.place.pointer().to_string(),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        related: diagnostic.related.as_ref().map(|place| related(source, place)),
        help: diagnostic.help.as_deref(),
    }
}

fn related<'a>(source: &Source, place: &'a diagnostic::Related) -> Related<'a> {
    let (column, end_column) = place.columns();
    Related {
        message: &place.label,
        file: related_name(source, place),
        line: place.line,
        column,
        end_line: place.line,
        end_column,
    }
}
