//! Graph IDs, which are part of the paths of routes.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&INVALID_GRAPH_ID];

pub(super) fn check(context: &mut Context<'_>) {
    let graphs = Pointer::root().join("graphs");
    for id in context.config.graphs.keys() {
        let Some(why) = fault(id) else { continue };
        let message = match id.as_str() {
            "" => format!("a graph ID {why}"),
            id => format!("the graph ID `{}` {why}", id.escape_debug()),
        };
        context.report(
            Diagnostic::new(&INVALID_GRAPH_ID, Place::Key(graphs.join(id)), message)
                .help("write a short name such as `agent`"),
        );
    }
}

fn fault(id: &str) -> Option<&'static str> {
    match id {
        "" => Some("is empty"),
        _ if id.chars().any(char::is_control) => Some("has a control character"),
        _ if id.trim() != id => Some("starts or ends with white space"),
        _ if id.contains('/') => Some("has a `/`"),
        _ => None,
    }
}

static INVALID_GRAPH_ID: Rule = Rule {
    code: "invalid-graph-id",
    severity: Severity::Error,
    summary: "invalid graph ID",
    why: "A graph ID is one segment of the path of several routes. Clients cannot request an ID that is empty, contains a \
          slash or control characters, or starts or ends with white space.",
    wrong: r#"{ "graphs": { "team/agent": "./agent.py:graph" } }"#,
    right: r#"{ "graphs": { "team-agent": "./agent.py:graph" } }"#,
};
