//! Tables.

use unicode_width::UnicodeWidthStr as _;

use super::console::{HEADING, paint, visible_line};
use super::env::Stream;

/// The gap between two columns.
const GAP: &str = "  ";

/// A table, its headings first; the last column is not padded.
pub(super) fn render(stream: &Stream, headings: &[&str], rows: &[Vec<String>]) -> String {
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| visible_line(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = cells.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let mut table = paint(stream, HEADING, &line(&headings, &widths)) + "\n";
    for row in &cells {
        table += &(line(row, &widths) + "\n");
    }
    table
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let padding = |cell: &str, width: usize| " ".repeat(width.saturating_sub(cell.width()));
    let padded = cells.iter().zip(widths).map(|(cell, width)| cell.clone() + &padding(cell, *width));
    padded.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let stream = Stream::new(Box::new(std::io::sink()), false);
        let rows = [vec!["日本".to_owned(), "x".to_owned()], vec!["longer".to_owned(), String::new()]];
        assert_eq!(render(&stream, &["A", "B"], &rows), "A       B\n日本    x\nlonger\n");
    }
}
