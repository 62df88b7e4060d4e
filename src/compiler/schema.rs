//! Document → is its shape right? The published JSON Schema, and its verdicts in our own words.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::compiler::document::Document;
use crate::diagnostic::{Diagnostic, Place, Pointer, Rule, Severity};

/// The schema as it is published: `agentcli schema` prints this text.
pub const TEXT: &str = include_str!("../../schemas/agent.schema.json");

static SCHEMA: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(TEXT).unwrap_or_default());

/// The schema compiled into code: a validator made at run time would take longer than everything else together.
#[jsonschema::validator(
    path = "schemas/agent.schema.json",
    draft = Draft202012,
    methods = { is_valid = false, validate = false, iter_errors = true }
)]
struct Shape;

/// From here on, numbers with a fraction are not exact.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// More known keys than these are not listed.
const FEW_KEYS: usize = 8;

/// The schema as JSON.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// What the schema says of a document.
pub struct Checked {
    /// The mistakes, in no particular order.
    pub diagnostics: Vec<Diagnostic>,
    /// The document without the parts that are wrong, so that the rest can be typed and checked further.
    pub value: Value,
    /// What was taken out: rules keep silent about these places and what depends on them.
    pub removed: Vec<Pointer>,
}

/// Checks the shape of `document`.
pub fn check(document: &Document) -> Checked {
    let mut value = document.to_value();
    let holes = document.holes();
    let mut diagnostics = Vec::new();
    let mut removed: BTreeSet<Pointer> = holes.iter().cloned().collect();
    let mut meant = Vec::new();
    for pointer in whole_numbers(&mut value) {
        let name = name_of(&pointer);
        let diagnostic =
            Diagnostic::new(&OUT_OF_RANGE, Place::Value(pointer.clone()), format!("{name} is too large"));
        diagnostics.push(diagnostic.help("write a smaller number"));
        removed.insert(pointer);
    }
    for error in Shape::iter_errors(&value) {
        let at = Pointer::parse(error.instance_path().as_str());
        if holes.iter().any(|hole| at.is_within(hole))
            || diagnostics.iter().any(|it| it.place == Place::Value(at.clone()))
        {
            continue;
        }
        if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
            let known = keys_at(&at);
            let similar =
                |key: &String| similar(key, known.iter().map(String::as_str)).map(|key| at.join(key));
            meant.extend(unexpected.iter().filter_map(similar));
        }
        let found = explain(&error, &at, &value);
        for diagnostic in found {
            if let Some(pointer) = unusable(&diagnostic) {
                removed.insert(pointer);
            }
            let absent = diagnostic.rule.code == MISSING_KEY.code;
            let silent = absent && (document.broken || is_optional_dependencies(&value, &diagnostic));
            // `source` is refused as a whole, whatever is in it.
            if !silent && !at.as_str().starts_with("/source/") {
                diagnostics.push(diagnostic);
            }
        }
    }
    // What was misspelt is not missing, too.
    diagnostics.retain(|it| it.rule.code != MISSING_KEY.code || !meant.contains(&it.place.pointer()));
    meant.retain(|pointer| value.pointer(pointer.as_str()).is_none());
    removed.extend(meant);
    let removed: Vec<Pointer> = removed.into_iter().map(with_what_needs_it).collect();
    Checked { diagnostics, value: without(value, &removed), removed }
}

/// Writes whole numbers with a fraction of zero (`5.0`) as such where the schema asks for one, and returns the
/// places of those that no program can count with.
fn whole_numbers(root: &mut Value) -> Vec<Pointer> {
    fn look(at: &Pointer, value: &mut Value, found: &mut Vec<Pointer>) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(key, it)| look(&at.join(key), it, found)),
            Value::Array(items) => {
                items.iter_mut().enumerate().for_each(|(index, it)| look(&at.join(index), it, found))
            }
            Value::Number(number) if number.is_f64() => {
                let number = number.as_f64().unwrap_or_default();
                if number.fract() != 0.0 || describing(at).is_none_or(|schema| schema["type"] != "integer") {
                } else if number.abs() < MAX_WHOLE {
                    *value = Value::from(number as i64);
                } else if number > 0.0 {
                    found.push(at.clone());
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    look(&Pointer::root(), root, &mut found);
    found
}

/// A graph cannot be typed without its `path`, and goes with it; nothing else is needed by what holds it.
fn with_what_needs_it(pointer: Pointer) -> Pointer {
    let keys: Vec<String> = pointer.keys().collect();
    match keys.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["graphs", _, "path"] => pointer.parent().unwrap_or_default(),
        _ => pointer,
    }
}

