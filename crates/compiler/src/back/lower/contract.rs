//! The sections of the configuration that the server reads from its environment, with every path rewritten to its
//! place on the server.

use std::mem;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::back::lower::Input;
use crate::diagnostic::Pointer;
use crate::front::dialect::Dialect;
use crate::front::keys;
use crate::front::reference::{self, Located, Reference};
use crate::{paths, server};

/// Variable to value, in an image. The server joins the path of a JavaScript graph to its working directory, and searches
/// the graph library from there: an absolute path would lead it elsewhere.
pub(super) fn in_image(input: &Input<'_>) -> IndexMap<String, Value> {
    contract(input, |located, path| {
        let is_graph = located.pointer.is_within(&Pointer::parse("/graphs"));
        if is_graph && paths::is_javascript(path) { here(path) } else { input.layout.in_image(path) }
    })
}

/// Variable to value, on this machine.
pub(super) fn on_machine(input: &Input<'_>) -> IndexMap<String, Value> {
    contract(input, |_, path| here(path))
}

/// A path relative to the working directory that the server takes for a file's: without the dot it could be a module's.
fn here(path: &str) -> String {
    if path.starts_with(['.', '/']) { path.to_owned() } else { format!("./{path}") }
}

/// Variable to value. `place` maps a path, normalised and relative to the configuration's directory, to its place.
fn contract(input: &Input<'_>, place: impl Fn(&Located, &str) -> String) -> IndexMap<String, Value> {
    let mut config = input.config.value.clone();
    for located in reference::all(&input.config.value) {
        if let Some(value) = config.pointer_mut(located.pointer.as_str()) {
            *value = Value::String(rewritten(&located, &place));
        }
    }
    if let Some(graphs) = config.get_mut("graphs").and_then(Value::as_object_mut) {
        javascript_first(graphs);
    }
    in_server_words(&mut config, input.config.dialect);
    let sections = keys::handed_over()
        .filter_map(|(key, variable)| Some((variable.to_owned(), config.get_mut(key)?.take())));
    sections.collect()
}

/// The sections in `contract`, with their variables.
pub(super) fn keys(contract: &IndexMap<String, Value>) -> impl Iterator<Item = (&'static str, &'static str)> {
    keys::handed_over().filter(|(_, variable)| contract.contains_key(*variable))
}

/// Moves JavaScript graphs before the others: the server searches the graph library of all of them from the first graph.
fn javascript_first(graphs: &mut Map<String, Value>) {
    let is_python = |graph: &Value| {
        let text = graph.get("path").unwrap_or(graph).as_str().unwrap_or_default();
        !paths::is_javascript(text)
    };
    let mut sorted: Vec<_> = mem::take(graphs).into_iter().collect();
    sorted.sort_by_key(|(_, graph)| is_python(graph));
    graphs.extend(sorted);
}

fn rewritten(located: &Located, place: &dyn Fn(&Located, &str) -> String) -> String {
    match located.parse() {
        Ok(Reference::File { path, name }) if name.is_empty() => place(located, &path),
        Ok(Reference::File { path, name }) => format!("{}:{name}", place(located, &path)),
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
