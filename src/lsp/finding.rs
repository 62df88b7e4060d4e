//! Findings as the editor shows them.

use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location, NumberOrString, Position,
    PublishDiagnosticsParams, Range,
};

use super::buffer::Buffer;
use super::text::Encoding;
use super::uri;
use crate::diagnostic::{Diagnostic, Related, Severity};

/// Rules about parts of the configuration that do nothing; editors fade them out.
const UNNECESSARY: &[&str] = &[
    "duplicate-dependency",
    "duplicate-key",
    "ineffective-key",
    "no-effect-on-image",
    "redundant-dependency",
    "unused-checkpointer-path",
];

/// All findings of a buffer.
pub(super) fn publication(buffer: &Buffer, encoding: Encoding) -> PublishDiagnosticsParams {
    let diagnostics = &buffer.analysis().diagnostics;
    PublishDiagnosticsParams {
        uri: buffer.uri.clone(),
        diagnostics: diagnostics.iter().map(|finding| shown(buffer, finding, encoding)).collect(),
        version: Some(buffer.version),
    }
}

/// One finding of a buffer.
pub(super) fn shown(buffer: &Buffer, finding: &Diagnostic, encoding: Encoding) -> lsp_types::Diagnostic {
    let message = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    let related: Vec<_> =
        finding.related.iter().filter_map(|place| related(buffer, place, encoding)).collect();
    let is_unnecessary = UNNECESSARY.contains(&finding.rule.code);
    lsp_types::Diagnostic {
        range: buffer.text.range(&buffer.analysis().document.span(&finding.place)),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.rule.code.to_owned())),
        source: Some("agentcli".to_owned()),
        message,
        related_information: Some(related).filter(|all| !all.is_empty()),
        tags: is_unnecessary.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..lsp_types::Diagnostic::default()
    }
}

fn related(buffer: &Buffer, place: &Related, encoding: Encoding) -> Option<DiagnosticRelatedInformation> {
    let line = u32::try_from(place.line - 1).ok()?;
    let position = |end: usize| Position::new(line, encoding.columns(&place.text[..end]));
    let range = Range::new(position(place.range.start), position(place.range.end));
    let uri = uri::from_path(&buffer.locate(&place.path))?;
    Some(DiagnosticRelatedInformation { location: Location { uri, range }, message: place.label.clone() })
}
