//! Text → [`Document`]: a JSON tree with the place of each key and value.
//!
//! The parser recovers from every mistake: it reports and repairs it, and continues, so that one run shows all
//! mistakes. A value that it cannot read becomes a hole ([`Kind::Hole`]), which later phases ignore.

mod edit;
mod parse;
mod rules;
mod string;

use std::collections::HashSet;
use std::ops::Range;

use indexmap::IndexMap;
use serde_json::{Number, Value};

use crate::diagnostic::{Diagnostic, Place, Pointer, Rule};

pub use edit::{TextEdit, apply, disjoint};
pub use rules::RULES;

/// A parsed configuration.
#[derive(Debug)]
pub struct Document {
    /// The root value.
    pub root: Node,
    /// Whether the syntax is so broken that keys which seem absent may only be unread.
    pub broken: bool,
    text: String,
    escapes: string::Escapes,
    secrets: Vec<Range<usize>>,
    /// The start of each object with a member whose key could not be read.
    partial: HashSet<usize>,
}

/// A value and its place.
#[derive(Debug)]
pub struct Node {
    /// Byte range in the text.
    pub span: Range<usize>,
    /// The value.
    pub kind: Kind,
}

/// A JSON value.
#[derive(Debug)]
pub enum Kind {
    /// `[…]`
    Array(Vec<Node>),
    /// `true` or `false`
    Bool(bool),
    /// A value that could not be read, and was reported.
    Hole,
    /// `null`
    Null,
    /// A number in JSON's grammar.
    Number(Number),
    /// `{…}` by unescaped key, in the order of the text; the first of duplicate keys.
    Object(IndexMap<String, Member>),
    /// A string, unescaped.
    String(String),
}

/// A `"key": value` of an object.
#[derive(Debug)]
pub struct Member {
    /// The place of the key, quotes included.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

/// Whether a mistake of this kind can make what follows look wrong.
pub fn hides_others(rule: &Rule) -> bool {
    [rules::JSON_STRING.code, rules::JSON_SYNTAX.code].contains(&rule.code)
}

/// Parses `text`; a broken text has a document too.
pub fn parse(text: &str) -> (Document, Vec<Diagnostic>) {
    parse::Parser::new(text).run()
}

impl Document {
    /// The byte range of `place`; for a value that is absent, that of its nearest ancestor.
    pub fn span(&self, place: &Place) -> Range<usize> {
        match place {
            Place::File | Place::Option(_) => 0..0,
            Place::Span(span) => span.clone(),
            Place::Key(pointer) => self.key_span(pointer),
            Place::Value(pointer) => self.nearest(pointer).span.clone(),
            Place::Within(pointer, part) => self.part_span(pointer, part),
        }
    }

    /// The byte ranges to mask wherever the text is shown: values below `env`, and passwords and tokens in URLs.
    pub fn secrets(&self) -> &[Range<usize>] {
        &self.secrets
    }

    /// Whether the object at `pointer` has members that could not be read.
    pub fn is_partial(&self, pointer: &Pointer) -> bool {
        self.partial.contains(&self.nearest(pointer).span.start)
    }

    /// The tree as plain JSON; holes become null.
    pub fn to_value(&self) -> Value {
        self.root.to_value()
    }

    /// The places of the holes.
    pub fn holes(&self) -> Vec<Pointer> {
        let mut holes = Vec::new();
        self.root.collect_holes(Pointer::root(), &mut holes);
        holes
    }

    fn key_span(&self, pointer: &Pointer) -> Range<usize> {
        let parent = pointer.parent().unwrap_or_default();
        let key = pointer.keys().last().unwrap_or_default();
        match &self.nearest(&parent).kind {
            Kind::Object(members) => members.get(&key),
            _ => None,
        }
        .map_or_else(|| self.opening(pointer), |member| member.key_span.clone())
    }

    /// The first character of the value that should hold an absent member.
    fn opening(&self, pointer: &Pointer) -> Range<usize> {
        let span = &self.nearest(pointer).span;
        span.start..(span.start + 1).min(span.end)
    }

    fn part_span(&self, pointer: &Pointer, part: &Range<usize>) -> Range<usize> {
        let node = self.nearest(pointer);
        let Kind::String(_) = node.kind else { return node.span.clone() };
        // The quotes may be curly.
        let mut raw = self.text[node.span.clone()].chars();
        let quotes = [raw.next(), raw.next_back()].map(|quote| quote.map_or(0, char::len_utf8));
        let (start, end) = (node.span.start + quotes[0], node.span.end - quotes[1]);
        let offset = |at: usize| self.escapes.raw_offset(start, at).min(end);
        offset(part.start)..offset(part.end)
    }

