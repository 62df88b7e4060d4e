//! Workflow commands, which GitHub shows as annotations.

use super::sentences;
use crate::cli::console::{visible, visible_line};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::diagnostic::Severity;

/// One command per finding.
pub fn render(checked: &[Checked]) -> String {
    let command =
        |file: &Checked| -> String { file.findings.iter().map(|one| command(&file.source, one)).collect() };
    checked.iter().map(command).collect()
}

fn command(source: &Source, finding: &Finding) -> String {
    let (start, end) = source.positions(&finding.span);
    let diagnostic = &finding.diagnostic;
    // GitHub ignores columns if the finding spans several lines.
    let place = if start.line == end.line {
        format!("line={},col={},endLine={},endColumn={}", start.line, start.column, end.line, end.column)
    } else {
        format!("line={},endLine={}", start.line, end.line)
    };
    let command = match diagnostic.severity {
        Severity::Note => "notice",
        severity => severity.word(),
    };
    format!(
        "::{command} file={},{place},title={}::{}\n",
        property(&visible_line(&source.name)),
        property(diagnostic.rule.code),
        data(&visible(&sentences(source, diagnostic)))
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
