//! Findings → text in one of several formats. Pure: the caller prints the result.

pub mod checks;
pub mod github;
pub mod gitlab;
pub mod json;
pub mod junit;
pub mod keys;
pub mod reference;
pub mod sarif;
pub mod text;

use std::ops::Range;

use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::compiler::paths;
use crate::diagnostic::{Diagnostic, Related};
use text::Layout;

/// How findings are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Frames with carets, for people
    #[default]
    Text,
    /// One object with all findings
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, for annotations on GitHub
    Github,
    /// Code quality report, for merge requests on GitLab
    Gitlab,
    /// JUnit XML, for the test results of other CI services
    Junit,
}

impl Format {
    /// Whether people read this format, so that a summary on stderr helps.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Text | Format::Github)
    }
}

/// The findings of all files, in `format`. Only text has a layout, and only JUnit says which findings fail.
pub fn render(format: Format, checked: &[Checked], layout: Layout, deny_warnings: bool) -> String {
    match format {
        Format::Text => text::render(checked, layout),
        Format::Json => json::render(checked),
        Format::Sarif => sarif::render(checked),
        Format::Github => github::render(checked),
        Format::Gitlab => gitlab::render(checked),
        Format::Junit => junit::render(checked, deny_warnings),
    }
}

/// A part of a file, from its first position to the first one after it; positions are a line and a column, from 1.
struct Location<'a> {
    /// The path, relative to the same directory as the name of the configuration.
    file: String,
    start: (usize, usize),
    end: (usize, usize),
    /// A few words about the place.
    label: &'a str,
}

impl<'a> Location<'a> {
    /// The places of a finding, that of the mistake first.
    fn all(source: &Source, finding: &'a Finding) -> Vec<Self> {
        let diagnostic = &finding.diagnostic;
        let mut all = vec![Self::configured(source, &finding.span, "configured here")];
        all.extend(finding.others.iter().map(|span| Self::configured(source, span, "here, too")));
        all.extend(diagnostic.related.iter().map(|place| Self::related(source, place)));
        if diagnostic.is_elsewhere {
            all.rotate_left(1);
        }
        all
    }

    fn configured(source: &Source, span: &Range<usize>, label: &'a str) -> Self {
        let (start, end) = source.positions(span);
        Self {
            file: source.name.clone(),
            start: (start.line, start.column),
            end: (end.line, end.column),
            label,
        }
    }

    fn related(source: &Source, place: &'a Related) -> Self {
        let (column, end_column) = place.columns();
        Self {
            file: paths::join(paths::parent(&source.name), &place.path),
            start: (place.line, column),
            end: (place.line, end_column),
            label: &place.label,
        }
    }
}

/// The message, the other places and the help, each on a line.
fn sentences(diagnostic: &Diagnostic, others: &[Location<'_>]) -> String {
    let line = |it: &Location<'_>| format!("\n{}:{}:{}: {}", it.file, it.start.0, it.start.1, it.label);
    let others: String = others.iter().map(line).collect();
    let help = diagnostic.help.as_ref().map(|help| format!("\nhelp: {help}"));
    format!("{}{others}{}", diagnostic.message, help.unwrap_or_default())
}

/// `json` with control and direction characters as escapes. They can only occur in its strings.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if super::console::is_invisible(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}