    fn nearest(&self, pointer: &Pointer) -> &Node {
        let mut node = &self.root;
        for key in pointer.keys() {
            match node.child(&key) {
                Some(child) => node = child,
                None => break,
            }
        }
        node
    }
}

impl Node {
    /// The member named `key` of an object, or the item with that index of an array.
    pub fn child(&self, key: &str) -> Option<&Node> {
        match &self.kind {
            Kind::Object(members) => members.get(key).map(|member| &member.value),
            Kind::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Array(items) => items.iter().map(Node::to_value).collect(),
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Hole | Kind::Null => Value::Null,
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), member.value.to_value())).collect()
            }
            Kind::String(text) => Value::String(text.clone()),
        }
    }

    fn collect_holes(&self, at: Pointer, holes: &mut Vec<Pointer>) {
        match &self.kind {
            Kind::Hole => holes.push(at),
            Kind::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| item.collect_holes(at.join(index), holes));
            }
            Kind::Object(members) => {
                members.iter().for_each(|(key, member)| member.value.collect_holes(at.join(key), holes));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::front::source::Source;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(text).1.iter().map(|diagnostic| diagnostic.rule.code).collect()
    }

    #[test]
    fn valid_text_is_what_serde_json_reads() {
        let text = r#" {"a": [1, -2.5e3, true, false, null], "b\u00e9\n\ud83d\ude00": {"": "x"}} "#;
        let (document, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(document.to_value(), serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn each_mistake_has_its_code_and_the_rest_is_read() {
        for (text, code) in [
            (r#"{"a": 1,}"#, "trailing-comma"),
            (r#"{"a": [1,],"b":2}"#, "trailing-comma"),
            ("{\"a\": 1 // x\n}", "json-comment"),
            ("{/* x */\"a\": 1}", "json-comment"),
            ("{# x\n\"a\": 1}", "json-comment"),
            (r#"{"a": NaN}"#, "json-number"),
            (r#"{"a": -Infinity}"#, "json-number"),
            (r#"{"a": 01}"#, "json-number"),
            (r#"{"a": .5}"#, "json-number"),
            (r#"{"a": 1e999}"#, "json-number"),
            (r#"{'a': 1}"#, "json-string"),
            (r#"{"a": "\x"}"#, "json-string"),
            (r#"{"a": "\ud800"}"#, "json-string"),
            ("{\"a\": \"x\ny\"}", "json-string"),
            (r#"{"a": True}"#, "json-syntax"),
            (r#"{a: 1}"#, "json-syntax"),
            (r#"{"a" 1}"#, "json-syntax"),
            (r#"{"a" = 1}"#, "json-syntax"),
            (r#"{"a": 1 "b": 2}"#, "json-syntax"),
            (r#"{"a": 1} x"#, "json-syntax"),
            (r#"{"a": [1}"#, "json-syntax"),
            (r#"{"a": 1"#, "json-syntax"),
            (r#"{"a": }"#, "json-syntax"),
            (r#"{"a": 1, "a": 2}"#, "duplicate-key"),
            ("\u{feff}{\"a\": 1}", "byte-order-mark"),
        ] {
            assert_eq!(codes(text), [code], "{text}");
            let a = parse(text).0.root.child("a").map(|node| node.span.clone());
            assert!(a.is_some(), "{text}: `a` was lost");
        }
    }

    #[test]
    fn several_mistakes_in_one_run() {
        assert_eq!(
            codes("{'a': NaN, \"b\": [1 2,], // x\n}"),
            ["json-string", "json-number", "json-syntax", "trailing-comma", "trailing-comma", "json-comment"]
        );
    }

    /// Whether `text` shows `hunter` in its lines or in the findings about it.
    fn is_leaked(text: &str) -> bool {
        let (document, diagnostics) = parse(text);
        let mut source = Source::new("agent.json", text);
        source.hide(document.secrets());
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines: Vec<_> =
            iter::once(0).chain(starts).map(|start| source.line(start).into_owned()).collect();
        format!("{lines:?}{diagnostics:?}").contains("hunter")
    }

    #[test]
    fn broken_env_shows_no_values() {
        for value in [
            r#"("A": "hunter")"#,
            r#"{"A": "x"; "B": "hunter"}"#,
            r#"{"A": "x"; "B": "x, hunter"}"#,
            r#""A": "hunter""#,
            r#""A": "x", "B": "hunter""#,
            "$(hunter)",
            r#""a" + "hunter""#,
            r#"{"A": "x"} + {"B": "hunter"}"#,
            "A:hunter",
            "A=hunter",
            "[A=hunter]",
            "{ // hunter\n}",
            "{/* \"A\": \"hunter\" */}",
            r#"{"A": ("B": "hunter")}"#,
            r#"{"A": "x" hunter}"#,
            r#"{"A": "x", "B": x hunter: 1}"#,
            r#"'A':'hunter'"#,
            r#""{"A": "hunter"}""#,
            r#"<"A" = "hunter">"#,
        ] {
            for key in [r#""env":"#, r#""env" "#, r#""Envs" = "#, "env: ", r#""env: "#, r#""a": {"env": "#] {
                let text = format!("{{\"graphs\": {{\"a\": \"b\"}},\n{key}{value},\n\"http\": {{}}}}");
                assert!(!is_leaked(&text), "{text} {:?}", parse(&text));
            }
        }
    }

    #[test]
    fn one_wrong_character_shows_no_values_of_env() {
        let text = r#"{"graphs": {"a": "b"}, "env": {"A": "hunter", "B": "hunter"}, "http": {}}"#;
        let env = text.find("\": {\"A").unwrap()..text.find(", \"http").unwrap();
        for at in
            env.filter(|&at| !text[..at + 6].contains("hunt") || !text[at..].starts_with(char::is_alphabetic))
        {
            for wrong in
                ["", "\"", "'", "{", "}", "[", "]", "(", ")", ":", ",", ";", "=", "+", "\\", "\n", "#", "x"]
            {
                for end in [at, at + 1] {
                    let text = format!("{}{wrong}{}", &text[..at], &text[end..]);
                    assert!(!is_leaked(&text), "{text}");
                }
            }
        }
    }

    #[test]
    fn spans_survive_escapes() {
        let (document, _) = parse(r#"{"k": "a\nb\ud83d\ude00c"}"#);
        let pointer = Pointer::root().join("k");
        let c = "a\nb😀".len();
        let span = document.span(&Place::Within(pointer, c..c + 1));
        assert_eq!(&document.text[span], "c");
    }

    #[test]
    fn nesting_is_bounded() {
        assert_eq!(codes(&"[".repeat(100_000))[0], "json-syntax");
    }
}
