//! Frames with carets, the way compilers show them.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use crate::cli::check::{Checked, Finding};
use crate::cli::console::{is_invisible, visible, visible_line, wrap};
use crate::compiler::front::check::masked;
use crate::compiler::front::source::Source;
use crate::diagnostic::{Place, Severity};

/// What stands before a help text, with room for line numbers of three digits.
const HELP_INDENT: usize = 12;

/// So many times the width of the terminal is looked at on each side of what is meant, where a line is longer.
const AROUND: usize = 3;

/// How the frames look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colours are written.
    pub is_coloured: bool,
    /// Columns.
    pub width: usize,
}

/// One frame a finding, each followed by an empty line; nothing for files without any.
pub fn render(checked: &[Checked], look: Look) -> String {
    let renderer = if look.is_coloured { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(look.width);
    let frames = |file: &Checked| -> String {
        let mut line = Line { source: &file.source, start: usize::MAX, text: String::new() };
        let frame = |finding: &Finding| frame(&renderer, look.width, &mut line, finding) + "\n\n";
        file.findings.iter().map(frame).collect()
    };
    checked.iter().map(frames).collect()
}

fn frame(renderer: &Renderer, width: usize, line: &mut Line<'_>, finding: &Finding) -> String {
    let source = line.source;
    let diagnostic = &finding.diagnostic;
    let level = match diagnostic.rule.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let name = visible_line(&source.name);
    let code = diagnostic.rule.code;
    let indent = diagnostic.rule.severity.word().len() + code.len() + "[]: ".len();
    let message = wrap(&visible_line(&diagnostic.message), width.saturating_sub(indent));
    let title_lines = message.lines().count();
    let title = level.primary_title(message).id(code);
    let help = diagnostic
        .help
        .iter()
        .map(|help| Level::HELP.message(wrap(&visible(help), width.saturating_sub(HELP_INDENT))));
    if diagnostic.place == Place::File || source.text.trim().is_empty() {
        let frame = renderer.render(&[title.element(Origin::path(name)).elements(help)]);
        return aligned(&frame, title_lines);
    }
    let at = source.text.floor_char_boundary(finding.span.start);
    let start = line.move_to(at);
    let excerpt = Excerpt::of(&line.text, at - start..finding.span.end.max(at) - start, width);
    let position = source.position(at);
    let annotation = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
    let snippet = Snippet::source(&excerpt.line).path(name).line_start(position.line).annotation(annotation);
    let frame = renderer.render(&[title.element(snippet).elements(help)]);
    let column = excerpt.line[..excerpt.start].chars().count() + 1;
    if column == position.column { frame } else { corrected(&frame, title_lines, column, position.column) }
}

/// The renderer counts columns in what is left of the line.
fn corrected(frame: &str, title_lines: usize, counted: usize, column: usize) -> String {
    let (mark, counted) = (format!(":{column}"), format!(":{counted}"));
    let lines = frame.lines().enumerate().map(|(index, line)| match line.rfind(&counted) {
        Some(at) if index == title_lines => [&line[..at], &mark, &line[at + counted.len()..]].concat(),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The line of the last frame as it may be shown: the next finding is often on the same.
struct Line<'s> {
    source: &'s Source,
    start: usize,
    text: String,
}

impl Line<'_> {
    /// Moves to the line that holds the byte at `offset` and returns where it starts.
    fn move_to(&mut self, offset: usize) -> usize {
        let start = self.source.line_start(offset);
        if start != self.start {
            // Logs are read by many; what must not be in a configuration must not be there either.
            self.text = masked(&self.source.line(start)).into_owned();
            self.start = start;
        }
        start
    }
}

/// Without a line number the arrow would stand left of where it stands in every other frame.
fn aligned(frame: &str, title_lines: usize) -> String {
    let lines = frame.lines().enumerate();
    let lines =
        lines.map(|(index, line)| if index < title_lines { line.to_owned() } else { format!(" {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// What is shown of a line, with everything harmful replaced, and which bytes of it are meant.
struct Excerpt {
    line: String,
    start: usize,
    end: usize,
}

impl Excerpt {
    /// What stands around `meant`. Of a value over several lines, its first line; the rest adds nothing to where it
    /// stands.
    fn of(line: &str, meant: Range<usize>, width: usize) -> Self {
        let (from, to) = (line.floor_char_boundary(meant.start), line.floor_char_boundary(meant.end));
        let before = line[..from].char_indices().rev().nth(AROUND * width).map_or(0, |(at, _)| at);
        let behind = line[to..].char_indices().nth(AROUND * width).map_or(line.len(), |(at, _)| to + at);
        let mut excerpt = Self { line: String::new(), start: 0, end: 0 };
        for (offset, c) in line[before..behind].char_indices() {
            excerpt.mark(before + offset, from, to);
            match c {
                '\u{feff}' => {}
                c if c != '\t' && is_invisible(c) => excerpt.line.push('\u{fffd}'),
                c => excerpt.line.push(c),
            }
        }
        excerpt.mark(behind, from, to);
        excerpt
    }

    fn mark(&mut self, offset: usize, from: usize, to: usize) {
        if offset <= from {
            self.start = self.line.len();
        }
        if offset <= to.max(from) {
            self.end = self.line.len();
        }
    }
}
