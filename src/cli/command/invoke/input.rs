//! The input of a run: a JSON object, text, a file or stdin.

use std::fs::File;
use std::io::Read;

use serde_json::{Value, json};

use crate::cli::console::visible_line;
use crate::cli::env::Env;
use crate::error::Error;
use crate::project;

/// The argument for stdin.
pub(super) const STDIN: &str = "-";

/// Maximum size of an input, in bytes.
const MAX: u64 = 32 << 20;

/// An input.
#[derive(Debug, PartialEq)]
pub(super) enum Given {
    /// A JSON object.
    Object(Value),
    /// Other text.
    Text(String),
}

/// Reads the input that `argument` names or is.
pub(super) fn read(env: &mut Env, argument: &str) -> Result<Given, Error> {
    let text = match argument.strip_prefix('@') {
        _ if argument == STDIN => stdin(env)?,
        Some(path) => {
            let name = format!("`{}`", visible_line(path));
            let file = File::open(env.directory.join(path));
            text(&name, &mut file.map_err(|error| unreadable(&name, &error))?)?
        }
        None => argument.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(input @ Value::Object(_)) => Ok(Given::Object(input)),
        // What begins as an object is meant as one.
        Err(error) if text.trim_start().starts_with('{') => {
            let place = format!("line {}, column {}", error.line(), error.column());
            let hint = "correct it, or pass a file with @FILE if the shell changes its quotes";
            Err(Error::usage(format!("the input is not valid JSON at {place}"), hint))
        }
        _ if text.trim().is_empty() => Err(missing("the input is empty")),
        _ => Ok(Given::Text(text)),
    }
}

fn stdin(env: &mut Env) -> Result<String, Error> {
    if env.input.is_terminal {
        return Err(missing("there is no input"));
    }
    text("stdin", &mut env.input)
}

fn missing(message: &str) -> Error {
    Error::usage(message, "pass a JSON object, text, @FILE, or pipe the input to stdin")
}

fn text(name: &str, from: &mut dyn Read) -> Result<String, Error> {
    let mut text = String::new();
    let length = from.take(MAX + 1).read_to_string(&mut text).map_err(|error| unreadable(name, &error))?;
    if length as u64 > MAX {
        return Err(Error::misused(format!("the input of {name} is larger than {MAX} bytes")));
    }
    Ok(text)
}

fn unreadable(name: &str, error: &std::io::Error) -> Error {
    Error::misused(format!("cannot read the input of {name}: {}", project::reason(error)))
}

/// The input with one message of the user.
pub(super) fn human_message(text: &str) -> Value {
    json!({ "messages": [{ "role": "human", "content": text }] })
}

/// Whether `text` has the form of an assistant's ID.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
