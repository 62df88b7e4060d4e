//! The place in the user's source that caused a crash, found in the last lines of the server.

use std::path::Path;

use super::HOME;

/// Number of last lines that are shown where nothing is known of the cause.
const LAST_LINES: usize = 12;

/// The cause of a crash.
struct Cause {
    /// `file:line: reason`, of the innermost place in the project.
    text: String,
    /// The lines about it.
    lines: Vec<String>,
}

/// The cause that the lines name, and the lines about it: of the place in `directory`, or else the last exception and the last
/// lines.
pub(super) fn explained(lines: &[String], directory: &Path) -> (Option<String>, Vec<String>) {
    match cause(lines, directory) {
        Some(cause) => (Some(cause.text), cause.lines),
        None => (last_exception(lines), last(lines)),
    }
}

/// The cause of a crash that the lines name, on one line: `file:line: reason` of a place in `directory`, or else the last
/// exception. Fields that a logger has added to the end of a line are left out.
pub fn crash_cause(lines: &[String], directory: &Path) -> Option<String> {
    let lines: Vec<String> = lines.iter().map(|line| without_fields(line).to_owned()).collect();
    explained(&lines, directory).0
}

/// A line without the fields of a logger at its end: `[uvicorn.error] api_variant=local`.
fn without_fields(line: &str) -> &str {
    let is_logger = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.' | '0'..='9'))
    };
    let is_end = |at: &usize| {
        let rest = line[at + 2..].split_once(']');
        rest.is_some_and(|(name, rest)| {
            is_logger(name) && rest.split_whitespace().all(|field| field.contains('='))
        })
    };
    let mut starts = line.match_indices(" [").map(|(at, _)| at);
    starts.find(is_end).map_or(line, |at| line[..at].trim_end())
}

/// The last lines that are shown.
pub(super) fn last(lines: &[String]) -> Vec<String> {
    lines[lines.len().saturating_sub(LAST_LINES)..].to_vec()
}

/// The innermost place in `directory` that the lines name, and the exception raised there.
fn cause(lines: &[String], directory: &Path) -> Option<Cause> {
    python(lines, directory).or_else(|| javascript(lines, directory))
}

/// The exception that the server ended with, where no place in the project caused it.
fn last_exception(lines: &[String]) -> Option<String> {
    lines.iter().rev().find_map(|line| exception(line)).map(str::to_owned)
}

/// The last traceback ends with the innermost place and the exception.
fn python(lines: &[String], directory: &Path) -> Option<Cause> {
    let found = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, place(line, directory)?)));
    let (at, place) = found?;
    // The first exception after the place was raised there; later ones may be its consequences.
    let behind = lines[at..].iter().position(|line| exception(line).is_some());
    let what = behind.and_then(|behind| exception(&lines[at + behind]));
    let text = what.map_or_else(|| place.clone(), |what| format!("{place}: {what}"));
    // Not the frames of packages below it.
    let frame = lines[at + 1..].iter().take(behind.unwrap_or(0).saturating_sub(1));
    let frame = frame.take_while(|line| !line.trim_start().starts_with("File \""));
    let last = behind.filter(|behind| *behind > 0).map(|behind| &lines[at + behind]);
    Some(Cause { text, lines: [&lines[at]].into_iter().chain(frame).chain(last).cloned().collect() })
}

/// The error comes first, then the innermost place.
fn javascript(lines: &[String], directory: &Path) -> Option<Cause> {
    let (at, what) = lines.iter().enumerate().find_map(|(at, line)| Some((at, exception(line)?)))?;
    let mut places = lines.iter().enumerate().skip(at);
    let found = places.find_map(|(end, line)| Some((end, javascript_place(line, directory)?)));
    let (end, (place, rest)) = found?;
    // A compiler prints its message after the place.
    let what = rest.strip_prefix(": ERROR: ").unwrap_or(what);
    Some(Cause { text: format!("{place}: {what}"), lines: lines[at..=end].to_vec() })
}

/// `file:line` of a line that names a file of the project, and what follows it.
fn javascript_place<'a>(line: &'a str, directory: &Path) -> Option<(String, &'a str)> {
    let (_, own) = line.split_once(&format!("{}/", directory.display()))?;
    let is_foreign = own.starts_with(HOME) || own.contains("node_modules/") || own.contains("site-packages/");
    let end = own.find([':', ')', ' ', '\'', '"']).unwrap_or(own.len());
    let (file, rest) = own.split_at(end);
    let numbers = |c: char| c == ':' || c.is_ascii_digit();
    let place = rest.split(|c| !numbers(c)).next().unwrap_or_default().trim_end_matches(':');
    let number = place.split(':').nth(1).map_or_else(String::new, |line| format!(":{line}"));
    (!is_foreign).then(|| (format!("{file}{number}"), &rest[place.len()..]))
}

