//! Quoting, for each place in a Dockerfile.

/// Characters that need no quotes anywhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./@+-:=,%".contains(c)
}

/// A word of a POSIX shell, on one line of a Dockerfile. Line ends at its end are lost: no path has them, and to a requirement
/// they mean nothing.
pub(super) fn shell(word: &str) -> String {
    let is_assignment =
        word.find('=').is_some_and(|at| word[..at].chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    if !word.is_empty() && !is_assignment && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if is_line(word) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let octal: String = word.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("\"$(printf '{octal}')\"")
}

/// A command for a POSIX shell, on one line of a Dockerfile.
pub(super) fn shell_line(command: &str) -> String {
    let is_flag = command.starts_with(['[', '#', '-']);
    if is_line(command) && !is_flag && command.trim() == command {
        command.to_owned()
    } else {
        format!("sh -c {}", shell(command))
    }
}

/// Whether the frontend passes this part of a line to the shell unchanged: it is no here-document, and nothing continues it.
fn is_line(text: &str) -> bool {
    !text.chars().any(char::is_control) && !text.ends_with('\\') && !text.contains("<<")
}

/// The words of a shell command with their quotes and substitutions. Those within quotes stay together.
pub(super) fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut quote = None;
    let mut depth = 0;
    let mut letters = command.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => drop(letters.next()),
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if letter == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) => depth -= 1,
            (' ', None) if depth <= 0 => {
                words.push(&command[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[start..]);
    words.retain(|word| !word.is_empty());
    words
}

/// A value of ENV: in single quotes, where nothing has to be escaped, if it needs quotes and has none.
pub(super) fn variable(value: &str) -> String {
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    let is_readable = !value.contains(['\'', '\\']) && !value.chars().any(char::is_control);
    if is_readable { format!("'{value}'") } else { always_expanded(value) }
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{shell, shell_line, words};

    /// What breaks words, one way or the other.
    const NASTY: &[&str] = &[
        "'",
        "\"",
        "\\",
        "$HOME",
        "$(id)",
        "`id`",
        "<<EOF",
        "1<<E",
        "#",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\\\n",
        "&&",
        ";",
        "|",
        "*",
        "?",
        "[",
        "{a,b}",
        "(",
        ")",
        "!",
        "~",
        "-",
        "--",
        "=",
        "A=b",
        "%",
        "%s",
        "\\n",
        "a",
        "b c",
        "\nRUN x\n",
        "ü",
        "\u{85}",
        "\u{2028}",
        "\u{1b}[31m",
    ];

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            6 => prop::sample::select(NASTY).prop_map(str::to_owned),
            1 => any::<char>().prop_filter("no NUL", |c| *c != '\0').prop_map(String::from),
        ];
        vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    /// The arguments that `sh` hands to a program.
    fn arguments(line: &str) -> Vec<String> {
        let script = format!("f() {{ for it in \"$@\"; do printf '%s\\0' \"$it\"; done; }}; f {line}");
        let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn words_arrive_as_written(all in vec(nasty(), 1..4)) {
            let line = all.iter().map(|word| shell(word)).collect::<Vec<_>>().join(" ");
            prop_assert!(!line.chars().any(char::is_control), "{line}");
            let kept: Vec<&str> = all.iter().map(|word| word.trim_end_matches('\n')).collect();
            prop_assert_eq!(arguments(&line), kept);
            // A line may be wrapped between words, and only there.
            prop_assert_eq!(words(&line).len(), all.len(), "{}", line);
            prop_assert!(words(&line).iter().all(|word| !word.starts_with(['#', '[']) && !word.ends_with('\\')), "{line}");
        }

        #[test]
        fn commands_stay_one_line(command in nasty()) {
            let line = shell_line(&command);
            prop_assert!(!line.chars().any(char::is_control) && !line.ends_with('\\') && !line.contains("<<"), "{line}");
            if line != command {
                let wanted = ["sh", "-c", command.trim_end_matches('\n')].map(str::to_owned);
                prop_assert_eq!(arguments(&line), wanted);
            }
        }
    }
}
