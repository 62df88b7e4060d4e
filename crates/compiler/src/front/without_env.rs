//! The text of a configuration without the values of `env`, which must be in no image and no archive.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Pointer};
use crate::front::document::{self, Kind, Node};
use crate::front::schema;
use crate::secrecy;
use crate::words::is_variable;

/// `text` with an empty string for each value below `env`, or below an unknown key that is spelt like it; `None` if
/// there are no such values. An invalid text with secrets becomes empty.
pub fn without_env_values(text: &str) -> Option<String> {
    let (document, diagnostics) = document::parse(text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (!document.secrets().is_empty()).then(String::new);
    }
    let mut values = Vec::new();
    collect(&document.root, &Pointer::root(), &mut values);
    let mut emptied = text.to_owned();
    for value in values.iter().rev() {
        emptied.replace_range(value.clone(), "\"\"");
    }
    (!values.is_empty()).then_some(emptied)
}

fn collect(node: &Node, at: &Pointer, values: &mut Vec<Range<usize>>) {
    match &node.kind {
        Kind::Object(members) => {
            members.iter().for_each(|(key, member)| collect(&member.value, &at.join(key), values));
        }
        Kind::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| collect(item, &at.join(index), values));
        }
        _ if is_secret(at) && !is_open(node, at) => values.push(node.span.clone()),
        _ => {}
    }
}

/// Whether the value is empty, or refers to a variable, or is the name of one in the list that `env` may be.
fn is_open(node: &Node, at: &Pointer) -> bool {
    let Kind::String(text) = &node.kind else { return false };
    let is_item = at.parent().as_ref().map(Pointer::as_str) == Some("/env")
        && at.keys().last().is_some_and(|key| key.parse::<usize>().is_ok());
    let reference = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    text.is_empty() || reference.or(is_item.then_some(text)).is_some_and(is_variable)
}

/// Whether the value at `at` is below `env`, or below an unknown key that is spelt like it. A graph may be named `env`.
fn is_secret(at: &Pointer) -> bool {
    secrecy::is_secret_place(at)
        && (at.is_within(&Pointer::parse("/env")) || schema::describing(at).is_none())
}

#[cfg(test)]
mod tests {
    use super::without_env_values;

    #[test]
    fn values_below_env_and_misspellings_of_it_are_emptied() {
        for (text, emptied) in [
            (
                "{\n  \"env\": {\"A\": \"s\\\"}\", \"B\" : 1.5,\n \"C\": true},\n  \"x\": {\"a\": {\"A\": \"k\"}}}\n",
                Some(
                    "{\n  \"env\": {\"A\": \"\", \"B\" : \"\",\n \"C\": \"\"},\n  \"x\": {\"a\": {\"A\": \"k\"}}}\n",
                ),
            ),
            (r#"{"Env": {"A": "k"}}"#, Some(r#"{"Env": {"A": ""}}"#)),
            (r#"{"env_vars": [{"name": "A"}, 1]}"#, Some(r#"{"env_vars": [{"name": ""}, ""]}"#)),
            (
                r#"{"graphs": {"a": {"path": "./a.py:g", "env": {"A": "k"}}}}"#,
                Some(r#"{"graphs": {"a": {"path": "./a.py:g", "env": {"A": ""}}}}"#),
            ),
            (
                r#"{"graphs": {"env": {"path": "./a.py:g", "description": "d", "A": "k"}}}"#,
                Some(r#"{"graphs": {"env": {"path": "./a.py:g", "description": "d", "A": ""}}}"#),
            ),
            (r#"{"graphs": {"env": "./a.py:g"}}"#, None),
            (r#"{"env": {"A": "k"}, "env": {"B": "l"}}"#, Some("")),
            (r#"{"env": {}}"#, None),
            (r#"{"env": ".env"}"#, None),
            (r#"{"env": ["OPENAI_API_KEY"]}"#, None),
            (r#"{"env": ["A=k", "B"]}"#, Some(r#"{"env": ["", "B"]}"#)),
            (
                r#"{"env": {"A": "", "B": "${B}", "C": "${C:-k}"}}"#,
                Some(r#"{"env": {"A": "", "B": "${B}", "C": ""}}"#),
            ),
            (r#"{"env": {"A": "", "B": "${B}"}}"#, None),
            ("{}", None),
            ("x", None),
        ] {
            assert_eq!(without_env_values(text).as_deref(), emptied, "{text}");
        }
    }
}
