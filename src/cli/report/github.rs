//! Workflow commands: GitHub shows each as an annotation at its line.

use crate::cli::check::{Checked, Finding};
use crate::cli::console::{visible, visible_line};
use crate::compiler::front::source::Source;

/// One command a finding.
pub fn render(checked: &[Checked]) -> String {
    let command =
        |file: &Checked| -> String { file.findings.iter().map(|one| command(&file.source, one)).collect() };
    checked.iter().map(command).collect()
}

fn command(source: &Source, finding: &Finding) -> String {
    let (start, end) = source.positions(&finding.span);
    let diagnostic = &finding.diagnostic;
    // GitHub takes columns only where the finding stands on one line.
    let place = if start.line == end.line {
        format!("line={},col={},endLine={},endColumn={}", start.line, start.column, end.line, end.column)
    } else {
        format!("line={},endLine={}", start.line, end.line)
    };
    let message = match &diagnostic.help {
        Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    format!(
        "::{} file={},{place},title={}::{}\n",
        diagnostic.rule.severity.word(),
        property(&visible_line(&source.name)),
        property(diagnostic.rule.code),
        data(&visible(&message))
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
