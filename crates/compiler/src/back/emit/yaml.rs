//! Values → YAML in block style, which parsers of YAML 1.1 and 1.2 read alike.

use serde_json::Value;

/// Length from which a key is explicit, in bytes: YAML allows a simple key 1,024 characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// The lines of `value`.
pub(super) fn block(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text
}

/// Text of a comment, without characters that end the comment or the document.
pub(super) fn comment(text: &str) -> String {
    text.chars().filter(|c| is_yaml_text(*c)).collect()
}

/// Writes the lines of `value`, indented by `indent` spaces.
fn write(text: &mut String, value: &Value, indent: usize) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                text.push_str(&format!("{pad}{}", before_value(&scalar(key), indent)));
                if is_block(member) {
                    text.push('\n');
                    // Items of a list are not indented below their key.
                    write(text, member, if member.is_array() { indent } else { indent + 2 });
                } else {
                    text.push_str(&format!(" {}\n", inline(member)))
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
    if is_plain && !is_keyword { text.to_owned() } else { quoted(text) }
}

/// A string in quotes.
fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' => r#"\""#.to_owned(),
        '\\' => r"\\".to_owned(),
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        c if is_yaml_text(c) => c.to_string(),
        c => format!("\\U{:08X}", u32::from(c)),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// `key`, written as a key, and the colon after it. A long key is explicit: parsers do not look for the
/// colon of another one that far.
fn before_value(key: &str, indent: usize) -> String {
    if key.len() < MAX_SIMPLE_KEY { format!("{key}:") } else { format!("? {key}\n{}:", " ".repeat(indent)) }
}

/// Whether a character can be part of a YAML string. Unicode line separators are excluded, since some parsers break lines.
fn is_yaml_text(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
        || c > '\u{ffff}'
}
