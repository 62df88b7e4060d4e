//! The compiler: `agent.json` in, a typed plan and its renderings out. Pure: it opens no file and prints nothing.

pub mod agent_lock;
pub mod back;
pub mod diagnostic;
pub mod discover;
pub mod files;
pub mod finding;
pub mod front;
pub mod graph;
pub mod manifests;
mod options;
pub mod paths;
pub mod secrecy;
pub mod server;
pub mod tree;
mod unused;
pub mod words;

pub use options::Options;
pub use unused::Unused;

use back::lower;
use back::plan::Plan;
use diagnostic::{Diagnostic, Place, Pointer, Rule};
use finding::{Checked, Finding};
use front::check;
use front::config::Config;
use front::dialect::Dialect;
use front::document::Document;
use front::source::Source;
use front::{base_image, document, extent, schema};
use secrecy::urls;
use tree::Tree;

/// The result of checking a configuration.
pub struct Analysis {
    /// The parsed text, for the spans of places.
    pub document: Document,
    /// The configuration without the parts that are wrong.
    pub config: Config,
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Analysis {
    /// Whether the configuration can be compiled.
    pub fn is_usable(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_fatal)
    }

    /// The findings located in `source`, the file that was analyzed; and the configuration.
    pub fn located(self, mut source: Source) -> (Checked, Config) {
        source.hide(self.document.secrets());
        let findings = Finding::all(self.diagnostics, &self.document);
        (Checked { source, findings, graphs: self.config.graphs.len() }, self.config)
    }
}

/// A configuration that was compiled for one command.
pub struct Compiled {
    /// Its text, and the findings about it.
    pub checked: Checked,
    /// Number of errors that do not stop the command; they are warnings, or do not apply to it.
    pub left_out: usize,
    /// The configuration without the parts that are wrong.
    pub config: Config,
    /// Absent if there are errors.
    pub plan: Option<Plan>,
}

impl Compiled {
    /// A configuration that has no text to compile.
    pub fn of(checked: Checked) -> Self {
        Self { checked, left_out: 0, config: Config::default(), plan: None }
    }
}

/// Compiles the configuration in `source`, with `files` as the tree around it, for a command with these `options` that does
/// not use all of it.
pub fn compile(source: Source, files: &Tree, options: &Options, unused: Unused<'_>) -> Compiled {
    let analysis = analyze_for(options, &source.name, &source.text, files);
    let (mut checked, config) = analysis.located(source);
    let left_out = unused.leave_out(options, &mut checked);
    let name = paths::file_name(&checked.source.name);
    let plan = (checked.errors() == 0).then(|| lower::lower(&config, files, name, options));
    Compiled { checked, left_out, config, plan }
}

/// Reads and checks the configuration `text` from the file `name`, with `files` as the tree around it, for the default server.
pub fn analyze(name: &str, text: &str, files: &Tree) -> Analysis {
    analyze_for(&Options::default(), name, text, files)
}

/// The same with `options`: they replace values of the text before these are checked.
pub fn analyze_for(options: &Options, name: &str, text: &str, files: &Tree) -> Analysis {
    let (document, mut diagnostics) = document::parse(text);
    let mut config = Config::default();
    if !matches!(document.root.kind, document::Kind::Hole) {
        let dialect = Dialect::of(name);
        let shape = schema::check(&document, dialect);
        let is_kept = |it: &Diagnostic| options.replacing(&it.place).is_none();
        diagnostics.extend(shape.diagnostics.into_iter().filter(is_kept));
        config = options.laid_over(Config::new(shape.value, dialect));
        files.settle_for(&|files| extent::extent(&config, files));
        config.default_python = options.is_local.then(|| base_image::local_python(&config, files)).flatten();
        let found = check::check(&document, &config, files, &shape.removed);
        diagnostics.extend(found.into_iter().map(|it| of_options(it, options)));
        check::leave_foreign(&mut diagnostics);
    }
    if diagnostics.is_empty() {
        return Analysis { document, config, diagnostics };
    }
    // A syntax error without a fix may be the cause of other findings.
    let is_clear = !diagnostics.iter().any(|it| document::hides_others(it.rule) && it.fix.is_none());
    for diagnostic in &mut diagnostics {
        keep_secrets(diagnostic, &document);
        if let Some(fix) = &mut diagnostic.fix {
            fix.is_safe &= is_clear;
        }
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let span = document.span(&diagnostic.place);
        (span.start, span.end, diagnostic.rule.code)
    });
    Analysis { document, config, diagnostics }
}

/// A finding about a value that an option replaces points to that option.
fn of_options(diagnostic: Diagnostic, options: &Options) -> Diagnostic {
    match options.replacing(&diagnostic.place) {
        Some(option) => Diagnostic { place: Place::Option(option), fix: None, ..diagnostic },
        None => diagnostic,
    }
}

/// Masks passwords and tokens of URLs in messages about the places that hold them, and removes all details from
/// messages about values below a key that is only spelt like `env`.
fn keep_secrets(diagnostic: &mut Diagnostic, document: &Document) {
    let pointer = diagnostic.place.pointer();
    if secrecy::is_secret_place(&pointer)
        && !pointer.is_within(&Pointer::parse("/env"))
        && !is_key(&diagnostic.place)
    {
        diagnostic.message = diagnostic.rule.summary().to_owned();
        diagnostic.help = None;
        diagnostic.fix = None;
        return;
    }
    let span = document.span(&diagnostic.place);
    if document.secrets().iter().any(|secret| secret.start < span.end && span.start < secret.end) {
        diagnostic.message = urls::masked(&diagnostic.message).into_owned();
        diagnostic.help = diagnostic.help.as_deref().map(|help| urls::masked(help).into_owned());
        diagnostic.fix.take_if(|fix| fix.has_text());
    }
}

fn is_key(place: &Place) -> bool {
    matches!(place, Place::Key(_))
}

/// The graphs of the configuration `text`, read from their source: the name of each, its reference, and the graph if the
/// source shows one.
pub fn graphs(name: &str, text: &str, files: &Tree) -> Vec<(String, String, Option<graph::Graph>)> {
    let (document, _) = document::parse(text);
    let dialect = Dialect::of(name);
    let config = Config::new(schema::check(&document, dialect).value, dialect);
    files.settle_for(&|files| extent::extent(&config, files));
    let found = check::graphs(&document, &config, files).into_iter();
    found.map(|(id, located, graph)| (id, located.text, graph)).collect()
}

/// All rules, by code.
pub fn rules() -> Vec<&'static Rule> {
    let checks = check::CHECKS.iter().flat_map(|check| check.rules);
    let mut rules: Vec<_> = document::RULES.iter().chain(schema::RULES).chain(checks).copied().collect();
    rules.sort_by_key(|rule| rule.code);
    rules
}
