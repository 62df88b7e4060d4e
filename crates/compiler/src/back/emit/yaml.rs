//! Values → YAML that parsers of YAML 1.1 and 1.2 read alike.

use core::net::Ipv4Addr;

use serde_json::Value;

/// Length from which a key is explicit, in bytes: YAML allows a simple key 1,024 characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// Words that some parsers take for another value than a string.
const KEYWORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan"];

/// Units of quantities that need no quotes: `5s`, `500m`, `10Gi`.
const UNITS: &[&str] = &["s", "m", "Gi", "Mi"];

/// A value on one line after a key or `-`: collections in flow style.
pub(super) fn line(value: &Value) -> String {
    value.as_str().map_or_else(|| flow(value), |text| scalar(text, is_plain))
}

/// A value on one line within a collection in flow style.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let entry = |(key, member): (&String, &Value)| {
                let name = scalar(key, is_plain_in_flow);
                let start = if name.len() < MAX_SIMPLE_KEY { "" } else { "? " };
                format!("{start}{name}: {}", flow(member))
            };
            format!("{{{}}}", members.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => scalar(text, is_plain_in_flow),
        value => value.to_string(),
    }
}

/// The lines of a value in block style, all but the first indented by `indent` spaces.
pub(super) fn block(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write(&mut text, value, indent);
    text.trim_matches([' ', '\n']).to_owned()
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
                text.push_str(&format!("{pad}{}", before_value(&scalar(key, is_plain), &pad)));
                if is_block(member) {
                    text.push('\n');
                    // Items of a list are not indented below their key.
                    write(text, member, if member.is_array() { indent } else { indent + 2 });
                } else {
                    text.push_str(&format!(" {}\n", line(member)))
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
        value => text.push_str(&format!("{pad}{}\n", line(value))),
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

/// A string, without quotes if no parser can take it for anything else there.
fn scalar(text: &str, is_plain: fn(&str) -> bool) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// Whether a string needs no quotes after a key or `-`.
fn is_plain(text: &str) -> bool {
    let mut chars = text.chars();
    let is_started = match (chars.next(), chars.next()) {
        (Some('/' | '$'), _) | (Some('.'), None | Some('/')) => true,
        (Some('.'), Some(c)) => c.is_ascii_alphabetic(),
        // An option of one letter.
        (Some('-'), Some(c)) => c.is_ascii_alphabetic() && text.len() == 2,
        (Some(c), _) => c.is_ascii_alphabetic() || text.parse::<Ipv4Addr>().is_ok() || is_quantity(text),
        (None, _) => false,
    };
    is_started
        && text.chars().all(|c| c.is_ascii_alphanumeric() || " ._/-:@=$?&%+,{}".contains(c))
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !KEYWORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The same in a collection in flow style, where some parsers also end a string at a colon.
fn is_plain_in_flow(text: &str) -> bool {
    is_plain(text) && !text.contains([':', ',', '{', '}', '?'])
}

fn is_quantity(text: &str) -> bool {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < text.len() && UNITS.contains(&unit)
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
fn before_value(key: &str, pad: &str) -> String {
    if key.len() < MAX_SIMPLE_KEY { format!("{key}:") } else { format!("? {key}\n{pad}:") }
}

/// Whether a character can be part of a YAML string. Unicode line separators are excluded, since some parsers break lines.
fn is_yaml_text(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
        || c > '\u{ffff}'
}
