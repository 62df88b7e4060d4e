//! Licences, as packages state them.

/// A stated licence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Licence {
    /// An SPDX expression.
    Expression(String),
    /// Another name.
    Name(String),
}

/// Longest name; longer texts are the licence itself.
const MAX_NAME: usize = 100;

impl Licence {
    /// The licence in a field whose values are SPDX expressions.
    pub(super) fn expression(text: &str) -> Option<Self> {
        let text = text.trim();
        if is_expression(text) { Some(Self::Expression(text.to_owned())) } else { Self::name(text) }
    }

    /// The licence in a field of free text.
    pub(super) fn name(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_name = !text.is_empty()
            && text.chars().count() <= MAX_NAME
            && !text.contains(char::is_control)
            && !text.eq_ignore_ascii_case("unknown");
        is_name.then(|| Self::Name(text.to_owned()))
    }
}

/// Whether a text has the form of an SPDX expression.
fn is_expression(text: &str) -> bool {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let (mut depth, mut wants_name) = (0, true);
    for word in spaced.split_whitespace() {
        match word {
            "(" if wants_name => depth += 1,
            ")" if !wants_name && depth > 0 => depth -= 1,
            "AND" | "OR" | "WITH" if !wants_name => wants_name = true,
            // The words of npm and of old Python tools for none.
            "UNLICENSED" | "UNKNOWN" => return false,
            name if wants_name && is_identifier(name) => wants_name = false,
            _ => return false,
        }
    }
    depth == 0 && !wants_name
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c))
        && !matches!(name, "AND" | "OR" | "WITH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_and_names() {
        for text in ["MIT", "(MIT OR Apache-2.0)", "GPL-2.0+ WITH Classpath-exception-2.0 AND (A OR (B))"] {
            assert_eq!(Licence::expression(text), Some(Licence::Expression(text.to_owned())));
        }
        for text in
            ["SEE LICENSE IN x", "UNLICENSED", "MIT OR", "(MIT", "MIT)", "MIT/X11", "AND", "MIT Apache"]
        {
            assert_eq!(Licence::expression(text), Some(Licence::Name(text.to_owned())));
        }
        for text in ["", " ", "UNKNOWN", "a\nb", &"a ".repeat(60)] {
            assert_eq!(Licence::expression(text), None);
        }
    }
}