/// Where all graphs are JavaScript there is no Python to install, and real projects leave `dependencies` out.
fn is_optional_dependencies(value: &Value, diagnostic: &Diagnostic) -> bool {
    let Place::Key(pointer) = &diagnostic.place else { return false };
    if value.get("source").is_some() && pointer.as_str() == "/dependencies" {
        return true;
    }
    let Some(graphs) = value["graphs"].as_object() else { return false };
    let path = |graph: &'_ Value| graph.as_str().or_else(|| graph["path"].as_str()).map(str::to_owned);
    pointer.as_str() == "/dependencies"
        && !graphs.is_empty()
        && graphs
            .values()
            .all(|graph| path(graph).is_some_and(|path| crate::compiler::paths::is_javascript(&path)))
}

/// The place that cannot be typed because of this finding.
fn unusable(diagnostic: &Diagnostic) -> Option<Pointer> {
    match &diagnostic.place {
        Place::Key(_) if diagnostic.rule.code == MISSING_KEY.code => {
            diagnostic.place.pointer().parent().filter(|parent| parent != &Pointer::root())
        }
        place => Some(place.pointer()),
    }
}

/// `value` without what stands at `removed`; an array goes as a whole, so that indices stay true.
fn without(mut value: Value, removed: &[Pointer]) -> Value {
    for pointer in removed.iter().rev() {
        let mut target = pointer.clone();
        while let Some(parent) = target.parent() {
            match value.pointer_mut(parent.as_str()) {
                Some(Value::Object(members)) => {
                    members.shift_remove(&target.keys().last().unwrap_or_default());
                    break;
                }
                _ => target = parent,
            }
        }
        if target == Pointer::root() {
            value = Value::Object(serde_json::Map::new());
        }
    }
    value
}

fn explain(error: &ValidationError<'_>, at: &Pointer, root: &Value) -> Vec<Diagnostic> {
    let instance = root.pointer(at.as_str()).unwrap_or(root);
    let here = Place::Value(at.clone());
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|key| unknown_key(at, key)).collect()
        }
        ValidationErrorKind::Required { property } => {
            vec![missing_key(at, property.as_str().unwrap_or_default())]
        }
        ValidationErrorKind::Type { kind } => vec![wrong_type(here, &wanted_types(kind), instance)],
        // That it is no word at all is a matter of its type.
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

fn unknown_key(at: &Pointer, key: &str) -> Diagnostic {
    let known = keys_at(at);
    let place = Place::Key(at.join(key));
    let owner = name_of(at);
    if let Some(similar) = similar(key, known.iter().map(String::as_str)) {
        return Diagnostic::new(&MISSPELT_KEY, place, format!("{owner} has no key `{key}`"))
            .help(format!("did you mean `{similar}`?"));
    }
    let help = match homes(key).as_slice() {
        [] if known.len() > FEW_KEYS => "remove it; `agentcli schema` shows the known keys".to_owned(),
        [] => format!("remove it; known keys are {}", listed(known.iter().map(String::as_str))),
        [home, ..] if home == at => "remove it".to_owned(),
        homes => {
            let homes: Vec<String> =
                homes.iter().map(|home| name_of(home).trim_matches('`').to_owned()).collect();
            format!("move it to where it belongs, which is in {}", either(homes.iter().map(String::as_str)))
        }
    };
    Diagnostic::new(&UNKNOWN_KEY, place, format!("{owner} has no key `{key}`; it has no effect")).help(help)
}

/// The places where a key of this very name is known.
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
    // A name that stands in many places says nothing of where it belongs.
    if found.len() > 2 { Vec::new() } else { found }
}

/// `schema`, or what it refers to.
fn referred(schema: &Value) -> &Value {
    schema["$ref"].as_str().and_then(|name| SCHEMA.pointer(name.trim_start_matches('#'))).unwrap_or(schema)
}

