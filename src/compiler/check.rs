//! Config → what is wrong with its meaning: one file a topic, one row in [`CHECKS`].
//!
//! A check looks at the typed configuration and at the [`Files`] view, and reports; it changes nothing. What the
//! schema already refused is gone from the configuration (see [`Context::is_removed`]).

mod source;

use crate::compiler::config::Config;
use crate::compiler::files::Files;
use crate::diagnostic::{Diagnostic, Pointer, Rule};

/// One topic: the function that looks, and the rules it reports.
pub struct Check {
    /// Looks and reports.
    pub run: fn(&mut Context<'_>),
    /// Everything that `run` can report.
    pub rules: &'static [&'static Rule],
}

/// Every check, in the order in which they run.
pub const CHECKS: &[Check] = &[Check { run: source::check, rules: source::RULES }];

/// What a check sees, and where it reports.
pub struct Context<'a> {
    /// The configuration, without what the schema refused.
    pub config: &'a Config,
    /// The user's tree.
    pub files: &'a dyn Files,
    removed: &'a [Pointer],
    found: Vec<Diagnostic>,
}

impl Context<'_> {
    /// Adds a finding.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Whether something at or below `pointer` was refused already, so that its absence means nothing.
    pub fn is_removed(&self, pointer: &str) -> bool {
        let pointer = Pointer::parse(pointer);
        self.removed.iter().any(|removed| removed.is_within(&pointer) || pointer.is_within(removed))
    }
}

/// Runs every check.
pub fn check(config: &Config, files: &dyn Files, removed: &[Pointer]) -> Vec<Diagnostic> {
    let mut context = Context { config, files, removed, found: Vec::new() };
    for check in CHECKS {
        (check.run)(&mut context);
    }
    context.found
}
