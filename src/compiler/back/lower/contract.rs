//! What the server reads from its environment, with every path rewritten to where it lies.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::compiler::back::lower::Input;
use crate::compiler::front::reference::{self, Located, Reference, Role};
use crate::compiler::paths;
use crate::compiler::server::{self, variables};

/// Which key of the configuration goes into which variable, in the order in which they are written.
const HANDED_OVER: &[(&str, &str)] = &[
    ("store", variables::STORE),
    ("auth", variables::AUTH),
    ("encryption", variables::ENCRYPTION),
    ("priority", variables::PRIORITY),
    ("http", variables::HTTP),
    ("webhooks", variables::WEBHOOKS),
    ("checkpointer", variables::CHECKPOINTER),
    ("ui", variables::UI),
    ("ui_config", variables::UI_CONFIG),
    ("graphs", variables::GRAPHS),
];

/// Variable to value; `place` says where a path, normalised and relative to the configuration's directory, lies.
pub(super) fn contract(input: &Input<'_>, place: impl Fn(String) -> String) -> IndexMap<String, Value> {
    let mut config = serde_json::to_value(input.config).unwrap_or_default();
    for located in reference::all(input.config) {
        if let Some(value) = config.pointer_mut(located.pointer.as_str()) {
            *value = Value::String(rewritten(&located, &place));
        }
    }
    in_server_words(&mut config);
    let handed_over = HANDED_OVER
        .iter()
        .filter_map(|&(key, variable)| Some((variable.to_owned(), config.get_mut(key)?.take())));
    handed_over.collect()
}

/// Every variable that a part of the configuration may be handed over in.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    HANDED_OVER.iter().map(|&(_, variable)| variable)
}

/// The keys of the configuration that are handed over in `contract`, with their variables.
pub(super) fn keys(contract: &IndexMap<String, Value>) -> impl Iterator<Item = (&'static str, &'static str)> {
    HANDED_OVER.iter().copied().filter(|(_, variable)| contract.contains_key(*variable))
}

fn rewritten(located: &Located, place: &dyn Fn(String) -> String) -> String {
    if located.role == Role::Ui {
        return place(paths::normalize(&located.text));
    }
    match reference::parse(&located.text) {
        Ok(Reference::File { path, name }) => format!("{}:{name}", place(path)),
        Ok(Reference::Module { .. }) | Err(_) => located.text.clone(),
    }
}

/// Where the specification's words or defaults are not the server's.
fn in_server_words(config: &mut Value) {
    let (ours, theirs) = server::DOCUMENT_DATABASE;
    if let Some(backend) = config.pointer_mut("/checkpointer/backend").filter(|backend| *backend == ours) {
        *backend = Value::String(theirs.to_owned());
    }
    if let Some(webhooks) = config.get_mut("webhooks").and_then(Value::as_object_mut) {
        let prefix = webhooks
            .shift_remove("env_prefix")
            .unwrap_or_else(|| Value::String(server::WEBHOOK_PREFIX.to_owned()));
        let rest = std::mem::take(webhooks);
        webhooks.extend([("env_prefix".to_owned(), prefix)].into_iter().chain(rest).collect::<Map<_, _>>());
    }
}
