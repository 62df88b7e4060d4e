//! The text of one configuration file, and how its offsets become lines and columns.

use std::borrow::Cow;
use std::ops::Range;

/// One file as it was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path as the user named it; what every report prints.
    pub name: String,
    /// The text, without any change.
    pub text: String,
    lines: Vec<usize>,
    secrets: Vec<Range<usize>>,
}

/// A place in a text: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in Unicode scalar values; a byte order mark is not counted.
    pub column: usize,
}

impl Source {
    /// A source named `name`.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(newlines).collect();
        Self { name: name.into(), text, lines, secrets: Vec::new() }
    }

    /// Hides these byte ranges from everybody to whom the text is shown.
    pub fn hide(&mut self, secrets: &[Range<usize>]) {
        self.secrets = secrets.to_vec();
    }

    /// The line that starts at `start` as it may be shown: what is hidden is masked, and as long as before.
    pub fn line(&self, start: usize) -> Cow<'_, str> {
        let mut line = Cow::Borrowed(self.text[start..].lines().next().unwrap_or_default());
        let end = start + line.len();
        for secret in self.secrets.iter().filter(|secret| secret.start < end && secret.end > start) {
            let range = secret.start.max(start) - start..secret.end.min(end) - start;
            let mask = "*".repeat(range.len());
            line.to_mut().replace_range(range, &mask);
        }
        line
    }

    /// The line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|&start| start <= offset);
        let start = self.lines[line - 1];
        let column = self.text[start..offset].chars().filter(|&c| c != '\u{feff}').count() + 1;
        Position { line, column }
    }

    /// The first and the past-the-end position of a byte range.
    pub fn positions(&self, span: &Range<usize>) -> (Position, Position) {
        (self.position(span.start), self.position(span.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source::new("a.json", "{\n  \"ä\": 1\n}");
        let one = source.text.find('1').unwrap();
        assert_eq!(source.position(one), Position { line: 2, column: 8 });
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(999), Position { line: 3, column: 2 });
    }

    #[test]
    fn a_byte_order_mark_has_no_column() {
        assert_eq!(Source::new("a", "\u{feff}{").position(3), Position { line: 1, column: 1 });
    }
}
