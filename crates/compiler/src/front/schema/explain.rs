//! Validation errors as findings.

use std::collections::HashMap;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::describe::{describing, example_at, is_item, keys_at, name_of, noun, type_of};
use super::rules::{
    EMPTY_VALUE, MISSING_KEY, MISSPELT_KEY, OUT_OF_RANGE, UNKNOWN_KEY, UNKNOWN_VALUE, WRONG_TYPE,
};
use super::{SCHEMA, has_secrets};
use crate::diagnostic::{Diagnostic, Edit, Fix, Place, Pointer};
use crate::front::keys::{Holds, row};
use crate::secrecy::{is_secret, is_secret_place};
use crate::words::{either, listed, nearest, similar};

/// Maximum number of known keys that a help lists.
const FEW_KEYS: usize = 8;

/// Maximum number of edits of a misspelling.
const MAX_EDITS: usize = 2;

/// Names that are usual in other manifests, and similar to keys by chance: `auth`, `ui_config`.
const ORDINARY: &[&str] = &["author", "config"];

pub(super) fn explain(error: &ValidationError<'_>, at: &Pointer, root: &Value) -> Vec<Diagnostic> {
    let instance = root.pointer(at.as_str()).unwrap_or(root);
    let here = Place::Value(at.clone());
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unknown = |key: &String| unknown_key(at, key, has_secrets(root, &at.join(key)), instance);
            without_rivals(unexpected.iter().map(unknown).collect())
        }
        ValidationErrorKind::Required { property } => {
            vec![missing_key(at, property.as_str().unwrap_or_default())]
        }
        ValidationErrorKind::Type { kind } => vec![wrong_type(here, &wanted_types(kind), instance)],
        ValidationErrorKind::Pattern { .. } => {
            vec![unknown_value(here, &describing(at).unwrap_or(&Value::Null)["examples"], instance)]
        }
        // A value that is not a string has the wrong type.
        ValidationErrorKind::Enum { .. } if !instance.is_string() => {
            vec![wrong_type(here, &["string".to_owned()], instance)]
        }
        ValidationErrorKind::Enum { options } => vec![unknown_value(here, options, instance)],
        ValidationErrorKind::MinItems { .. }
        | ValidationErrorKind::MinLength { .. }
        | ValidationErrorKind::MinProperties { .. } => vec![empty(here, at)],
        ValidationErrorKind::Minimum { limit } => {
            vec![out_of_range(here, instance, &format!("at least {limit}"))]
        }
        ValidationErrorKind::Maximum { limit } => {
            vec![out_of_range(here, instance, &format!("at most {limit}"))]
        }
        ValidationErrorKind::ExclusiveMinimum { limit } => {
            vec![out_of_range(here, instance, &format!("greater than {limit}"))]
        }
        _ => vec![Diagnostic::new(&WRONG_TYPE, here, error.to_string())],
    }
}

/// The one of the `known` keys that `key` is a misspelling of: one or two edits away, and no ordinary name.
pub(super) fn misspelling<'a>(key: &str, known: &'a [String]) -> Option<&'a str> {
    let (edits, meant) = nearest(key, known.iter().map(String::as_str))?;
    (edits <= MAX_EDITS && !ORDINARY.contains(&key)).then_some(meant)
}

/// Makes the fixes unsafe that would rename several keys to the same name.
fn without_rivals(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    fn new_name(diagnostic: &Diagnostic) -> Option<&str> {
        match diagnostic.fix.as_ref()?.edits.as_slice() {
            [(Place::Key(_), Edit::Replace(name))] => Some(name),
            _ => None,
        }
    }
    let mut names: HashMap<String, usize> = HashMap::new();
    for name in found.iter().filter_map(new_name) {
        *names.entry(name.to_owned()).or_default() += 1;
    }
    for diagnostic in &mut found {
        let is_taken = new_name(diagnostic).is_some_and(|name| names.get(name) > Some(&1));
        if let Some(fix) = diagnostic.fix.as_mut().filter(|_| is_taken) {
            fix.is_safe = false;
        }
    }
    found
}