/// A line without terminal escapes.
pub(super) fn plain(line: &str) -> String {
    anstream::adapter::strip_str(line).to_string()
}

/// `file:line` of a line like `File "/project/graph.py", line 3, in <module>`.
fn place(line: &str, directory: &Path) -> Option<String> {
    let (_, rest) = line.split_once("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let own = Path::new(file).strip_prefix(directory).ok()?;
    let is_installed = own.components().any(|part| part.as_os_str() == "site-packages");
    (!is_installed).then(|| format!("{}:{number}", own.display()))
}

/// A line like `ModuleNotFoundError: No module named 'x'` or `Error [ERR_MODULE_NOT_FOUND]: Cannot find …`.
fn exception(line: &str) -> Option<&str> {
    let name = line.split(':').next().unwrap_or_default();
    let name = name.split(" [ERR_").next().unwrap_or_default();
    let is_name = name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_uppercase()));
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let is_error =
        ["Error", "Exception", "Exit", "Interrupt", "Warning"].iter().any(|end| name.ends_with(end));
    (is_name && is_plain && is_error).then_some(line.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_logger_are_no_part_of_the_cause() {
        let lines = r#"Traceback (most recent call last):
  File "/api/server.py", line 9, in load
  File "/deps/app/src/graph.py", line 26, in <module>
    KEY = os.environ["SHOP_KEY"]
KeyError: 'SHOP_KEY'           [uvicorn.error] api_variant=local thread_name=MainThread"#;
        let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
        let cause = crash_cause(&lines, Path::new("/deps/app"));
        assert_eq!(cause.as_deref(), Some("src/graph.py:26: KeyError: 'SHOP_KEY'"));
        assert_eq!(without_fields("KeyError: a [b] c"), "KeyError: a [b] c");
        assert_eq!(without_fields("ImportError: cannot import [x.y]"), "ImportError: cannot import");
    }

    #[test]
    fn the_innermost_place_in_the_project_is_the_cause() {
        let lines: Vec<String> = r#"Traceback (most recent call last):
  File "/p/.agentcli/python/lib/python3.11/site-packages/x.py", line 9, in load
  File "/p/src/graph.py", line 3, in <module>
    import nothing
  File "/usr/lib/python3.11/importlib/__init__.py", line 126, in import_module
ModuleNotFoundError: No module named 'nothing'

The above exception was the direct cause of the following exception:

server.GraphLoadError: Failed to load
Application startup failed. Exiting."#
            .lines()
            .map(str::to_owned)
            .collect();
        let found = cause(&lines, Path::new("/p")).unwrap();
        assert_eq!(found.text, "src/graph.py:3: ModuleNotFoundError: No module named 'nothing'");
        assert_eq!(found.lines.len(), 3);
        assert!(cause(&lines, Path::new("/elsewhere")).is_none());
        assert_eq!(last_exception(&lines).as_deref(), Some("server.GraphLoadError: Failed to load"));
        assert_eq!(last_exception(&["Application startup failed. Exiting.".to_owned()]), None);
    }

    #[test]
    fn places_in_javascript_are_found() {
        let told = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            cause(&lines, Path::new("/p")).map(|cause| cause.text)
        };
        let syntax = "TransformError: Transform failed with 1 error:\n\
                      /p/src/graph.ts:10:10: ERROR: Unexpected \"=\"\n    \
                      at failure (/p/.agentcli/node/node_modules/esbuild/lib/main.js:1:2)";
        assert_eq!(told(syntax).as_deref(), Some("src/graph.ts:10: Unexpected \"=\""));
        let thrown = "Error: boom\n    at f (/p/node_modules/a/b.js:1:2)\n    \
                      at async file:///p/src/graph.ts:10:7\n    at run (node:internal/x:1:2)";
        assert_eq!(told(thrown).as_deref(), Some("src/graph.ts:10: Error: boom"));
        let missing =
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nothing' imported from /p/src/graph.ts";
        assert_eq!(told(missing), Some(format!("src/graph.ts: {missing}")));
        assert_eq!(told("Error: graph is nullush"), None);
    }

    #[test]
    fn colours_are_removed() {
        assert_eq!(plain("\u{1b}[31merror\u{1b}[39m: \u{1b}[2m▪"), "error: ▪");
    }
}