fn missing_key(at: &Pointer, key: &str) -> Diagnostic {
    let pointer = at.join(key);
    let example = match pointer.as_str() {
        "/dependencies" => r#""dependencies": ["."]"#.to_owned(),
        "/graphs" => r#""graphs": {"agent": "./agent.py:graph"}"#.to_owned(),
        "/encryption/path" => r#""path": "./encryption.py:encryption""#.to_owned(),
        "/priority/path" => r#""path": "./priority.py:priority""#.to_owned(),
        _ => format!(r#""{key}": "./agent.py:graph""#),
    };
    Diagnostic::new(&MISSING_KEY, Place::Key(pointer), format!("{} needs the key `{key}`", name_of(at)))
        .help(format!("add `{example}`"))
}

fn wanted_types(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(single) => vec![single.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    }
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
        Value::Bool(_) | Value::Number(_) => format!("`{instance}`"),
        _ => noun(type_of(instance)),
    };
    let message = format!("{} must be {words}, not {shown}", name_of(&pointer));
    let wants = |kind: &str| wanted.iter().any(|wanted| wanted == kind);
    let help = help_with_type(&pointer, instance, &wants);
    Diagnostic::new(&WRONG_TYPE, place, message).help(help.unwrap_or_else(|| format!("write {words}")))
}

/// What to write instead of `instance`, as near to it as can be.
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
        Value::Number(_) | Value::Bool(_) if wants("string") && is_reference(pointer) => {
            let example =
                if pointer.as_str().starts_with("/dependencies/") { "." } else { "./agent.py:graph" };
            Some(format!("write for example `\"{example}\"`"))
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
            Some(format!("write one of {}", listed(options)))
        }
        _ => shape_at(pointer, wants),
    }
}

/// What a value at `pointer` looks like: an example, or the keys that it may have.
fn shape_at(pointer: &Pointer, wants: &dyn Fn(&str) -> bool) -> Option<String> {
    let keys = keys_at(pointer);
    let keys = keys.iter().map(String::as_str).take(FEW_KEYS);
    let is_object = wants("object") && !wants("string") && keys.len() > 0;
    example_at(pointer)
        .or_else(|| is_object.then(|| format!("write an object with keys such as {}", listed(keys))))
}

/// How to start from nothing.
const START: &str = r#"start with `{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}`"#;

/// Whether the value stands in a list.
fn is_item(pointer: &Pointer) -> bool {
    pointer
        .parent()
        .and_then(|parent| describing(&parent))
        .is_some_and(|schema| schema.get("items").is_some())
}

/// Whether the value names a file or package, so that no number in quotes can be meant.
fn is_reference(pointer: &Pointer) -> bool {
    let keys: Vec<String> = pointer.keys().collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    matches!(
        keys.as_slice(),
        ["dependencies" | "ui" | "graphs", _]
            | ["http", "app"]
            | ["store", "index", "embed"]
            | [_, "path"]
            | ["graphs", _, "path"]
    )
}

/// What is commonly written where a boolean is meant.
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
    // Versions are alike without being meant for each other.
    let is_near =
        |text: &str, option: &str| !option.starts_with(|c: char| c.is_ascii_digit()) || text.contains(option);
    let near = |text| similar(text, options.iter().copied()).filter(|option| is_near(text, option));
    match instance.as_str().and_then(near) {
        Some(similar) => diagnostic.help(format!("did you mean `{similar}`? It is one of {choice}")),
        None => diagnostic.help(format!("write one of {choice}")),
    }
}

fn empty(place: Place, at: &Pointer) -> Diagnostic {
    let diagnostic = Diagnostic::new(&EMPTY_VALUE, place, format!("{} is empty", name_of(at)));
    diagnostic.help(example_at(at).unwrap_or_else(|| match is_item(at) {
        true => "write a value, or remove it".to_owned(),
        false => "write a value, or leave the key out".to_owned(),
    }))
}

fn out_of_range(place: Place, instance: &Value, bound: &str) -> Diagnostic {
    let name = name_of(&place.pointer());
    Diagnostic::new(&OUT_OF_RANGE, place, format!("{name} must be {bound}, not {instance}"))
        .help(format!("write a number that is {bound}"))
}

/// The part of the schema that describes the value at `pointer`.
fn describing(pointer: &Pointer) -> Option<&'static Value> {
    let mut schema: &'static Value = &SCHEMA;
    for key in pointer.keys() {
        let next = schema["properties"].get(&key).or_else(|| schema.get("items"));
        schema = next.or_else(|| schema.get("additionalProperties").filter(|it| it.is_object()))?;
        if let Some(name) = schema["$ref"].as_str() {
            schema = SCHEMA.pointer(name.trim_start_matches('#'))?;
        }
    }
    Some(schema)
}

fn keys_at(pointer: &Pointer) -> Vec<String> {
    let properties = describing(pointer).and_then(|schema| schema["properties"].as_object());
    properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
}

fn example_at(pointer: &Pointer) -> Option<String> {
    let example = describing(pointer)?.get("examples")?.get(0)?;
    Some(format!("write for example `{example}`"))
}

