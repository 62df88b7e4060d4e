//! Records of the service as they are shown: without values of secrets.

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::wire::Deployment;
use crate::cli::env::Env;
use crate::error::Error;

/// Lists whose elements have a name, and a value that is nobody's business.
const SECRET: &[&str] = &["secrets", "env"];

/// A record as JSON, without values of secrets.
pub(super) fn shown(record: &impl Serialize) -> Value {
    let mut value = json!(record);
    hide(&mut value);
    value
}

/// Takes out what else an element of a list of secrets has than its name, and values of variables.
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
    env.out.write(&format!("{value}\n"))?;
    Ok(env.out.flush()?)
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

/// How a deployment is called in talk.
pub(super) fn title(deployment: &Deployment) -> String {
    format!("`{}` ({})", deployment.name, deployment.id)
}