/// Keys of other tools, and the option of ours that does the same.
const OPTIONS: &[(&str, &str)] = &[("docker_compose_file", "up --docker-compose")];

fn unknown_key(at: &Pointer, key: &str, has_secrets: bool, owner_value: &Value) -> Diagnostic {
    let known = keys_at(at);
    let place = Place::Key(at.join(key));
    let owner = name_of(at);
    if let Some(meant) = misspelling(key, &known) {
        let is_free = owner_value.get(meant).is_none();
        return Diagnostic::new(&MISSPELT_KEY, place.clone(), format!("{owner} has no key `{key}`"))
            .help(format!("did you mean `{meant}`?"))
            .fix(is_free.then(|| Fix::safe(place, Edit::Replace(meant.to_owned()))));
    }
    let mut homes = homes(key);
    // A key of the same name in another section means something else.
    homes.retain(|home| home.is_within(at) || at.is_within(home));
    let option = OPTIONS.iter().find(|(name, _)| *name == key && at.as_str().is_empty());
    let help = match (homes.as_slice(), option) {
        (_, Some((_, option))) => format!("remove it, and pass its value as `{option}`"),
        ([], _) if known.len() > FEW_KEYS => {
            "remove it; `agentcli explain --keys` lists the known keys".to_owned()
        }
        ([], _) => format!("remove it; known keys are {}", listed(known.iter().map(String::as_str))),
        ([home, ..], _) if home == at => "remove it".to_owned(),
        (homes, _) => {
            let homes: Vec<String> =
                homes.iter().map(|home| name_of(home).trim_matches('`').to_owned()).collect();
            format!("move it to {}", either(homes.iter().map(String::as_str)))
        }
    };
    let is_root = *at == Pointer::root();
    if has_secrets && !is_root {
        let message = format!("unknown key `{key}` in {owner}; it has no effect");
        return Diagnostic::new(&UNKNOWN_KEY, place, message)
            .help("move the variables to `env` at the top level");
    }
    let message = if is_root {
        format!("unknown key `{key}`; it has no effect")
    } else {
        format!("unknown key `{key}` in {owner}; the server gets it unchanged")
    };
    Diagnostic::new(&UNKNOWN_KEY, place, message).help(help).likely_fix(Edit::Remove)
}

/// The objects that have a key of this name.
fn homes(key: &str) -> Vec<Pointer> {
    fn look(at: &Pointer, schema: &Value, key: &str, found: &mut Vec<Pointer>) {
        let schema = referred(schema);
        for (name, below) in schema["properties"].as_object().into_iter().flatten() {
            if name == key {
                found.push(at.clone());
            }
            look(&at.join(name), below, key, found);
        }
    }
    let mut found = Vec::new();
    look(&Pointer::root(), &SCHEMA, key, &mut found);
    found.retain(|home| home != &Pointer::root());
    // A name that is used in many places does not tell which one is meant.
    if found.len() > 2 { Vec::new() } else { found }
}

/// `schema` with its `$ref` resolved.
fn referred(schema: &Value) -> &Value {
    schema["$ref"].as_str().and_then(|name| SCHEMA.pointer(name.trim_start_matches('#'))).unwrap_or(schema)
}

fn missing_key(at: &Pointer, key: &str) -> Diagnostic {
    let pointer = at.join(key);
    let example = row(&pointer).map_or("…", |row| row.example);
    let is_env = at.keys().last().is_some_and(|key| is_secret(&key));
    let other = if is_env { ", or move the variables to `env` at the top level" } else { "" };
    let help = format!("add `\"{key}\": {example}`{other}");
    Diagnostic::new(&MISSING_KEY, Place::Key(pointer), format!("{} needs the key `{key}`", name_of(at)))
        .help(help)
}

