//! Python's literals: strings, and lists, tuples and dictionaries of them.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use tree_sitter::Node;

use crate::compiler::manifests::symbols::{parts, source};

/// How deep literals may nest: deeper than anyone writes, and shallow enough for our stack.
const DEPTH: usize = 16;

/// The value of a literal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    /// A list or a tuple.
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    None,
    /// A number or a truth value, which nothing here reads.
    Other,
}

impl Value {
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn texts(self) -> Option<Vec<String>> {
        match self {
            Self::List(values) => values.into_iter().map(Self::text).collect(),
            _ => None,
        }
    }

    /// The outer option is about the type, the inner one about Python's `None`.
    pub(super) fn optional_text(self) -> Option<Option<String>> {
        if self == Self::None { Some(None) } else { self.text().map(Some) }
    }

    /// Like [`Value::optional_text`].
    pub(super) fn optional_texts(self) -> Option<Option<Vec<String>>> {
        if self == Self::None { Some(None) } else { self.texts().map(Some) }
    }

    pub(super) fn text_map(self) -> Option<BTreeMap<String, String>> {
        match self {
            Self::Map(pairs) => {
                pairs.into_iter().map(|(key, value)| Some((key.text()?, value.text()?))).collect()
            }
            Self::None => Some(BTreeMap::new()),
            _ => None,
        }
    }
}

/// The value of the literal `node`; `None` if it is not one.
pub(super) fn value(node: Node<'_>, text: &str) -> Option<Value> {
    nested(node, text, DEPTH)
}

fn nested(node: Node<'_>, text: &str, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match node.kind() {
        "string" | "concatenated_string" => string(node, text).map(Value::Text),
        "list" | "tuple" => {
            let items = parts(node).into_iter().map(|item| nested(item, text, depth));
            items.collect::<Option<_>>().map(Value::List)
        }
        "dictionary" => {
            let pairs = parts(node).into_iter().map(|item| pair(item, text, depth));
            pairs.collect::<Option<_>>().map(Value::Map)
        }
        "parenthesized_expression" => match *parts(node) {
            [inner] => nested(inner, text, depth),
            _ => None,
        },
        "none" => Some(Value::None),
        "true" | "false" | "integer" | "float" => Some(Value::Other),
        _ => None,
    }
}

fn pair(node: Node<'_>, text: &str, depth: usize) -> Option<(Value, Value)> {
    let key = node.child_by_field_name("key").filter(|_| node.kind() == "pair")?;
    Some((nested(key, text, depth)?, nested(node.child_by_field_name("value")?, text, depth)?))
}

/// The value of a string literal, or of several side by side.
pub(super) fn string(node: Node<'_>, text: &str) -> Option<String> {
    match node.kind() {
        "string" => decode(source(node, text)),
        _ => parts(node).into_iter().map(|part| decode(source(part, text))).collect(),
    }
}

/// Decodes one string literal; `None` for f-strings, bytes and escapes that Python refuses.
fn decode(literal: &str) -> Option<String> {
    let (prefix, quoted) = literal.split_at(literal.find(['"', '\''])?);
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| quoted.starts_with(quote))?;
    let body = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
    match prefix {
        "" | "u" | "U" => unescape(body),
        "r" | "R" => Some(body.to_owned()),
        _ => None,
    }
}

fn unescape(body: &str) -> Option<String> {
    let mut plain = String::with_capacity(body.len());
    let mut rest = body.chars().peekable();
    while let Some(next) = rest.next() {
        if next == '\\' {
            escape(&mut rest, &mut plain)?;
        } else {
            plain.push(next);
        }
    }
    Some(plain)
}

