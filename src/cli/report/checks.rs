//! The table of `doctor`.

use unicode_width::UnicodeWidthStr as _;

use crate::cli::console::{ERROR, FINE, HEADING, NOTE, WARNING, paint, visible_line, wrap};
use crate::cli::env::Stream;
use crate::doctor::{Check, Status, Task};

/// Width of the column of the status.
const STATUS: usize = "degraded".len();

const NO_BREAK_SPACE: &str = "\u{a0}";

/// Least width of the last column.
const MIN_WIDTH: usize = 30;

/// A table of `checks`, which are in the order of their groups. What is missing is an error for `required` commands only.
pub fn render(checks: &[Check], required: &[Task], stream: &Stream, width: usize) -> String {
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
        let word = check.status.word();
        let style = match check.status {
            Status::Fine => FINE,
            Status::Missing if check.is_for(required) => ERROR,
            Status::Degraded | Status::Missing => WARNING,
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

/// `text` wrapped to `width`, its lines after the first indented. Commands, which users copy, stay whole.
fn lines(text: &str, width: usize, indent: usize) -> String {
    let parts = text.split('`').enumerate().map(|(at, part)| match at % 2 {
        1 => part.replace(' ', NO_BREAK_SPACE),
        _ => part.to_owned(),
    });
    let wrapped = wrap(&parts.collect::<Vec<_>>().join("`"), width);
    wrapped.replace('\n', &format!("\n{}", " ".repeat(indent))).replace(NO_BREAK_SPACE, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Group;

    fn checks() -> Vec<Check> {
        let rows = [
            (
                "uv",
                Group::Local,
                Status::Degraded,
                "not on the PATH; pip installs it",
                "get it (`curl -sSf https://it | sh`)",
            ),
            ("venv module", Group::Local, Status::Fine, "in `/usr/bin/python3`", ""),
            (
                "Engine",
                Group::Containers,
                Status::Missing,
                "none\u{1b}[31m found",
                "install and start one, or set it",
            ),
        ];
        let check = |(name, group, status, found, help): (&str, Group, Status, &str, &str)| Check {
            id: "",
            name: name.to_owned(),
            group,
            needed_by: &[Task::Build],
            status,
            found: found.to_owned(),
            help: Some(help.to_owned()).filter(|help| !help.is_empty()),
        };
        rows.map(check).into()
    }

    #[test]
    fn long_texts_are_wrapped_in_their_column() {
        let stream = Stream::new(Box::new(std::io::sink()), false);
        let expected = "\
Server on this machine (dev)
  degraded  uv           not on the PATH; pip installs
                         it
                         help: get it
                         (`curl -sSf https://it | sh`)
  fine      venv module  in `/usr/bin/python3`

Containers (build, up, deploy)
  missing   Engine       none\\u{1b}[31m found
                         help: install and start one,
                         or set it
";
        for width in [0, 55] {
            assert_eq!(render(&checks(), &[], &stream, width), expected);
        }
    }

    #[test]
    fn colours_are_added_to_the_same_text() {
        let mut stream = Stream::new(Box::new(std::io::sink()), true);
        let plain = render(&checks(), &[], &stream, 80);
        stream.is_coloured = true;
        for required in [&[][..], &[Task::Build]] {
            let coloured = render(&checks(), required, &stream, 80);
            assert_eq!(coloured.contains(&format!("{ERROR}missing")), !required.is_empty(), "{coloured}");
            assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
        }
    }
}
