//! Resources and references to secrets, as options give them.

use serde_json::Value;

use crate::api::wire::{ResourceSpec, SecretReference};
use crate::compiler::words::similar;
use crate::error::Error;

/// The reference that `NAME=SECRET/KEY` means.
pub(super) fn reference(text: &str) -> Result<SecretReference, Error> {
    let parts = text.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once('/')?)));
    match parts {
        Some((name, (secret, key))) if ![name, secret, key].contains(&"") => Ok(SecretReference {
            name: Some(name.to_owned()),
            secret_name: Some(secret.to_owned()),
            secret_key: Some(key.to_owned()),
            ..SecretReference::default()
        }),
        _ => Err(Error::usage(
            format!("`{text}` is not a secret reference"),
            "write it as NAME=SECRET/KEY, such as OPENAI_API_KEY=openai/api-key",
        )),
    }
}

/// A host of an Ingress: a name in the form of DNS, whose first label may be `*`.
pub(super) fn host(text: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let labels = text.strip_prefix("*.").unwrap_or(text);
    if text.len() <= 253 && labels.split('.').all(is_label) {
        return Ok(text.to_owned());
    }
    Err("write it as a name in lowercase, without scheme, port and path, such as agent.example.com"
        .to_owned())
}

/// `spec` with these fields set. A value is JSON if the field accepts it, else text.
pub(super) fn resources(spec: ResourceSpec, given: &[String]) -> Result<ResourceSpec, Error> {
    let unwritable = |error| Error::Internal(format!("resources are JSON: {error}"));
    let mut fields = serde_json::to_value(spec).map_err(unwritable)?;
    for text in given {
        let (name, value) = assignment(text)?;
        let json = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        let as_json = with(&fields, name, json);
        let as_text = || with(&fields, name, Value::String(value.to_owned()));
        fields = as_json.or_else(as_text).ok_or_else(|| {
            // Objects and lists may contain secrets.
            let is_record = value.trim_start().starts_with(['[', '{']);
            let shown = if is_record { "the given value".to_owned() } else { format!("`{value}`") };
            Error::misused(format!("cannot set the resource field `{name}` to {shown}"))
        })?;
        let spec: ResourceSpec = serde_json::from_value(fields.clone()).map_err(unwritable)?;
        if spec.other.contains_key(name) {
            let known = ResourceSpec::FIELDS.iter().copied();
            let hint = similar(name, known).map(|close| format!("did you mean `{close}`?"));
            return Err(Error::Usage { message: format!("unknown resource field `{name}`"), hint });
        }
    }
    serde_json::from_value(fields).map_err(unwritable)
}

/// The name and the value of a field. An invalid name is not shown: it may be a value.
fn assignment(text: &str) -> Result<(&str, &str), Error> {
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.split_once('=').filter(|(name, _)| is_name(name)).ok_or_else(|| {
        let shown = if is_name(text) { format!("`{text}`") } else { "a resource".to_owned() };
        Error::usage(format!("{shown} is not an assignment"), "write it as FIELD=VALUE, such as cpu=2")
    })
}

/// The fields with one more, where it can have that value.
fn with(fields: &Value, name: &str, value: Value) -> Option<Value> {
    let mut fields = fields.clone();
    fields.as_object_mut()?.insert(name.to_owned(), value);
    serde_json::from_value::<ResourceSpec>(fields.clone()).ok().map(|_| fields)
}
