//! Files of the same name that belong to another tool.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::files::Files as _;

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&FOREIGN_CONFIGURATION];

/// The instructions of an agent, which such a tool has beside its configuration.
const INSTRUCTIONS: &str = "AGENTS.md";

/// Keys of such a configuration, and of ours.
const FOREIGN: &[&str] = &["model", "runtime"];
const OWN: &[&str] = &["graphs", "dependencies", "source"];

pub(super) fn check(context: &mut Context<'_>) {
    let Some(members) = context.document.to_value().as_object().cloned() else { return };
    let has = |keys: &[&str]| keys.iter().any(|key| members.contains_key(*key));
    if has(FOREIGN) && !has(OWN) && context.files.is_file(INSTRUCTIONS) {
        let message = format!(
            "this is the configuration of another tool, whose agent is described in `{INSTRUCTIONS}`"
        );
        let help = "keep it, write `graphs` to `langgraph.json`, and pass `--config langgraph.json`";
        context.report(Diagnostic::new(&FOREIGN_CONFIGURATION, Place::File, message).help(help));
    }
}

/// Leaves only the finding that the file is another tool's, if there is one: the others would destroy it.
pub fn leave_foreign(found: &mut Vec<Diagnostic>) {
    let is_foreign = |it: &Diagnostic| it.rule.code == FOREIGN_CONFIGURATION.code;
    if found.iter().any(is_foreign) {
        found.retain(is_foreign);
    }
}

static FOREIGN_CONFIGURATION: Rule = rule!("foreign-configuration");
