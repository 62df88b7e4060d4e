//! Where in the user's source a Python program went wrong, read from what it said last.

use std::path::Path;

/// What went wrong.
pub(super) struct Cause {
    /// `file:line: what`, of the innermost place in the project.
    pub(super) text: String,
    /// The lines that say so.
    pub(super) lines: Vec<String>,
}

/// The innermost place in `directory` that the last traceback names, and what was raised there.
pub(super) fn cause(lines: &[String], directory: &Path) -> Option<Cause> {
    let found = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, place(line, directory)?)));
    let (at, place) = found?;
    // The first behind the place is what was raised there; others may have been raised because of it.
    let behind = lines[at..].iter().position(|line| exception(line).is_some());
    let what = behind.and_then(|behind| exception(&lines[at + behind]));
    let text = what.map_or_else(|| place.clone(), |what| format!("{place}: {what}"));
    Some(Cause { text, lines: lines[at..=at + behind.unwrap_or(0)].to_vec() })
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

/// A line like `ModuleNotFoundError: No module named 'x'`.
fn exception(line: &str) -> Option<&str> {
    let name = line.split(':').next().unwrap_or_default();
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
    fn the_innermost_own_place_is_named() {
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
        assert_eq!(found.lines.len(), 4);
        assert!(cause(&lines, Path::new("/elsewhere")).is_none());
    }
}
