//! Go's regular expressions, as they come out of patterns, in the syntax of the `regex` crate.
//!
//! The two agree except in bracket classes, where the crate knows more operators, and in escapes, which the crate matches
//! against Unicode.

use regex::Regex;

/// Names in `[[:name:]]`, which both know.
const NAMED: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Compiles `expression`, which is to match a whole path; `Err` says why Go refuses it (as do we in a few cases that no
/// path needs).
pub(super) fn compile(expression: &str) -> Result<Regex, String> {
    let mut translated = String::from(r"\A");
    let mut rest = expression;
    let mut end = r"\z";
    while let Some(letter) = take(&mut rest) {
        match letter {
            '[' => class(&mut rest, &mut translated)?,
            '\\' => match take(&mut rest) {
                Some(anchor @ ('A' | 'z')) => translated.extend(['\\', anchor]),
                Some(boundary @ ('b' | 'B')) => translated.push_str(&format!("(?-u:\\{boundary})")),
                Some(letter) => translated.push_str(&format!("[{}]", escape(letter)?)),
                // Docker ends the expression with a `$`, which this escapes.
                None => {
                    translated.push_str(r"\$");
                    end = "";
                }
            },
            // Only patterns' own `**/` becomes a group.
            '(' => translated.push_str("(?:"),
            '^' | '.' | '*' | ')' | '?' => translated.push(letter),
            letter => translated.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4]))),
        }
    }
    translated.push_str(end);
    Regex::new(&translated).map_err(|_| "the regular expression that it becomes is invalid".to_owned())
}

/// Translates the class whose `[` was taken.
fn class(rest: &mut &str, translated: &mut String) -> Result<(), String> {
    translated.push('[');
    if let Some(inner) = rest.strip_prefix('^') {
        *rest = inner;
        translated.push('^');
    }
    let mut is_empty = true;
    loop {
        if let Some(after) = rest.strip_prefix(']').filter(|_| !is_empty) {
            *rest = after;
            translated.push(']');
            return Ok(());
        }
        is_empty = false;
        if let Some((name, after)) = rest.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) {
            if !NAMED.contains(&name.trim_start_matches('^')) {
                return Err(format!("`[:{name}:]` is not a class of characters"));
            }
            translated.push_str(&format!("[:{name}:]"));
            *rest = after;
            continue;
        }
        let low = member(rest)?;
        translated.push_str(&low);
        if rest.starts_with('-') && !rest.starts_with("-]") {
            *rest = &rest[1..];
            let high = member(rest)?;
            if [&low, &high].iter().any(|it| it.starts_with('[')) {
                return Err("a range in brackets needs a character at each end".to_owned());
            }
            translated.push('-');
            translated.push_str(&high);
        }
    }
}

/// One member of a class.
fn member(rest: &mut &str) -> Result<String, String> {
    match take(rest).ok_or("a `[` is not closed")? {
        '\\' => escape(take(rest).ok_or("nothing follows a `\\`")?),
        letter => Ok(literal(letter)),
    }
}

/// The member of a class that `\` and `letter` stand for.
fn escape(letter: char) -> Result<String, String> {
    Ok(match letter {
        'd' => "[0-9]".to_owned(),
        'D' => "[^0-9]".to_owned(),
        's' => r"[\t\n\x0c\r ]".to_owned(),
        'S' => r"[^\t\n\x0c\r ]".to_owned(),
        'w' => "[0-9A-Za-z_]".to_owned(),
        'W' => "[^0-9A-Za-z_]".to_owned(),
        'a' | 'f' | 'n' | 'r' | 't' | 'v' => format!("\\{letter}"),
        letter if letter.is_ascii() && !letter.is_ascii_alphanumeric() => literal(letter),
        letter => return Err(format!("`\\{letter}` has no meaning; directories are separated by `/`")),
    })
}

/// `letter` as itself in a class.
fn literal(letter: char) -> String {
    format!(r"\x{{{:x}}}", u32::from(letter))
}

fn take(rest: &mut &str) -> Option<char> {
    let letter = rest.chars().next()?;
    *rest = &rest[letter.len_utf8()..];
    Some(letter)
}
