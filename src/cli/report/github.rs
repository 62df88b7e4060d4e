//! Workflow commands, which GitHub shows as annotations.

use super::{Location, sentences};
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
    let diagnostic = &finding.diagnostic;
    let places = Location::all(source, finding);
    let [Location { file, start: (line, column), end: (end_line, end_column), .. }, others @ ..] = &*places
    else {
        return String::new();
    };
    // GitHub ignores columns if the finding spans several lines.
    let place = if line == end_line {
        format!("line={line},col={column},endLine={end_line},endColumn={end_column}")
    } else {
        format!("line={line},endLine={end_line}")
    };
    let command = match diagnostic.severity {
        Severity::Note => "notice",
        severity => severity.word(),
    };
    format!(
        "::{command} file={},{place},title={}::{}\n",
        property(&visible_line(file)),
        property(diagnostic.rule.code),
        data(&visible(&sentences(diagnostic, others)))
    )
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
