//! Findings located in the text of a configuration: what every report and editor shows.

use std::collections::HashMap;
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
    /// The bytes of other places with the same mistake.
    pub others: Vec<Range<usize>>,
    /// The changes of the text that fix it, in all places.
    pub edits: Vec<TextEdit>,
}

impl Finding {
    /// Locates `diagnostic` in `document`.
    pub fn new(diagnostic: Diagnostic, document: &Document) -> Self {
        let span = document.span(&diagnostic.place);
        let edits = diagnostic.fix.as_ref().and_then(|fix| document.edits(fix)).unwrap_or_default();
        Self { diagnostic, span, others: Vec::new(), edits }
    }

    /// Locates all diagnostics. Those with the same message for several places become one finding.
    pub fn all(diagnostics: Vec<Diagnostic>, document: &Document) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut known: HashMap<(&str, String, Option<String>), usize> = HashMap::new();
        for diagnostic in diagnostics {
            let words = (diagnostic.rule.code, diagnostic.message.clone(), diagnostic.help.clone());
            let finding = Self::new(diagnostic, document);
            match known.get(&words) {
                Some(&first) if all[first].is_repeated_by(&finding) => all[first].absorb(finding),
                _ => {
                    known.insert(words, all.len());
                    all.push(finding);
                }
            }
        }
        all
    }

    /// Whether `other`, in the same words, is the same mistake in another place of the configuration.
    fn is_repeated_by(&self, other: &Self) -> bool {
        let (first, second) = (&self.diagnostic, &other.diagnostic);
        let has_no_other = first.related.is_empty() && second.related.is_empty();
        let safe = |it: &Diagnostic| it.fix.as_ref().map(|fix| fix.is_safe);
        has_no_other
            && self.span != other.span
            && safe(first) == safe(second)
            && (first.severity, first.is_dispensable) == (second.severity, second.is_dispensable)
    }

    fn absorb(&mut self, other: Self) {
        self.others.push(other.span);
        self.edits.extend(other.edits);
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
