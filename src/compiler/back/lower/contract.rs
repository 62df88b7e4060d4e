//! The sections of the configuration that the server reads from its environment, with every path rewritten to its
//! place on the server.

use indexmap::IndexMap;
use serde_json::Value;

use crate::compiler::back::lower::Input;
use crate::compiler::front::dialect::Dialect;
use crate::compiler::front::keys;
use crate::compiler::front::reference::{self, Located, Reference};
use crate::compiler::server;

/// Variable to value. `place` maps a path, normalised and relative to the configuration's directory, to its place.
pub(super) fn contract(input: &Input<'_>, place: impl Fn(String) -> String) -> IndexMap<String, Value> {
    let mut config = input.config.value.clone();
    for located in reference::all(&input.config.value) {
        if let Some(value) = config.pointer_mut(located.pointer.as_str()) {
            *value = Value::String(rewritten(&located, &place));
        }
    }
    in_server_words(&mut config, input.config.dialect);
    let sections = keys::handed_over()
        .filter_map(|(key, variable)| Some((variable.to_owned(), config.get_mut(key)?.take())));
    sections.collect()
}

/// All variables that hand over a section.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    keys::handed_over().map(|(_, variable)| variable)
}

/// The sections in `contract`, with their variables.
pub(super) fn keys(contract: &IndexMap<String, Value>) -> impl Iterator<Item = (&'static str, &'static str)> {
    keys::handed_over().filter(|(_, variable)| contract.contains_key(*variable))
}

fn rewritten(located: &Located, place: &dyn Fn(String) -> String) -> String {
    match located.parse() {
        Ok(Reference::File { path, name }) if name.is_empty() => place(path),
        Ok(Reference::File { path, name }) => format!("{}:{name}", place(path)),
        Ok(Reference::Module { .. }) | Err(_) => located.text.clone(),
    }
}

/// Translates the specification's words, and writes its defaults out where the server has others.
fn in_server_words(config: &mut Value, dialect: Dialect) {
    let (ours, theirs) = server::DOCUMENT_DATABASE;
    if let Some(backend) = config.pointer_mut("/checkpointer/backend").filter(|backend| *backend == ours) {
        *backend = Value::String(theirs.to_owned());
    }
    let webhooks = config.get_mut("webhooks").and_then(Value::as_object_mut);
    if let Some(webhooks) =
        webhooks.filter(|it| dialect == Dialect::Specification && !it.contains_key("env_prefix"))
    {
        webhooks.insert("env_prefix".to_owned(), Value::String(server::WEBHOOK_PREFIX.to_owned()));
    }
}
