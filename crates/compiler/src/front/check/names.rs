//! Graph IDs, which are part of the paths of routes.

use super::Context;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, rule};

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

static GRAPH_ID_WITH_SLASH: Rule = rule!("graph-id-with-slash");

static INVALID_GRAPH_ID: Rule = rule!("invalid-graph-id");
