//! Differences between compose and the server's own launcher in reading a `.env` file. `tests/compose` compares this
//! module with compose.

use super::{Reader, Statement, end, is_blank, is_space, statements, variable, with_newlines};

/// A statement that compose reads differently or rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line that it starts on, from 1.
    pub line: usize,
    /// The behaviour of compose, as a lowercase fragment.
    pub why: &'static str,
}

/// All such statements, in the order of the file.
pub fn differences(text: &str) -> Vec<Difference> {
    let mut found = Vec::new();
    statements(&with_newlines(text), |line, text, statement| {
        let why = match statement {
            None => Some("does not take it, and refuses the file"),
            Some(Statement { name: None, .. }) => None,
            Some(Statement { value: None, .. }) => Some("takes the value from where it runs"),
            Some(Statement { value: Some(_), .. }) => difference(text),
        };
        found.extend(why.map(|why| Difference { line, why }));
    });
    found
}

/// The difference in an assignment.
fn difference(text: &str) -> Option<&'static str> {
    let mut reader = Reader { rest: text };
    reader.skip_export();
    let (name, value) = reader.rest.split_once('=')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if !name.trim_end_matches(is_blank).chars().all(is_word) {
        return Some("does not take the name, and refuses the file");
    }
    let is_apart = value.starts_with(is_blank);
    let value = value.trim_start_matches(is_blank);
    match value.chars().next() {
        Some('#') if is_apart => Some("takes the comment for the value"),
        Some('\'') => in_single_quotes(value),
        Some('"') => in_double_quotes(value),
        _ => unquoted(value),
    }
}

fn in_single_quotes(value: &str) -> Option<&'static str> {
    if value.contains("${") {
        Some("replaces nothing in single quotes")
    } else if value.contains(r"\\") {
        Some("keeps both of two backslashes in single quotes")
    } else {
        None
    }
}

fn in_double_quotes(value: &str) -> Option<&'static str> {
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.next() == Some('\'') {
            return Some("keeps the backslash of \\' in double quotes");
        }
    }
    dollars(value)
}

fn unquoted(value: &str) -> Option<&'static str> {
    let value = &value[..end(value, |c| c == '\n')];
    let mut comments =
        value.match_indices('#').map(|(at, _)| &value[..at]).filter(|it| it.ends_with(is_space));
    match comments.next() {
        Some(before) if !before.ends_with(' ') => Some("takes the comment for a part of the value"),
        Some(before) => dollars(before),
        None => dollars(value),
    }
}

/// The difference in the `$` of a text.
fn dollars(text: &str) -> Option<&'static str> {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.match_indices('$').find_map(|(at, _)| {
        let after = &text[at + 1..];
        if text[..at].ends_with('\\') {
            Some("takes the backslash before `$` for an escape")
        } else if after.starts_with('$') {
            Some("reads `$$` as one `$`")
        } else if after.starts_with(is_letter) {
            Some("replaces `$NAME` too, not `${NAME}` alone")
        } else if after.starts_with('{') && !is_alike(&text[at..]) {
            Some("reads `${…}` in another way")
        } else {
            None
        }
    })
}

/// Whether both read the variable at the start of `text` alike.
fn is_alike(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    variable(text).is_some_and(|it| {
        it.name.starts_with(is_letter)
            && it.name.chars().all(is_word)
            && !it.default.contains(['$', '{', '\\', '"', '\''])
    })
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_is_read_in_another_way_is_told() {
        for (text, lines) in [
            ("A=1\nB='$x'\nC=\"a\\n\"\nD=${A}${B:-x y}\n# $x\nE=$1$(x)$", &[][..]),
            ("A=1\nB=p$w0rd\n\nC=$$", &[2, 4]),
            ("A='${B}'\nB=\"\\$x\"\nC=\"it\\'s\"\nD='\\\\'", &[1, 2, 3, 4]),
            ("A= # c\nB=x\t# c\nC=x # $c", &[1, 2]),
            ("A\n'B'=1\nC D\nE:F=1\n=1", &[1, 2, 3, 4, 5]),
            ("A=${B-x}\nA=${B:?x}\nA=${B:-$C}", &[1, 2, 3]),
            ("A=\"x\ny\"\nB=$x", &[3]),
        ] {
            let found: Vec<usize> = differences(text).iter().map(|difference| difference.line).collect();
            assert_eq!(found, lines, "{text:?}");
        }
    }
}
