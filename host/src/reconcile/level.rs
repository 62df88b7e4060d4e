//! Levels of the lines that servers log.

use agentcli::api::wire::LogLevel;

/// Number of words at the start of a line in which a level may stand: after a date and a time.
const WORDS: usize = 4;

/// Returns the level that a line names, INFO if it names none: `{"level": "warning", …}`, `[warning  ]` or `WARNING:`.
pub(super) fn level(line: &str) -> LogLevel {
    let json = line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten();
    let found = match json.unwrap_or(serde_json::Value::Null).get("level") {
        Some(level) => level.as_str().and_then(known),
        None => line.split_whitespace().take(WORDS).find_map(marked),
    };
    found.unwrap_or(LogLevel::Info)
}

/// The level in a word that begins with a bracket or ends with a colon.
fn marked(word: &str) -> Option<LogLevel> {
    let name = word.strip_prefix('[').or_else(|| word.strip_suffix(':'))?;
    known(name.trim_end_matches(']'))
}

fn known(name: &str) -> Option<LogLevel> {
    Some(match name.to_ascii_lowercase().as_str() {
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warn" | "warning" => LogLevel::Warning,
        "error" | "exception" => LogLevel::Error,
        "critical" | "fatal" => LogLevel::Critical,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_level_that_it_names() {
        for (line, expected) in [
            ("2026-11-20T10:00:00.000000Z [info     ] Starting [langgraph]", LogLevel::Info),
            ("2026-11-20T10:00:00.000000Z [warning  ] Slow [langgraph]", LogLevel::Warning),
            ("2026-11-20 10:00:00 [error] Failed", LogLevel::Error),
            ("CRITICAL:    out of memory", LogLevel::Critical),
            (r#"{"event": "Slow", "level": "warn", "logger": "uvicorn"}"#, LogLevel::Warning),
            (r#"{"event": "error: none"}"#, LogLevel::Info),
            (r#"{"level": 50}"#, LogLevel::Info),
            ("an error of the user was answered with a warning", LogLevel::Info),
            ("one two three four ERROR: five", LogLevel::Info),
            ("{not json} DEBUG: x", LogLevel::Debug),
            ("", LogLevel::Info),
        ] {
            assert_eq!(level(line), expected, "{line}");
        }
    }
}
