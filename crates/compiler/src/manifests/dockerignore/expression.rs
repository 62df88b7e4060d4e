//! Go's regular expressions, as they come out of patterns, in the syntax of `regex_lite`.
//!
//! Both know ASCII classes only. They differ in what they accept in brackets, and in `\s`.

use regex_lite::Regex;

/// Names of classes such as `[:alpha:]`.
const NAMED: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// The white space of Go; a vertical tab is none.
const SPACES: &str = r"\t\n\f\r\x20";

/// Compiles `expression` to match a whole path. The error is why Go refuses it; a few escapes that no path needs are
/// refused, too.
pub(super) fn compile(expression: &str) -> Result<Regex, String> {
    let mut translated = String::from(r"\A");
    let mut rest = expression;
    let mut end = r"\z";
    while let Some(letter) = take(&mut rest) {
        match letter {
            '[' => class(&mut rest, &mut translated)?,
            '\\' => match take(&mut rest) {
                Some(anchor @ ('A' | 'B' | 'b' | 'z')) => translated.extend(['\\', anchor]),
                Some('s') => translated.push_str(&format!("[{SPACES}]")),
                Some('S') => translated.push_str(&format!("[^{SPACES}]")),
                Some(letter) => translated.push_str(&escape(letter)?),
                // Docker ends the expression with a `$`, which this escapes.
                None => {
                    translated.push_str(r"\$");
                    end = "";
                }
            },
            // The only group is that of `**/`.
            '(' => translated.push_str("(?:"),
            '|' => return Err(refused("|", "an alternative")),
            '{' if is_repetition(rest) => return Err(refused("{", "a repetition")),
            '^' | '.' | '*' | ')' | '?' => translated.push(letter),
            letter => translated.push_str(&literal(letter)),
        }
    }
    translated.push_str(end);
    Regex::new(&translated).map_err(|_| "invalid regular expression".to_owned())
}

/// What comes out of a mistake in Docker, which its next version may mend.
fn refused(letter: &str, meaning: &str) -> String {
    format!("beside wildcards, Docker takes `{letter}` for {meaning}; write `\\{letter}` for a `{letter}`")
}

/// Whether the `{` before `rest` begins a repetition, such as `{2}`, `{2,}` or `{2,3}`.
fn is_repetition(rest: &str) -> bool {
    let inner = rest.split('}').next().filter(|inner| inner.len() < rest.len()).unwrap_or_default();
    let (low, high) = inner.split_once(',').unwrap_or((inner, ""));
    !low.is_empty() && [low, high].iter().all(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
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
            if low == SPACES || high == SPACES {
                return Err("`\\s` is not an end of a range".to_owned());
            }
            translated.push('-');
            translated.push_str(&high);
        }
    }
}

/// One member of a class.
fn member(rest: &mut &str) -> Result<String, String> {
    match take(rest).ok_or("a `[` is not closed")? {
        '\\' => match take(rest).ok_or("nothing follows a `\\`")? {
            's' => Ok(SPACES.to_owned()),
            letter => escape(letter),
        },
        letter => Ok(literal(letter)),
    }
}

/// The meaning of `\` and `letter`, in a class and outside.
fn escape(letter: char) -> Result<String, String> {
    Ok(match letter {
        'D' | 'W' | 'a' | 'd' | 'f' | 'n' | 'r' | 't' | 'v' | 'w' => format!("\\{letter}"),
        letter if letter.is_ascii() && !letter.is_ascii_alphanumeric() => literal(letter),
        letter => return Err(format!("`\\{letter}` has no meaning; directories are separated by `/`")),
    })
}

/// `letter` as itself, in a class and outside.
fn literal(letter: char) -> String {
    if letter.is_alphanumeric() { letter.to_string() } else { format!(r"\x{{{:x}}}", u32::from(letter)) }
}

fn take(rest: &mut &str) -> Option<char> {
    let letter = rest.chars().next()?;
    *rest = &rest[letter.len_utf8()..];
    Some(letter)
}
