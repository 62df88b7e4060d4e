//! YAML, as far as manifests use it: documents of a text as JSON values.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

use super::Broken;

/// Maximum nesting: a manifest has a few levels.
const MAX_LEVELS: usize = 64;

/// A collection whose end has not been read.
enum Open {
    List(Vec<Value>),
    /// The entries, and the key whose value comes next.
    Map(Map<String, Value>, Option<String>),
}

/// Reads the first document of `text`. All scalars are strings, and an alias is null, so that a text cannot expand.
pub fn read(text: &str) -> Result<Value, Broken> {
    let string = |text: String, _| Value::String(text);
    Ok(next(&mut Parser::new_from_str(text), text, string)?.unwrap_or_default())
}

/// Reads all documents of `text`. Scalars without quotes that are JSON are numbers, booleans or null.
pub fn documents(text: &str) -> Result<Vec<Value>, Broken> {
    let typed = |text: String, is_plain: bool| match serde_json::from_str(&text) {
        Ok(value) if is_plain => value,
        _ => Value::String(text),
    };
    let mut parser = Parser::new_from_str(text);
    let mut documents = Vec::new();
    while let Some(document) = next(&mut parser, text, typed)? {
        documents.push(document);
    }
    Ok(documents)
}

/// The next document. `scalar` makes a value of a scalar, and of whether it is without quotes.
fn next(
    parser: &mut Parser<'_, StrInput<'_>>,
    text: &str,
    scalar: impl Fn(String, bool) -> Value,
) -> Result<Option<Value>, Broken> {
    let mut open: Vec<Open> = Vec::new();
    for event in parser {
        let (event, span) =
            event.map_err(|error| Broken::new(around(text, *error.marker()), error.info()))?;
        let done = match event {
            Event::Scalar(text, style, ..) => scalar(text.into_owned(), style == ScalarStyle::Plain),
            Event::Alias(_) => Value::Null,
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == MAX_LEVELS => {
                return Err(Broken::new(around(text, span.start), "nested too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(entries, _)) => Value::Object(entries),
                None => Value::Null,
            },
            Event::Nothing | Event::StreamStart | Event::StreamEnd => continue,
            Event::DocumentStart(_) | Event::DocumentEnd => continue,
        };
        match open.last_mut() {
            None => return Ok(Some(done)),
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map(entries, key)) => match key.take() {
                Some(key) => _ = entries.insert(key, done),
                None => *key = Some(done.as_str().unwrap_or_default().to_owned()),
            },
        }
    }
    Ok(None)
}

/// The byte range of the character at `marker`, which counts characters.
fn around(text: &str, marker: Marker) -> Range<usize> {
    let start = text.char_indices().nth(marker.index()).map_or(text.len(), |(at, _)| at);
    start..text.ceil_char_boundary(start + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn scalars_lists_and_maps() {
        let text = "# a\npackages:\n  - 'a/*' # b\n  - \"!c\"\nflow: {x: [1, on]}\n---\nother: 1\n";
        let value = json!({ "packages": ["a/*", "!c"], "flow": { "x": ["1", "on"] } });
        assert_eq!(read(text).unwrap(), value);
        assert_eq!(read("").unwrap(), Value::Null);
        assert_eq!(read("a: &x [1]\nb: *x").unwrap(), json!({ "a": ["1"], "b": null }));
    }

    #[test]
    fn mistakes_have_a_place() {
        let text = "ü: 1\npackages: [a, 'b\n";
        assert!(read(text).unwrap_err().span.start >= text.find('[').unwrap());
        assert_eq!(read(&"[".repeat(80)).unwrap_err().message, "nested too deeply");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-zé\\-:\\[\\]{},&*!|>'\"#% \\n\\t]{0,40}") {
            read(&text).ok();
        }
    }
}
