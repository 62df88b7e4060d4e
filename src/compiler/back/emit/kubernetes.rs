//! Objects of Kubernetes → YAML documents, which parsers of YAML 1.1 and 1.2 read alike.

use serde_json::Value;

use crate::compiler::back::emit::{heading, quote};
use crate::compiler::back::plan::Plan;

/// The documents of `objects`, made from a plan.
pub fn manifests(plan: &Plan, objects: &[Value], remarks: &[String]) -> String {
    let (mark, name, hash) = (heading::MARK, heading::name(plan), &plan.config.sha256);
    let first = format!(
        "{}from {name}. Do not edit: change {name} and run `agentcli manifests` again.",
        mark.trim_start_matches("# ")
    );
    let remarks = [&[format!("Made from configuration sha256:{hash}")], remarks].concat();
    documents(&first, &remarks, objects)
}

/// The documents of `objects`, each after a line `---`, below comments.
pub fn documents(heading: &str, remarks: &[String], objects: &[Value]) -> String {
    let mut text = String::new();
    for line in std::iter::once(heading).chain(remarks.iter().map(String::as_str)) {
        text.push_str(&format!("# {}\n", quote::comment(line)));
    }
    for object in objects {
        text.push_str("---\n");
        write(&mut text, object, 0);
    }
    text
}

/// Writes the lines of `value`, indented by `indent` spaces.
fn write(text: &mut String, value: &Value, indent: usize) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                text.push_str(&format!("{pad}{}", quote::before_value(&scalar(key), indent)));
                match is_block(member) {
                    true => {
                        text.push('\n');
                        // Items of a list are not indented below their key.
                        write(text, member, if member.is_array() { indent } else { indent + 2 });
                    }
                    false => text.push_str(&format!(" {}\n", inline(member))),
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut lines = String::new();
                write(&mut lines, item, indent + 2);
                text.push_str(&format!("{pad}- {}", lines.trim_start_matches(' ')));
            }
        }
        value => text.push_str(&format!("{pad}{}\n", inline(value))),
    }
}

/// Whether a value is on lines of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn inline(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), scalar)
}

/// A string, without quotes if no parser can take it for anything else.
fn scalar(text: &str) -> String {
    let is_keyword = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/-:@=".contains(c))
        && !text.ends_with(':');
    if is_plain && !is_keyword { text.to_owned() } else { quote::yaml(text) }
}
