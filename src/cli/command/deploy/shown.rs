//! Records of the service as they are printed: without values of secrets.

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::wire::Deployment;
use crate::cli::env::Env;
use crate::cli::table;
use crate::error::Error;

/// Lists whose elements have a name and a secret value.
const SECRET: &[&str] = &["secrets", "env"];

/// A record as JSON, without values of secrets.
pub(super) fn shown(record: &impl Serialize) -> Value {
    let mut value = json!(record);
    hide(&mut value);
    value
}

/// Removes the values of secrets and variables.
pub(in crate::cli::command::deploy) fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match field {
                    Value::Array(items) if SECRET.contains(&name.as_str()) => {
                        items.iter_mut().for_each(hide_value);
                    }
                    field => hide(field),
                }
            }
        }
        _ => {}
    }
}

fn hide_value(item: &mut Value) {
    if let Value::Object(fields) = item {
        fields.retain(|name, _| matches!(name.as_str(), "name" | "valueFrom"));
    }
}

/// One JSON value on a line of its own.
pub(super) fn print_json(env: &mut Env, value: &Value) -> Result<(), Error> {
    Ok(env.out.line(&value.to_string())?)
}

/// Prints rows on stdout, or that there are none of `what`.
pub(super) fn print_table(
    env: &mut Env,
    what: &str,
    headings: &[&str],
    rows: &[Vec<String>],
) -> Result<(), Error> {
    if rows.is_empty() {
        env.print(&format!("no {what} found"));
        return Ok(());
    }
    let text = table::render(&env.out, headings, rows);
    Ok(env.out.write(&text)?)
}

/// A value that may be absent.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// `2026-11-21 10:00:00` of an ISO 8601 time; another text as it is.
pub(super) fn short_time(time: &str) -> String {
    match time.get(..19) {
        Some(start) if start.as_bytes()[10] == b'T' => start.replacen('T', " ", 1),
        _ => time.to_owned(),
    }
}

/// Name and ID of a deployment; in a cluster, the name is the ID.
pub(super) fn title(deployment: &Deployment) -> String {
    let Deployment { name, id, .. } = deployment;
    if name == id { format!("`{name}`") } else { format!("`{name}` ({id})") }
}
