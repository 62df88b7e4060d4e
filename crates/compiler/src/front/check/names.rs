//! Graph IDs, which are part of the paths of routes.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// All rules of this check.
pub(super) const RULES: &[&Rule] = &[&GRAPH_ID_WITH_SLASH, &INVALID_GRAPH_ID];

pub(super) fn check(context: &mut Context<'_>) {
    let graphs = Pointer::root().join("graphs");
    for id in context.config.graphs.keys() {
        let place = Place::Key(graphs.join(id));
        let Some(why) = fault(id) else {
            if id.contains('/') {
                let message = format!("the graph ID `{}` has a `/`", id.escape_debug());
                let help = format!("write `{}`", id.replace('/', "-").escape_debug());
                context.report(Diagnostic::new(&GRAPH_ID_WITH_SLASH, place, message).help(help));
            }
            continue;
        };
        let message = match id.as_str() {
            "" => format!("a graph ID {why}"),
            id => format!("the graph ID `{}` {why}", id.escape_debug()),
        };
        context.report(
            Diagnostic::new(&INVALID_GRAPH_ID, place, message).help("write a short name such as `agent`"),
        );
    }
}

fn fault(id: &str) -> Option<&'static str> {
    match id {
        "" => Some("is empty"),
        _ if id.chars().any(char::is_control) => Some("has a control character"),
        _ if id.trim() != id => Some("starts or ends with white space"),
        _ => None,
    }
}

static GRAPH_ID_WITH_SLASH: Rule = Rule {
    code: "graph-id-with-slash",
    severity: Severity::Warning,
    summary: "a graph ID with a slash",
    why: "A graph with such an ID starts and runs. Routes that have the ID in their path, such as `/assistants/{id}`, do not \
          find it: clients have to use the UUID of its assistant there.",
    wrong: r#"{ "graphs": { "team/agent": "./agent.py:graph" } }"#,
    right: r#"{ "graphs": { "team-agent": "./agent.py:graph" } }"#,
};

static INVALID_GRAPH_ID: Rule = Rule {
    code: "invalid-graph-id",
    severity: Severity::Error,
    summary: "invalid graph ID",
    why: "A graph ID is one segment of the path of several routes. Clients cannot request an ID that is empty, contains \
          control characters, or starts or ends with white space.",
    wrong: r#"{ "graphs": { "agent ": "./agent.py:graph" } }"#,
    right: r#"{ "graphs": { "agent": "./agent.py:graph" } }"#,
};
