//! Frames with carets, the way compilers show them.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Level, Origin, Renderer, Snippet};

use super::Location;
use crate::cli::console::{is_invisible, visible, visible_line, wrap};
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::source::Source;
use crate::compiler::secrecy::urls;
use crate::diagnostic::{Place, Related, Severity};

/// Indentation of a help text, with room for line numbers of three digits.
const HELP_INDENT: usize = 12;

/// Of a long line, this many times the width of the terminal is kept on each side of the marked part.
const AROUND: usize = 3;

/// The style of the frames.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Whether to write colours.
    pub is_coloured: bool,
    /// Columns.
    pub width: usize,
    /// Whether to leave out the place in the configuration of a mistake in another file.
    pub is_brief: bool,
}

/// One frame per finding, each followed by an empty line; nothing for files without findings.
pub fn render(checked: &[Checked], layout: Layout) -> String {
    let renderer = if layout.is_coloured { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(layout.width);
    let frames = |file: &Checked| -> String {
        let mut line = Line { source: &file.source, start: usize::MAX, text: String::new() };
        let frame = |finding: &Finding| frame(&renderer, layout, &mut line, finding) + "\n\n";
        file.findings.iter().map(frame).collect()
    };
    checked.iter().map(frames).collect()
}

fn frame(renderer: &Renderer, layout: Layout, line: &mut Line<'_>, finding: &Finding) -> String {
    let width = layout.width;
    let source = line.source;
    let diagnostic = &finding.diagnostic;
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let code = diagnostic.rule.code;
    let indent = diagnostic.severity.word().len() + code.len() + "[]: ".len();
    let message = wrap(&visible_line(&diagnostic.message), width.saturating_sub(indent));
    let title_lines = message.lines().count();
    let title = level.primary_title(message).id(code);
    let help = diagnostic
        .help
        .iter()
        .map(|help| Level::HELP.message(wrap(&visible(help), width.saturating_sub(HELP_INDENT))));
    let mut parts: Vec<Part<'_>> =
        diagnostic.related.iter().map(|place| Part::related(source, place, width)).collect();
    let whole = match diagnostic.place {
        Place::Option(option) => Some(option),
        Place::File => Some(&*source.name),
        _ => Some(&*source.name).filter(|_| source.text.trim().is_empty()),
    };
    if let Some(name) = whole {
        let origin = Origin::path(visible_line(name));
        let snippets = parts.iter().map(|part| part.snippet(AnnotationKind::Context));
        let group = title.element(origin).elements(snippets).elements(help);
        return aligned(&renderer.render(&[group]), title_lines);
    }
    let configured = Part::configured(line, &finding.span, None, width);
    let at = if diagnostic.is_elsewhere { parts.len() } else { 0 };
    if at == 0 || !layout.is_brief {
        parts.insert(at, configured);
    }
    for span in &finding.others {
        let other = Part::configured(line, span, Some("here, too"), width);
        match parts.last_mut().filter(|last| last.shows_line_of(&other)) {
            Some(last) => last.others.push(other.excerpt),
            None => parts.push(other),
        }
    }
    let kinds = std::iter::once(AnnotationKind::Primary).chain(std::iter::repeat(AnnotationKind::Context));
    let snippets = parts.iter().zip(kinds).map(|(part, kind)| part.snippet(kind));
    let frame = renderer.render(&[title.elements(snippets).elements(help)]);
    parts.iter().fold(frame, |frame, part| part.with_column(frame, title_lines))
}

/// An excerpt of one file, with its position there.
struct Part<'a> {
    name: String,
    line: usize,
    column: usize,
    excerpt: Excerpt,
    label: Option<&'a str>,
    /// The same line, with other parts marked.
    others: Vec<Excerpt>,
}

impl<'a> Part<'a> {
    /// The first line of a part of the configuration.
    fn configured(line: &mut Line<'_>, span: &Range<usize>, label: Option<&'a str>, width: usize) -> Self {
        let source = line.source;
        let at = source.text.floor_char_boundary(span.start);
        let start = line.move_to(at);
        let excerpt = Excerpt::of(&line.text, at - start..span.end.max(at) - start, width);
        let position = source.position(at);
        let name = visible_line(&source.name);
        Self { name, line: position.line, column: position.column, excerpt, label, others: Vec::new() }
    }

    fn related(source: &Source, place: &'a Related, width: usize) -> Self {
        let Location { file, start, label, .. } = Location::related(source, place);
        Self {
            name: visible_line(&file),
            line: start.0,
            column: start.1,
            excerpt: Excerpt::of(&urls::masked(&place.text), place.range.clone(), width),
            label: Some(label),
            others: Vec::new(),
        }
    }

    fn snippet(&self, kind: AnnotationKind) -> Snippet<'_, Annotation<'_>> {
        let Excerpt { line, start, end } = &self.excerpt;
        let label = self.label.map(visible_line);
        let annotation = kind.span(*start..*end).label(label);
        let others = self.others.iter().map(|it| AnnotationKind::Context.span(it.start..it.end));
        let snippet = Snippet::source(line).path(&self.name).line_start(self.line);
        snippet.annotation(annotation).annotations(others)
    }

    /// Whether both are parts of the same line, and show as much of it.
    fn shows_line_of(&self, other: &Self) -> bool {
        (&self.name, self.line, &self.excerpt.line) == (&other.name, other.line, &other.excerpt.line)
    }

    /// `frame` with the right column: the renderer counts in the part of the line that is kept.
    fn with_column(&self, frame: String, title_lines: usize) -> String {
        let counted = self.excerpt.line[..self.excerpt.start].chars().count() + 1;
        if counted == self.column {
            return frame;
        }
        let position = |column: usize| format!("{}:{}:{column}", self.name, self.line);
        let (counted, right) = (position(counted), position(self.column));
        let lines = frame.lines().enumerate().map(|(index, line)| {
            if line.ends_with(&counted) && index >= title_lines {
                line.replace(&counted, &right)
            } else {
                line.to_owned()
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The line of the last frame, masked: the next finding is often on the same one.
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
            self.text = self.source.line(start).into_owned();
            self.start = start;
        }
        start
    }
}

/// Indents the arrow of a frame without a line number to where it is in every other frame.
fn aligned(frame: &str, title_lines: usize) -> String {
    let lines = frame.lines().enumerate();
    let lines =
        lines.map(|(index, line)| if index < title_lines { line.to_owned() } else { format!(" {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// The part of a line to show, without invisible characters, and the byte range in it to mark.
struct Excerpt {
    line: String,
    start: usize,
    end: usize,
}

impl Excerpt {
    /// The surroundings of `meant` in `line`. Of a value over several lines only the first is marked.
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
