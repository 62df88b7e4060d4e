//! The table of `doctor`.

use unicode_width::UnicodeWidthStr as _;

use crate::cli::console::{ERROR, FINE, HEADING, NOTE, WARNING, paint, visible_line, wrap};
use crate::cli::env::Stream;
use crate::doctor::{Check, Status};

/// Width of the column of the status.
const STATUS: usize = "degraded".len();

/// Least width of the last column.
const MIN_WIDTH: usize = 30;

/// A table of `checks`, which are in the order of their groups.
pub fn render(checks: &[Check], stream: &Stream, width: usize) -> String {
    let name_width = checks.iter().map(|check| check.name.width()).max().unwrap_or_default();
    let indent = 2 + STATUS + 2 + name_width + 2;
    let last = width.saturating_sub(indent).max(MIN_WIDTH);
    let mut table = String::new();
    let mut group = None;
    for check in checks {
        if group != Some(check.group) {
            let gap = if group.is_some() { "\n" } else { "" };
            table += &format!("{gap}{}\n", paint(stream, HEADING, check.group.title()));
            group = Some(check.group);
        }
        let (word, style) = match check.status {
            Status::Fine => ("fine", FINE),
            Status::Degraded => ("degraded", WARNING),
            Status::Missing => ("missing", ERROR),
        };
        let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let found = lines(&visible_line(&check.found), last, indent);
        let status = format!("{}{}", paint(stream, style, word), pad(word, STATUS));
        table += &format!("  {status}  {}{}  {found}\n", check.name, pad(&check.name, name_width));
        if let Some(help) = &check.help {
            // The word is wrapped with the text, and coloured afterwards.
            let text = lines(&format!("help: {}", visible_line(help)), last, indent);
            table += &" ".repeat(indent);
            table += &text.replacen("help", &paint(stream, NOTE, "help"), 1);
            table.push('\n');
        }
    }
    table
}

/// `text` wrapped to `width`, its lines after the first indented.
fn lines(text: &str, width: usize, indent: usize) -> String {
    wrap(text, width).replace('\n', &format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Group;

    fn check(name: &str, group: Group, status: Status, found: &str, help: Option<&str>) -> Check {
        let (name, found, help) = (name.to_owned(), found.to_owned(), help.map(str::to_owned));
        Check { id: "", name, group, needed_by: &[], status, found, help }
    }

    fn checks() -> Vec<Check> {
        vec![
            check(
                "uv",
                Group::Local,
                Status::Degraded,
                "not on the PATH; pip installs it first",
                Some("install it"),
            ),
            check("venv module", Group::Local, Status::Fine, "in `/usr/bin/python3`", None),
            check(
                "Engine",
                Group::Containers,
                Status::Missing,
                "none\u{1b}[31m found",
                Some("install and start one, or set it"),
            ),
        ]
    }

    #[test]
    fn long_texts_are_wrapped_in_their_column() {
        let stream = Stream::new(Box::new(std::io::sink()), false);
        let expected = "\
Server on this machine (dev)
  degraded  uv           not on the PATH; pip installs
                         it first
                         help: install it
  fine      venv module  in `/usr/bin/python3`

Containers (build, up, deploy)
  missing   Engine       none\\u{1b}[31m found
                         help: install and start one,
                         or set it
";
        for width in [0, 55] {
            assert_eq!(render(&checks(), &stream, width), expected);
        }
    }

    #[test]
    fn colours_are_added_to_the_same_text() {
        let mut stream = Stream::new(Box::new(std::io::sink()), true);
        let plain = render(&checks(), &stream, 80);
        stream.is_coloured = true;
        let coloured = render(&checks(), &stream, 80);
        assert_ne!(coloured, plain);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }
}
