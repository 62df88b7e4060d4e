//! The compiler: `agent.json` in, a typed plan and its renderings out. Pure: it opens no file and prints nothing.

pub mod back;
pub mod files;
pub mod front;
pub mod manifests;
pub mod paths;
pub mod server;
pub mod words;

use crate::diagnostic::{Diagnostic, Rule};
use files::Files;
use front::config::Config;
use front::dialect::Dialect;
use front::document::Document;
use front::{check, document, schema};

/// What is known of one configuration.
pub struct Analysis {
    /// The text as a tree, for drawing places.
    pub document: Document,
    /// The configuration without the parts that are wrong.
    pub config: Config,
    /// Every finding, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Whether the configuration can be compiled.
    pub fn is_usable(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads and checks the configuration `text` from the file `name`, with `files` as the tree around it.
pub fn analyze(name: &str, text: &str, files: &dyn Files) -> Analysis {
    let (document, mut diagnostics) = document::parse(text);
    let mut config = Config::default();
    if !matches!(document.root.kind, document::Kind::Hole) {
        let shape = schema::check(&document);
        diagnostics.extend(shape.diagnostics);
        config = Config::new(shape.value, Dialect::of(name));
        diagnostics.extend(check::check(&config, files, &shape.removed));
    }
    if diagnostics.is_empty() {
        return Analysis { document, config, diagnostics };
    }
    let discretion = document.discretion();
    let shown = |text: &str| discretion.apply(&check::masked(text));
    for diagnostic in &mut diagnostics {
        diagnostic.message = shown(&diagnostic.message);
        diagnostic.help = diagnostic.help.as_deref().map(shown);
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let span = document.span(&diagnostic.place);
        (span.start, span.end, diagnostic.rule.code)
    });
    Analysis { document, config, diagnostics }
}

/// Every rule there is, by code.
pub fn rules() -> Vec<&'static Rule> {
    let checks = check::CHECKS.iter().flat_map(|check| check.rules);
    let mut rules: Vec<_> = document::RULES.iter().chain(schema::RULES).chain(checks).copied().collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}
