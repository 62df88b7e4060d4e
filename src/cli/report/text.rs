//! Frames with carets, the way compilers show them.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use crate::cli::check::{Checked, Finding};
use crate::cli::console::{is_invisible, visible, visible_line, wrap};
use crate::compiler::check::masked;
use crate::compiler::source::Source;
use crate::diagnostic::{Place, Severity};

/// What stands before a help text, with room for line numbers of three digits.
const HELP_INDENT: usize = 12;

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
    let frame =
        |file: &Checked, finding: &Finding| frame(&renderer, look.width, &file.source, finding) + "\n\n";
    let frames =
        |file: &Checked| -> String { file.findings.iter().map(|finding| frame(file, finding)).collect() };
    checked.iter().map(frames).collect()
}

fn frame(renderer: &Renderer, width: usize, source: &Source, finding: &Finding) -> String {
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
    let excerpt = Excerpt::of(source, finding);
    let annotation = AnnotationKind::Primary.span(excerpt.start..excerpt.end);
    let snippet = Snippet::source(&excerpt.line).path(name).line_start(excerpt.number).annotation(annotation);
    renderer.render(&[title.element(snippet).elements(help)])
}

/// Without a line number the arrow would stand left of where it stands in every other frame.
fn aligned(frame: &str, title_lines: usize) -> String {
    let lines = frame.lines().enumerate();
    let lines =
        lines.map(|(index, line)| if index < title_lines { line.to_owned() } else { format!(" {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// The one line that is shown, with everything harmful replaced, and which bytes of it are meant.
struct Excerpt {
    line: String,
    number: usize,
    start: usize,
    end: usize,
}

impl Excerpt {
    /// The first line of what is meant: of a value over several lines, the rest adds nothing to where it stands.
    fn of(source: &Source, finding: &Finding) -> Self {
        let text = &source.text;
        let at = text.floor_char_boundary(finding.span.start);
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        // Logs are read by many; what must not be in a configuration must not be there either.
        let line = source.line(start);
        let line = masked(&line);
        let mut excerpt = Self { line: String::new(), number: source.position(at).line, start: 0, end: 0 };
        let (from, to) = (at - start, (finding.span.end.max(at) - start).min(line.len()));
        for (offset, c) in line.char_indices() {
            excerpt.mark(offset, from, to);
            match c {
                '\u{feff}' => {}
                c if c != '\t' && is_invisible(c) => excerpt.line.push('\u{fffd}'),
                c => excerpt.line.push(c),
            }
        }
        excerpt.mark(line.len(), from, to);
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
