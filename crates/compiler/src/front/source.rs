//! The text of a configuration file, and its lines and columns.

use std::borrow::Cow;
use std::ops::Range;

/// A file and its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path as the user named it, for reports.
    pub name: String,
    /// The unchanged text.
    pub text: String,
    /// The start of each line.
    lines: Vec<usize>,
    /// The number of characters before each multiple of [`STRIDE`] bytes.
    characters: Vec<usize>,
    /// Byte ranges to mask, sorted and disjoint.
    secrets: Vec<Range<usize>>,
}

/// Bytes between stored counts, which bounds the cost of a column: a file may be one line with many findings.
const STRIDE: usize = 1024;

/// A line and a column.
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
        let mut characters = vec![0];
        let (mut start, mut count) = (0, 0);
        for stride in (STRIDE..=text.len()).step_by(STRIDE) {
            let end = text.floor_char_boundary(stride);
            count += columns(&text[start..end]);
            characters.push(count);
            start = end;
        }
        Self { name: name.into(), text, lines, characters, secrets: Vec::new() }
    }

    /// Masks these byte ranges wherever the text is shown.
    pub fn hide(&mut self, secrets: &[Range<usize>]) {
        self.secrets = secrets.to_vec();
        self.secrets.sort_by_key(|secret| secret.start);
        self.secrets.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            last.end = if touches { last.end.max(next.end) } else { last.end };
            touches
        });
    }

    /// The start of the line with the byte at `offset`.
    pub fn line_start(&self, offset: usize) -> usize {
        self.lines[self.line_index(offset)]
    }

    /// The line that starts at `start`, with masked ranges as stars of the same length.
    pub fn line(&self, start: usize) -> Cow<'_, str> {
        let mut line = Cow::Borrowed(self.text[start..].lines().next().unwrap_or_default());
        let end = start + line.len();
        let first = self.secrets.partition_point(|secret| secret.end <= start);
        for secret in self.secrets[first..].iter().take_while(|secret| secret.start < end) {
            let range = secret.start.max(start) - start..secret.end.min(end) - start;
            let mask = "*".repeat(range.len());
            line.to_mut().replace_range(range, &mask);
        }
        line
    }

    /// The whole text, with the characters of masked ranges as stars.
    pub fn shown(&self) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for secret in &self.secrets {
            let end = secret.end.min(self.text.len());
            let start = secret.start.clamp(at, end);
            shown.push_str(&self.text[at..start]);
            let mask = |c| if matches!(c, '\n' | '\r') { c } else { '*' };
            shown.extend(self.text[start..end].chars().map(mask));
            at = end;
        }
        shown + &self.text[at..]
    }

    /// The line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_index(offset);
        let column = self.characters_before(offset) - self.characters_before(self.lines[line]) + 1;
        Position { line: line + 1, column }
    }

    /// The line of an offset, from 0.
    fn line_index(&self, offset: usize) -> usize {
        self.lines.partition_point(|&start| start <= offset) - 1
    }

    /// The number of characters before `offset`, which is a character boundary.
    fn characters_before(&self, offset: usize) -> usize {
        let strides = offset / STRIDE;
        self.characters[strides]
            + columns(&self.text[self.text.floor_char_boundary(strides * STRIDE)..offset])
    }

    /// The first and the past-the-end position of a byte range.
    pub fn positions(&self, span: &Range<usize>) -> (Position, Position) {
        (self.position(span.start), self.position(span.end))
    }
}

/// The number of columns of `text`.
fn columns(text: &str) -> usize {
    text.chars().filter(|&c| c != '\u{feff}').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_exact_in_long_lines() {
        for unit in ["a", "ä", "日本", "\u{feff}x", "😀\n"] {
            let source = Source::new("a", unit.repeat(2000));
            for (offset, _) in source.text.char_indices().chain([(source.text.len(), ' ')]) {
                let before = &source.text[..offset];
                let line = before.rsplit('\n').next().unwrap_or_default();
                let wanted = Position { line: before.matches('\n').count() + 1, column: columns(line) + 1 };
                assert_eq!(source.position(offset), wanted, "{unit} {offset}");
            }
        }
    }

    #[test]
    fn overlapping_masks_are_merged() {
        let mut source = Source::new("a", "0123\n56789");
        source.hide(&[7..10, 1..2, 8..9, 3..6]);
        assert_eq!((&*source.line(0), &*source.line(5)), ("0*2*", "*6***"));
    }

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