/// How a message calls the value at `pointer`: `http.cors`, or the configuration.
fn name_of(pointer: &Pointer) -> String {
    let mut name = String::new();
    let mut at = Pointer::root();
    for key in pointer.keys() {
        at = at.join(&key);
        match is_item(&at) {
            true => name.push_str(&format!("[{key}]")),
            false if name.is_empty() => name.push_str(&key),
            false => name.push_str(&format!(".{key}")),
        }
    }
    if name.is_empty() { "the configuration".to_owned() } else { format!("`{name}`") }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::Bool(_) => "boolean",
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Object(_) => "object",
        Value::String(_) => "string",
    }
}

fn noun(kind: &str) -> String {
    match kind {
        "array" => "a list".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "a whole number".to_owned(),
        "null" => "null".to_owned(),
        "object" => "an object".to_owned(),
        other => format!("a {other}"),
    }
}

/// The candidate that `word` is most likely a misspelling of.
pub fn similar<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let word = plain(word);
    let budget = (word.chars().count() / 3).clamp(1, 3);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&word, &plain(candidate)), candidate))
        .filter(|&(distance, candidate)| distance <= budget && distance < plain(candidate).chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `a` or `b`.
fn either<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
}

/// `a`, `b` and `c`.
pub fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// What the shape of a document can get wrong.
pub const RULES: &[&Rule] =
    &[&EMPTY_VALUE, &MISSING_KEY, &MISSPELT_KEY, &OUT_OF_RANGE, &UNKNOWN_KEY, &UNKNOWN_VALUE, &WRONG_TYPE];

static EMPTY_VALUE: Rule = Rule {
    code: "empty-value",
    severity: Severity::Error,
    summary: "a value that must hold something is empty",
    why: "A server without graphs has nothing to serve, and an empty path or package name means nothing.",
    wrong: r#"{ "dependencies": ["."], "graphs": {} }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

static MISSING_KEY: Rule = Rule {
    code: "missing-key",
    severity: Severity::Error,
    summary: "a required key is absent",
    why: "`dependencies` and `graphs` are required, and a graph written as an object needs its `path`. Only where \
          every graph is JavaScript or TypeScript may `dependencies` be left out.",
    wrong: r#"{ "graphs": { "agent": "./agent.py:graph" } }"#,
    right: r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" } }"#,
};

static MISSPELT_KEY: Rule = Rule {
    code: "misspelt-key",
    severity: Severity::Error,
    summary: "an unknown key that looks like a known one",
    why: "An unknown key has no effect. One that nearly reads like a known key is almost surely meant to have one, \
          so that it is an error rather than a warning.",
    wrong: r#"{ "dependancies": ["."] }"#,
    right: r#"{ "dependencies": ["."] }"#,
};

static OUT_OF_RANGE: Rule = Rule {
    code: "out-of-range",
    severity: Severity::Error,
    summary: "a number outside of what is possible",
    why: "Ports, vector lengths, intervals and sizes have bounds; a value outside of them would be refused when the \
          server starts, or never take effect.",
    wrong: r#"{ "webhooks": { "url": { "allowed_ports": [0] } } }"#,
    right: r#"{ "webhooks": { "url": { "allowed_ports": [443] } } }"#,
};

static UNKNOWN_KEY: Rule = Rule {
    code: "unknown-key",
    severity: Severity::Warning,
    summary: "a key that nothing reads",
    why: "The key has no effect, neither here nor on the server. It may be a note, or belong to another tool; one \
          that looks like a misspelling is an error instead (misspelt-key).",
    wrong: r#"{ "package_manager": "uv" }"#,
    right: r#"{ "pip_installer": "uv" }"#,
};

static UNKNOWN_VALUE: Rule = Rule {
    code: "unknown-value",
    severity: Severity::Error,
    summary: "a word that is not among the possible ones",
    why: "The key takes one of a few words. Any other would be refused by the server, or by the image registry, long \
          after the build started.",
    wrong: r#"{ "image_distro": "ubuntu" }"#,
    right: r#"{ "image_distro": "debian" }"#,
};

static WRONG_TYPE: Rule = Rule {
    code: "wrong-type",
    severity: Severity::Error,
    summary: "a value of the wrong type",
    why: "Each key takes one type of value, or a few. Versions are strings, since 3.10 and 3.1 are one number.",
    wrong: r#"{ "python_version": 3.12 }"#,
    right: r#"{ "python_version": "3.12" }"#,
};
