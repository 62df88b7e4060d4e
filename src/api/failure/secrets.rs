//! A service may say again what it was told: the key and secrets are taken out of what it says.

use std::cmp::Reverse;

use serde_json::Value;

/// Shorter text may stand inside of any word: to take it out there would garble the rest, and give it away. In characters.
const SHORTEST: usize = 4;

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";

/// What nobody may see of a request, in each form in which it may be said again.
#[derive(Default)]
pub(in crate::api) struct Secrets {
    /// The longest first.
    long: Vec<String>,
    short: Vec<String>,
}

impl Secrets {
    /// The key, and every `value` in a body.
    pub(in crate::api) fn of(key: &str, body: Option<&Value>) -> Self {
        let mut values = vec![key.to_owned()];
        body.iter().for_each(|body| collect_values(body, &mut values));
        // What ends with a line break may be said without it.
        let values = values.iter().map(|value| value.trim()).filter(|value| !value.is_empty());
        let (short, long): (Vec<&str>, Vec<&str>) = values.partition(|it| it.chars().count() < SHORTEST);
        let mut long: Vec<String> = long.into_iter().flat_map(forms).collect();
        long.sort_by_key(|secret| Reverse(secret.len()));
        long.dedup();
        Self { long, short: short.into_iter().flat_map(forms).collect() }
    }

    /// `text` without them: without the short ones only where they are words of their own.
    pub(in crate::api) fn taken_out_of(&self, text: &str) -> String {
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

/// As it is, as JSON has it, and as JSON in a text of JSON has it.
fn forms(secret: &str) -> [String; 3] {
    let escaped = escaped(secret);
    let twice = self::escaped(&escaped);
    [secret.to_owned(), escaped, twice]
}

fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Every `value` in a body: secrets, and variables of containers.
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
        Secrets::of("key-of-somebody", Some(&body)).taken_out_of(text)
    }

    #[test]
    fn every_form_of_a_secret_is_taken_out() {
        let nested = json!({ "input": json!({ "value": PEM }).to_string() }).to_string();
        for text in [PEM.to_owned(), PEM.trim().to_owned(), json!({ "input": PEM }).to_string(), nested] {
            let left = said(PEM, &text);
            assert!(left.contains("[redacted]"), "{left}");
            assert!(!["BEGIN", "QUJD", "REVG"].iter().any(|part| left.contains(part)), "{left}");
        }
        assert_eq!(said(PEM, "the key-of-somebody"), "the [redacted]");
    }

    #[test]
    fn a_short_secret_is_taken_out_where_it_is_a_word() {
        assert_eq!(said("ab1", "it is not ab1, but cab12"), "it is not [redacted], but cab12");
        assert_eq!(said("1", "cpu=1, not -1.5 or 10"), "cpu=[redacted], not -[redacted].5 or 10");
        assert_eq!(said("", "it is wrong"), "it is wrong");
    }
}
