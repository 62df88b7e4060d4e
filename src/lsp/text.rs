//! The text of a buffer, and the positions in it as the editor counts them.

use std::ops::Range;

use lsp_types::{Position, PositionEncodingKind, TextDocumentContentChangeEvent};

/// The unit of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, which every editor supports.
    #[default]
    Utf16,
}

impl Encoding {
    /// UTF-8 if the editor offers it.
    pub(super) fn choose(offered: &[PositionEncodingKind]) -> Self {
        if offered.contains(&PositionEncodingKind::UTF8) { Self::Utf8 } else { Self::Utf16 }
    }

    /// The name in the protocol.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// The columns of `text`, which is a part of one line.
    pub(super) fn columns(self, text: &str) -> u32 {
        let columns = match self {
            Self::Utf8 => text.len(),
            // A file may be one long line with many findings.
            Self::Utf16 if text.is_ascii() => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
        };
        u32::try_from(columns).unwrap_or(u32::MAX)
    }

    /// The bytes before column `column` of `line`; a column within a character is its start.
    fn bytes(self, line: &str, column: u32) -> usize {
        let mut rest = column as usize;
        for (at, c) in line.char_indices() {
            let units = match self {
                Self::Utf8 => c.len_utf8(),
                Self::Utf16 => c.len_utf16(),
            };
            if rest < units {
                return at;
            }
            rest -= units;
        }
        line.len()
    }
}

/// A text and its lines.
#[derive(Debug)]
pub(super) struct Text {
    text: String,
    /// The start of each line.
    lines: Vec<usize>,
    encoding: Encoding,
}

impl Text {
    /// `text`, with positions in `encoding`.
    pub(super) fn new(text: String, encoding: Encoding) -> Self {
        let lines = starts(&text);
        Self { text, lines, encoding }
    }

    /// The whole text.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Applies one change of the editor.
    pub(super) fn change(&mut self, change: &TextDocumentContentChangeEvent) {
        match change.range {
            None => self.text.clone_from(&change.text),
            Some(range) => {
                let start = self.offset(range.start);
                let end = self.offset(range.end).max(start);
                self.text.replace_range(start..end, &change.text);
            }
        }
        self.lines = starts(&self.text);
    }

    /// The byte at `position`; a position past the end of a line or of the text is that end.
    pub(super) fn offset(&self, position: Position) -> usize {
        let index = position.line as usize;
        let Some(&start) = self.lines.get(index) else { return self.text.len() };
        let end = self.lines.get(index + 1).map_or(self.text.len(), |&next| next);
        let line = self.text[start..end].trim_end_matches(['\n', '\r']);
        start + self.encoding.bytes(line, position.character)
    }

    /// The position of a byte.
    fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|&start| start <= offset) - 1;
        let column = self.encoding.columns(&self.text[self.lines[line]..offset]);
        Position::new(u32::try_from(line).unwrap_or(u32::MAX), column)
    }

    /// The positions of a byte range.
    pub(super) fn range(&self, span: &Range<usize>) -> lsp_types::Range {
        lsp_types::Range::new(self.position(span.start), self.position(span.end))
    }
}

/// The start of each line; a line ends with `\n`, `\r\n` or `\r`.
fn starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|&(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use lsp_types::Range;
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Encoding; 2] = [Encoding::Utf8, Encoding::Utf16];

    fn edit(start: (u32, u32), end: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        let at = |(line, column)| Position::new(line, column);
        let range = Some(Range::new(at(start), at(end)));
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    #[test]
    fn edits_count_utf16_units_or_bytes() {
        for (encoding, column) in [(Encoding::Utf16, 3), (Encoding::Utf8, 5)] {
            let mut text = Text::new("{\r\n\"😀\": 1\r\n}".to_owned(), encoding);
            text.change(&edit((1, column), (1, column + 1), "x\""));
            assert_eq!(text.as_str(), "{\r\n\"😀x\": 1\r\n}");
            text.change(&edit((1, 99), (2, 0), ""));
            assert_eq!(text.as_str(), "{\r\n\"😀x\": 1}");
            text.change(&edit((9, 9), (9, 9), "\n"));
            assert_eq!(text.as_str(), "{\r\n\"😀x\": 1}\n");
            text.change(&edit((1, 5), (0, 0), "_"));
            assert!(text.as_str().starts_with('{'), "{}", text.as_str());
        }
    }

    #[test]
    fn a_column_within_a_character_is_its_start() {
        for encoding in BOTH {
            let text = Text::new("a😀b".to_owned(), encoding);
            assert_eq!(text.offset(Position::new(0, 2)), 1);
        }
    }

    proptest! {
        #[test]
        fn positions_and_offsets_agree(text in "[a-bé日😀\\r\\n]{0,12}") {
            for encoding in BOTH {
                let text = Text::new(text.clone(), encoding);
                for (at, c) in text.as_str().char_indices() {
                    // A position between `\r` and `\n` is not part of the protocol.
                    if c != '\n' {
                        prop_assert_eq!(text.offset(text.position(at)), at);
                    }
                }
            }
        }

        #[test]
        fn no_edit_panics(text in "[a-bé😀\\r\\n]{0,12}", edits in proptest::collection::vec(
            ((0u32..5, 0u32..9), (0u32..5, 0u32..9), "[aé😀\\n]{0,3}"), 0..6,
        )) {
            for encoding in BOTH {
                let mut text = Text::new(text.clone(), encoding);
                edits.iter().for_each(|(start, end, new)| text.change(&edit(*start, *end, new)));
            }
        }
    }
}
