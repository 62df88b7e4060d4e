//! Quoting, for each place in a Dockerfile.

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
