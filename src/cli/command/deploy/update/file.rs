//! Patches in files, in the form of the API.

use std::path::Path;

use serde_json::{Value, json};

use crate::api::wire::{Deployment, DeploymentPatch};
use crate::api::{Vocabulary, rules};
use crate::cli::command::deploy::given;
use crate::cli::console::{note, visible_line};
use crate::cli::env::Env;
use crate::compiler::words::similar;
use crate::error::Error;

/// JSON Pointers to the nulls of a patch. They are not sent, since the API treats null as an absent field.
#[derive(Default)]
pub(super) struct Nulls(Vec<String>);

impl Nulls {
    /// Refuses nulls for fields that have a value, since the user may expect them to clear it.
    pub(super) fn check(&self, before: &Deployment) -> Result<(), Error> {
        let before = json!(before);
        let has_value = |pointer: &&String| before.pointer(pointer).is_some_and(|value| !value.is_null());
        let Some(pointer) = self.0.iter().find(has_value) else { return Ok(()) };
        Err(Error::usage(
            format!("cannot clear `{pointer}`: null does not remove a value"),
            "omit the field to keep its value; [] clears a list, and {} clears labels or annotations; other fields \
             cannot be cleared",
        ))
    }

    /// Collects the nulls of objects whose fields are set individually; lists, labels and annotations are replaced whole.
    fn collect(&mut self, value: &Value, pointer: &str) {
        match value {
            Value::Null => self.0.push(pointer.to_owned()),
            Value::Object(fields) if !pointer.ends_with("/labels") && !pointer.ends_with("/annotations") => {
                for (name, field) in fields {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.collect(field, &format!("{pointer}/{name}"));
                }
            }
            _ => {}
        }
    }
}

/// Reads a patch; `-` is stdin.
pub(super) fn read(env: &mut Env, path: &Path) -> Result<(DeploymentPatch, Nulls), Error> {
    let shown = path.display();
    let text = given::text(env, path)?;
    // The message of serde may contain a secret.
    let wrong = |error: serde_json::Error| {
        let place = match error.line() {
            0 => String::new(),
            line => format!(" at line {line}, column {}", error.column()),
        };
        let message = match error.classify() {
            serde_json::error::Category::Data => {
                format!(
                    "`{shown}` is not a patch: a field{place} does not have the type that the API specifies"
                )
            }
            _ => format!("`{shown}` is not valid JSON{place}"),
        };
        Error::misused(message)
    };
    let mut value: Value = serde_json::from_str(&text).map_err(wrong)?;
    if !value.is_object() {
        return Err(Error::misused(format!("`{shown}` is not a patch: it is not a JSON object")));
    }
    // Errors of a value have no line and column.
    serde_json::from_str::<DeploymentPatch>(&text).map_err(wrong)?;
    Vocabulary::specified(&mut value);
    let mut nulls = Nulls::default();
    nulls.collect(&value, "");
    let patch: DeploymentPatch = serde_json::from_value(value).map_err(wrong)?;
    for (field, known) in rules::unknown_fields(&patch) {
        let name = field.rsplit('.').next().unwrap_or_default();
        let close = similar(name, known.iter().copied());
        let close = close.map(|close| format!("; did you mean `{close}`?")).unwrap_or_default();
        note(env, &format!("unknown field `{}` is sent unchanged{close}", visible_line(&field)));
    }
    Ok((patch, nulls))
}
