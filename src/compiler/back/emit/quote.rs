//! Quoting, for each place in a Dockerfile or a compose file.

/// Length from which a key is explicit, in bytes: YAML allows a simple key 1,024 characters.
const MAX_SIMPLE_KEY: usize = 1024;

/// Characters that need no quotes anywhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./@+-:=,%".contains(c)
}

/// A word of a POSIX shell.
pub(super) fn shell(word: &str) -> String {
    let is_assignment =
        word.find('=').is_some_and(|at| word[..at].chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    if !word.is_empty() && !is_assignment && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word in which the Dockerfile frontend expands variables: a value of ENV, or WORKDIR.
pub(super) fn expanded(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { always_expanded(word) }
}

/// The same, always in quotes.
pub(super) fn always_expanded(word: &str) -> String {
    format!("\"{}\"", escape(word, "\\\"$"))
}

/// The arguments of COPY. Sources are patterns, and variables are expanded in all of them.
pub(super) fn copy(sources: &[String], target: &str) -> String {
    let patterns = sources.iter().map(|source| pattern(source));
    let words: Vec<String> = patterns.chain([target.to_owned()]).collect();
    if words.iter().all(|word| word.chars().all(is_plain)) {
        return words.join(" ");
    }
    let words: Vec<String> = words.iter().map(|word| json(&escape(word, "\\$\"'"))).collect();
    format!("[{}]", words.join(", "))
}

/// A JSON string.
pub(super) fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A YAML string without interpolation by compose.
pub(super) fn compose(text: &str) -> String {
    yaml(&text.replace('$', "$$"))
}

/// A YAML string.
pub(super) fn yaml(text: &str) -> String {
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

/// A key of a YAML mapping; compose does not interpolate keys. Names with `_` or `-` need no quotes, since no keyword of YAML
/// has these.
pub(super) fn yaml_key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.contains(['_', '-'])
        && name.chars().all(is_word);
    if is_plain { name.to_owned() } else { yaml(name) }
}

/// `key`, written as a key of a YAML mapping, and the colon after it. A long key is explicit: parsers do not look for the
/// colon of another one that far.
pub(super) fn before_value(key: &str, indent: usize) -> String {
    if key.len() < MAX_SIMPLE_KEY { format!("{key}:") } else { format!("? {key}\n{}:", " ".repeat(indent)) }
}

/// Text of a YAML comment, without characters that end the comment or the document.
pub(super) fn comment(text: &str) -> String {
    text.chars().filter(|c| is_yaml_text(*c)).collect()
}

/// Whether a character can be part of a YAML string. Unicode line separators are excluded, since some parsers break lines.
fn is_yaml_text(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
        || c > '\u{ffff}'
}

/// A pattern for exactly `path`.
fn pattern(path: &str) -> String {
    // Without it this would be an option, or a here-document, even in quotes.
    let start = if path.starts_with("--") || path.contains("<<") { "./" } else { "" };
    let letters = start.chars().chain(path.chars());
    letters
        .map(|c| match c {
            '*' | '?' | '[' => format!("[{c}]"),
            '\\' => r"[\\]".to_owned(),
            c => c.to_string(),
        })
        .collect()
}

fn escape(text: &str, special: &str) -> String {
    text.chars().flat_map(|c| special.contains(c).then_some('\\').into_iter().chain([c])).collect()
}
