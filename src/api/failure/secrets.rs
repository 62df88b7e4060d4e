//! Removes the key and secrets from responses, which may repeat parts of the request.

use std::cmp::Reverse;

use serde_json::Value;

/// Minimum length of secrets that are removed inside of words, in characters. Shorter ones are parts of many words: removing
/// them there would garble the text, and reveal them.
const SHORTEST: usize = 4;

/// Placeholder for a secret.
const REDACTED: &str = "[redacted]";

/// The secrets of a request, in all forms in which a response may repeat them.
#[derive(Default)]
pub(in crate::api) struct Secrets {
    /// The longest first.
    long: Vec<String>,
    short: Vec<String>,
}

impl Secrets {
    /// The key, and every `value` in a body.
    pub(in crate::api) fn new(key: &str, body: Option<&Value>) -> Self {
        let mut values = vec![key.to_owned()];
        body.iter().for_each(|body| collect_values(body, &mut values));
        // A response may omit a line break at the end.
        let values = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
        let (short, long): (Vec<&str>, Vec<&str>) = values.partition(|it| it.chars().count() < SHORTEST);
        let mut long: Vec<String> = long.into_iter().flat_map(forms).collect();
        long.sort_by_key(|secret| Reverse(secret.len()));
        long.dedup();
        Self { long, short: short.into_iter().flat_map(forms).collect() }
    }

    /// `text` without secrets. Short ones are removed only if they are whole words.
    pub(in crate::api) fn redact(&self, text: &str) -> String {
        let text = self.long.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED));
        self.short.iter().fold(text, |text, secret| without_word(&text, secret))
    }
}

fn without_word(text: &str, word: &str) -> String {
    let mut left = String::new();
    let mut end = 0;
    for (start, _) in text.match_indices(word) {
        let (before, after) = (&text[..start], &text[start + word.len()..]);
        let is_inside = before.ends_with(char::is_alphanumeric) || after.starts_with(char::is_alphanumeric);
        if !is_inside {
            left.push_str(&text[end..start]);
            left.push_str(REDACTED);
            end = start + word.len();
        }
    }
    left + &text[end..]
}

/// The secret as plain text, in JSON, and in JSON within JSON.
fn forms(secret: &str) -> [String; 3] {
    let escaped = escaped(secret);
    let twice = self::escaped(&escaped);
    [secret.to_owned(), escaped, twice]
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Collects every `value` of a body: those of secrets and of environment variables of containers.
fn collect_values(body: &Value, found: &mut Vec<String>) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| collect_values(item, found)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "value" => found.push(text.clone()),
                    field => collect_values(field, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PEM: &str = "-----BEGIN KEY-----\nQUJD\"\\REVG\n-----END KEY-----\n";

    fn said(value: &str, text: &str) -> String {
        let body = json!({ "secrets": [{ "name": "A", "value": value }] });
        Secrets::new("key-of-somebody", Some(&body)).redact(text)
    }

    #[test]
    fn every_form_of_a_secret_is_removed() {
        let nested = json!({ "input": json!({ "value": PEM }).to_string() }).to_string();
        for text in [PEM.to_owned(), PEM.trim().to_owned(), json!({ "input": PEM }).to_string(), nested] {
            let left = said(PEM, &text);
            assert!(left.contains("[redacted]"), "{left}");
            assert!(!["BEGIN", "QUJD", "REVG"].iter().any(|part| left.contains(part)), "{left}");
        }
        assert_eq!(said(PEM, "the key-of-somebody"), "the [redacted]");
    }

    #[test]
    fn a_short_secret_is_removed_if_it_is_a_word() {
        assert_eq!(said("ab1", "it is not ab1, but cab12"), "it is not [redacted], but cab12");
        assert_eq!(said("1", "cpu=1, not -1.5 or 10"), "cpu=[redacted], not -[redacted].5 or 10");
        assert_eq!(said("", "it is wrong"), "it is wrong");
    }
}