fn wanted_types(kind: &TypeKind) -> Vec<String> {
    let kinds: Vec<String> = match kind {
        TypeKind::Single(single) => vec![single.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    // Null means the same as leaving the key out.
    kinds.into_iter().filter(|kind| kind != "null").collect()
}

fn wrong_type(place: Place, wanted: &[String], instance: &Value) -> Diagnostic {
    let pointer = place.pointer();
    // `true or false` reads well only at the end.
    let last = |kind: &&String| kind.as_str() == "boolean";
    let words = wanted.iter().filter(|it| !last(it)).chain(wanted.iter().filter(last)).map(|kind| noun(kind));
    let words = words.collect::<Vec<_>>().join(", ").replace(", true or false", " or true or false");
    let words = match words.rsplit_once(", ") {
        Some((first, last)) if !words.ends_with("false") => format!("{first} or {last}"),
        _ => words,
    };
    let shown = match instance {
        Value::Bool(_) | Value::Number(_) if !is_secret_place(&pointer) => format!("`{instance}`"),
        _ => noun(type_of(instance)),
    };
    let message = format!("{} must be {words}, not {shown}", name_of(&pointer));
    let wants = |kind: &str| wanted.iter().any(|wanted| wanted == kind);
    let help = help_with_type(&pointer, instance, &wants)
        .filter(|_| instance.is_null() || !is_secret_place(&pointer));
    let fix = fix_of_type(&pointer, instance, &wants).map(|edit| Fix::safe(place.clone(), edit));
    let help = help.unwrap_or_else(|| format!("write {words}"));
    Diagnostic::new(&WRONG_TYPE, place, message).help(help).fix(fix)
}

/// The value to write instead of `instance`, as close to it as possible.
fn help_with_type(pointer: &Pointer, instance: &Value, wants: &dyn Fn(&str) -> bool) -> Option<String> {
    let options = describing(pointer).and_then(|schema| schema["enum"].as_array());
    let allowed = |text: &str| options.is_none_or(|options| options.iter().any(|option| option == text));
    match instance {
        Value::Null if *pointer == Pointer::root() => Some(START.to_owned()),
        Value::Null if is_item(pointer) => Some("remove it".to_owned()),
        Value::Null => Some("leave the key out instead of writing null".to_owned()),
        _ if *pointer == Pointer::root() => Some(START.to_owned()),
        Value::Number(number) if wants("integer") && number.is_f64() => Some(format!(
            "write a whole number, such as `{}`",
            number.as_f64().unwrap_or_default().abs().ceil().max(1.0)
        )),
        Value::Number(_) | Value::Bool(_) if wants("string") && is_path(pointer) => example_at(pointer),
        Value::Number(_) | Value::Bool(_) if pointer.as_str().starts_with("/dependencies/") => {
            Some("write for example `\".\"`".to_owned())
        }
        Value::Number(_) | Value::Bool(_) if wants("string") && allowed(&instance.to_string()) => {
            Some(format!("write `\"{instance}\"`"))
        }
        Value::Number(_) | Value::Bool(_) | Value::String(_)
            if wants("boolean") && as_bool(instance).is_some() =>
        {
            as_bool(instance).map(|value| format!("write `{value}`"))
        }
        Value::String(text) if (wants("integer") || wants("number")) && is_plain_number(text) => {
            Some(format!("write `{text}`"))
        }
        Value::String(text) if wants("array") && pointer.as_str().contains("/allowed_json_modules/") => {
            let parts: Vec<&str> = text.split('.').collect();
            Some(format!("write its parts: `{}`", Value::from(parts)))
        }
        Value::String(_) if wants("array") => Some(format!("write `[{instance}]`")),
        Value::Array(items) => match items.as_slice() {
            _ if pointer.as_str() == "/env" => {
                Some("write an object of names and values, or the path of a .env file".to_owned())
            }
            [only @ Value::String(_)] if wants("string") => Some(format!("write `{only}`")),
            _ => shape_at(pointer, wants),
        },
        _ if options.is_some() => {
            let options = options.into_iter().flatten().filter_map(Value::as_str);
            Some(format!("use one of {}", listed(options)))
        }
        _ => shape_at(pointer, wants),
    }
}

/// The change that makes `instance` the same value of a wanted type.
fn fix_of_type(pointer: &Pointer, instance: &Value, wants: &dyn Fn(&str) -> bool) -> Option<Edit> {
    match instance {
        _ if *pointer == Pointer::root() => None,
        Value::Number(_) | Value::Bool(_) if wants("string") => {
            // The number is quoted as it is written: 3.10 is not 3.1.
            let is_text = !is_path(pointer) && !pointer.as_str().starts_with("/dependencies/");
            is_text.then_some(Edit::Wrap("\"", "\""))
        }
        Value::Number(_) | Value::Bool(_) | Value::String(_) if wants("boolean") => {
            as_bool(instance).map(|value| Edit::Replace(value.to_string()))
        }
        Value::String(text) if wants("integer") || wants("number") => {
            is_plain_number(text).then(|| Edit::Replace(text.clone()))
        }
        Value::String(_) if wants("array") && !pointer.as_str().contains("/allowed_json_modules/") => {
            Some(Edit::Wrap("[", "]"))
        }
        Value::Array(items) if wants("string") => match items.as_slice() {
            [Value::String(only)] if pointer.as_str() != "/env" => Some(Edit::string(only)),
            _ => None,
        },
        _ => None,
    }
}

/// An example of a value at `pointer`, or the keys that it may have.
fn shape_at(pointer: &Pointer, wants: &dyn Fn(&str) -> bool) -> Option<String> {
    let keys = keys_at(pointer);
    let keys = keys.iter().map(String::as_str).take(FEW_KEYS);
    let is_object = wants("object") && !wants("string") && keys.len() > 0;
    example_at(pointer)
        .or_else(|| is_object.then(|| format!("write an object with keys such as {}", listed(keys))))
}

/// The help for a file without a configuration.
const START: &str = r#"start with `{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}`"#;

/// Whether the value names a file, so that a number in quotes cannot be meant.
fn is_path(pointer: &Pointer) -> bool {
    row(pointer).is_some_and(|row| matches!(row.holds, Holds::File | Holds::Reference(..)))
}

/// The boolean that is commonly written as `value`.
fn as_bool(value: &Value) -> Option<bool> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_lowercase);
    match text.as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

fn is_plain_number(text: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(text).is_ok()
}

fn unknown_value(place: Place, options: &Value, instance: &Value) -> Diagnostic {
    let options: Vec<&str> = options.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let name = name_of(&place.pointer());
    let shown = instance.as_str().map_or_else(|| instance.to_string(), str::to_owned);
    let diagnostic = Diagnostic::new(&UNKNOWN_VALUE, place, format!("{name} cannot be `{shown}`"));
    let choice = listed(options.iter().copied());
    // Versions are similar to each other without being misspellings.
    let is_near =
        |text: &str, option: &str| !option.starts_with(|c: char| c.is_ascii_digit()) || text.contains(option);
    let near = |text| similar(text, options.iter().copied()).filter(|option| is_near(text, option));
    match instance.as_str().and_then(near) {
        Some(similar) => diagnostic
            .help(format!("did you mean `{similar}`? Use one of {choice}"))
            .likely_fix(Edit::string(similar)),
        None => diagnostic.help(format!("use one of {choice}")),
    }
}

fn empty(place: Place, at: &Pointer) -> Diagnostic {
    let diagnostic = Diagnostic::new(&EMPTY_VALUE, place, format!("{} is empty", name_of(at)));
    diagnostic.help(example_at(at).unwrap_or_else(|| {
        if is_item(at) {
            "write a value, or remove it".to_owned()
        } else {
            "write a value, or leave the key out".to_owned()
        }
    }))
}

fn out_of_range(place: Place, instance: &Value, bound: &str) -> Diagnostic {
    let name = name_of(&place.pointer());
    Diagnostic::new(&OUT_OF_RANGE, place, format!("{name} must be {bound}, not {instance}"))
        .help(format!("write a number that is {bound}"))
}
