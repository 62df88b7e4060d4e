//! Findings located in the text of a configuration: what every report and editor shows.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Severity};
use crate::front::document::{Document, TextEdit};
use crate::front::source::Source;

/// A diagnostic and the bytes of the text that it is about.
#[derive(Debug)]
pub struct Finding {
    /// The diagnostic.
    pub diagnostic: Diagnostic,
    /// Its bytes in the text; empty at the start for the file as a whole.
    pub span: Range<usize>,
    /// The changes of the text that fix it.
    pub edits: Vec<TextEdit>,
}

impl Finding {
    /// Locates `diagnostic` in `document`.
    pub fn new(diagnostic: Diagnostic, document: &Document) -> Self {
        let span = document.span(&diagnostic.place);
        let edits = diagnostic.fix.as_ref().and_then(|fix| document.edits(fix)).unwrap_or_default();
        Self { diagnostic, span, edits }
    }
}

/// One configuration and its findings.
#[derive(Debug)]
pub struct Checked {
    /// The file, with its secrets hidden.
    pub source: Source,
    /// The findings, in the order of the text.
    pub findings: Vec<Finding>,
    /// Number of graphs.
    pub graphs: usize,
}

impl Checked {
    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.diagnostic.is_error()).count()
    }

    /// The findings with a safe fix.
    pub fn safe_fixes(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|it| it.diagnostic.safe().is_some() && !it.edits.is_empty())
    }

    /// Number of warnings.
    pub fn warnings(&self) -> usize {
        let is_warning = |finding: &&Finding| finding.diagnostic.severity == Severity::Warning;
        self.findings.iter().filter(is_warning).count()
    }
}
