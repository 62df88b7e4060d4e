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

use crate::compiler::finding::Checked;
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

/// The path of a related file, relative to the same directory as the name of `source`.
fn related_name(source: &Source, related: &Related) -> String {
    paths::join(paths::parent(&source.name), &related.path)
}

/// The message, the related place and the help, each on a line.
fn sentences(source: &Source, diagnostic: &Diagnostic) -> String {
    let related = diagnostic.related.as_ref().map(|related| {
        let name = related_name(source, related);
        let line = related.line;
        let column = related.columns().0;
        format!("\n{name}:{line}:{column}: {}", related.label)
    });
    let help = diagnostic.help.as_ref().map(|help| format!("\nhelp: {help}"));
    format!("{}{}{}", diagnostic.message, related.unwrap_or_default(), help.unwrap_or_default())
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