/// Decodes the escape whose backslash has just been taken from `rest`.
fn escape(rest: &mut Peekable<Chars<'_>>, plain: &mut String) -> Option<()> {
    let next = rest.next()?;
    let decoded = match next {
        '\n' => return Some(()),
        '\\' | '\'' | '"' => next,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => hex(rest, 2)?,
        'u' => hex(rest, 4)?,
        'U' => hex(rest, 8)?,
        '0'..='7' => octal(rest, next)?,
        // A character by name would need the table of all names.
        'N' => return None,
        // Python keeps the backslash of an escape that it does not know.
        _ => {
            plain.push('\\');
            next
        }
    };
    plain.push(decoded);
    Some(())
}

fn hex(rest: &mut Peekable<Chars<'_>>, digits: usize) -> Option<char> {
    let code = (0..digits).try_fold(0u32, |code, _| {
        let digit = rest.next()?.to_digit(16)?;
        code.checked_mul(16)?.checked_add(digit)
    })?;
    char::from_u32(code)
}

/// Up to three octal digits, of which `first` is the first.
fn octal(rest: &mut Peekable<Chars<'_>>, first: char) -> Option<char> {
    let mut code = first.to_digit(8)?;
    for _ in 0..2 {
        let Some(digit) = rest.peek().and_then(|next| next.to_digit(8)) else { break };
        code = code * 8 + digit;
        rest.next();
    }
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::manifests::symbols::{Language, parse};

    fn read(text: &str) -> Option<Value> {
        let tree = parse(Language::Python, text)?;
        let expression = tree.root_node().named_child(0)?.named_child(0)?;
        value(expression, text)
    }

    #[test]
    fn strings_are_decoded() {
        for (text, expected) in [
            (r#""""#, ""),
            (r"'a'", "a"),
            (r#"'a"b'"#, "a\"b"),
            (r#""""a "b" 'c'""""#, "a \"b\" 'c'"),
            ("'''a\nb'''", "a\nb"),
            ("'a\\\nb'", "ab"),
            (r"'\\ \' \n\t\r\a\b\f\v'", "\\ ' \n\t\r\x07\x08\x0c\x0b"),
            (r"'\x41\u00e9\U0001F600'", "Aé😀"),
            (r"'\101\0\60\1234'", "A\x000S4"),
            (r"'\d\.\ '", "\\d\\.\\ "),
            (r"r'\n\d'", "\\n\\d"),
            (r"R'\''", "\\'"),
            (r"u'a\n'", "a\n"),
            (r"'é{x}'", "é{x}"),
            ("'a' \"b\" r'\\c'", "ab\\c"),
            ("('a'  # one\n 'b')", "ab"),
        ] {
            assert_eq!(read(text), Some(Value::Text(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn these_are_not_literals() {
        for text in [
            "f'a'",
            "F'a'",
            "rf'a'",
            "b'a'",
            "rb'a'",
            "'a' f'b'",
            "'a' b'b'",
            r"'\x4'",
            r"'\u00e'",
            r"'\ud800'",
            r"'\U00110000'",
            r"'\N{BULLET}'",
            "name",
            "a.b",
            "f()",
            "[a]",
            "['a', *b]",
            "{'a': b}",
            "{a: 'b'}",
            "{**a}",
            "{'a'}",
            "['a' for b in c]",
            "'a' if b else 'c'",
            "-1",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn collections_hold_literals() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (source, expected) in [
            ("[]", Value::List(vec![])),
            ("()", Value::List(vec![])),
            ("('a',)", Value::List(vec![text("a")])),
            ("[\n 'a',  # why\n ('b'), 1.5, None, True]", {
                Value::List(vec![text("a"), text("b"), Value::Other, Value::None, Value::Other])
            }),
            ("{'a': ['b'], 1: 2}", {
                Value::Map(vec![(text("a"), Value::List(vec![text("b")])), (Value::Other, Value::Other)])
            }),
        ] {
            assert_eq!(read(source), Some(expected), "{source}");
        }
    }

    #[test]
    fn literals_may_not_nest_without_bounds() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&nested(DEPTH)).is_some());
        assert_eq!(read(&nested(DEPTH + 1)), None);
        assert_eq!(read(&nested(50_000)), None);
    }
}
