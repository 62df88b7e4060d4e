//! The recovering parser.

mod blank;
mod brackets;
mod scalar;

use std::collections::HashSet;
use std::ops::Range;

use super::rules::{BYTE_ORDER_MARK, EMPTY_FILE, JSON_SYNTAX, TOO_MANY_VALUES};
use super::string::Escapes;
use super::{Document, Kind, Node};
use crate::diagnostic::{Diagnostic, Edit, Place, Rule};
use crate::secrecy::urls;
use crate::secrecy::{Secrets, is_quote};

/// Maximum nesting, so that no input can exhaust the stack.
const MAX_DEPTH: usize = 128;

/// Syntax errors after which parsing is given up: the text is not JSON.
const MAX_ERRORS: usize = 20;

/// Findings of any kind after which parsing is given up, so that a report stays readable.
const MAX_FINDINGS: usize = 1_000;

/// Maximum number of values, far above that of any agent: some checks compare each value with all others.
const MAX_VALUES: usize = 10_000;

pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    broken: bool,
    /// Syntax errors so far.
    errors: usize,
    /// Values so far.
    values: usize,
    /// The opening brackets that are not closed yet.
    open: Vec<usize>,
    /// Whether the early end of the text was reported, or parsing was given up.
    ended: bool,
    escapes: Escapes,
    secrets: Secrets,
    partial: HashSet<usize>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            broken: false,
            errors: 0,
            values: 0,
            open: Vec::new(),
            ended: false,
            escapes: Escapes::default(),
            secrets: Secrets::of(text),
            partial: HashSet::new(),
            diagnostics: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> (Document, Vec<Diagnostic>) {
        if self.text.starts_with('\u{feff}') {
            self.at = '\u{feff}'.len_utf8();
            self.report(&BYTE_ORDER_MARK, 0..self.at, "the file starts with a byte order mark").help =
                Some("save the file as UTF-8 without a byte order mark".into());
        }
        self.skip_blank();
        if self.at == self.text.len() {
            self.broken = true;
            self.report(&EMPTY_FILE, 0..0, "the file is empty").help = Some(
                r#"start with `{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}`"#.into(),
            );
            return self.result(hole(0..0));
        }
        if !self.rest().starts_with(['{', '[', '"', '\'']) && self.rest().lines().count() > 1 {
            self.not_json();
            return self.result(hole(0..0));
        }
        let root = self.value();
        self.skip_blank();
        if self.at < self.text.len() && !self.exhausted() {
            let end = self.text.ceil_char_boundary(self.text.trim_end().len().max(self.at + 1));
            let end = self.text[self.at..end].find('\n').map_or(end, |line| self.at + line);
            self.syntax(self.at..end, "unexpected text after the configuration", "remove it");
        }
        self.diagnostics.sort_by_key(|diagnostic| match &diagnostic.place {
            Place::Span(span) => span.start,
            _ => 0,
        });
        // Findings about a text that is hardly JSON would be about the repairs.
        let root = if self.exhausted() { hole(0..0) } else { root };
        self.result(root)
    }

    fn result(self, root: Node) -> (Document, Vec<Diagnostic>) {
        let document = Document {
            root,
            broken: self.broken,
            text: self.text.to_owned(),
            escapes: self.escapes,
            secrets: [self.secrets.values, self.secrets.doubtful, urls::userinfo(self.text)].concat(),
            partial: self.partial,
        };
        (document, self.diagnostics)
    }

    /// Reports a text that does not start like JSON once, rather than each of its words.
    fn not_json(&mut self) {
        let line = self.rest().lines().next().unwrap_or_default().trim_end();
        let what = match line.find([':', '=']) {
            Some(at) if line[at..].starts_with(':') => "this is not JSON, but looks like YAML",
            Some(_) => "this is not JSON, but looks like TOML",
            None => "this is not JSON",
        };
        let help =
            r#"write a JSON object: `{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}}`"#;
        self.syntax(self.at..self.at + line.len(), what, help);
    }

    fn report(
        &mut self,
        rule: &'static Rule,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> &mut Diagnostic {
        let end = self.text.ceil_char_boundary(span.end.min(self.text.len()));
        self.diagnostics.push(Diagnostic::new(rule, Place::Span(span.start.min(end)..end), message));
        let last = self.diagnostics.len() - 1;
        &mut self.diagnostics[last]
    }

    /// Reports a syntax error, after which the tree may be incomplete.
    fn syntax(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.broken = true;
        self.errors += 1;
        self.report(&JSON_SYNTAX, span, message).help = Some(help.into());
    }

    /// Adds a change of its place that surely fixes the last finding.
    fn safe_fix(&mut self, edit: Edit) {
        self.fix_last(|last| last.safe_fix(edit));
    }

    /// Adds a change of its place that probably fixes the last finding.
    fn likely_fix(&mut self, edit: Edit) {
        self.fix_last(|last| last.likely_fix(edit));
    }

    fn fix_last(&mut self, fix: impl FnOnce(Diagnostic) -> Diagnostic) {
        let last = self.diagnostics.pop().map(fix);
        self.diagnostics.extend(last);
    }

    /// `text`, which starts at `start`, as a message may quote it.
    fn quotable<'t>(&self, start: usize, text: &'t str) -> &'t str {
        if self.secrets.is_secret(&(start..start + text.len())) { "***" } else { text }
    }

    /// Whether there is no sense in reading on.
    fn exhausted(&self) -> bool {
        self.errors >= MAX_ERRORS || self.values > MAX_VALUES || self.diagnostics.len() >= MAX_FINDINGS
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn value(&mut self) -> Node {
        self.values += 1;
        if self.values == MAX_VALUES + 1 {
            self.report(
                &TOO_MANY_VALUES,
                self.at..self.at + 1,
                format!("the configuration has more than {MAX_VALUES} values"),
            )
            .help = Some("remove what is not part of it".into());
        }
        let mut node = self.any_value();
        if self.secrets.is_doubtful(&node.span) && !matches!(node.kind, Kind::Object(_) | Kind::Array(_)) {
            node.kind = Kind::Hole;
        }
        node
    }

    fn any_value(&mut self) -> Node {
        let start = self.at;
        match self.peek() {
            _ if self.exhausted() => self.give_up(start),
            Some('{' | '[') if self.depth == MAX_DEPTH => {
                self.syntax(start..start + 1, format!("nested deeper than {MAX_DEPTH} levels"), "flatten it");
                self.give_up(start)
            }
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some(c) if is_quote(c) => {
                let kind = self.string().map_or(Kind::Hole, Kind::String);
                self.node(start, kind)
            }
            Some(c) if c.is_alphanumeric() || matches!(c, '-' | '+' | '.' | '_' | '$') => self.word(),
            Some(_) | None => {
                let end = self.peek().map_or(start, |c| start + c.len_utf8());
                self.syntax(
                    start..end,
                    "expected a value",
                    "write a value, such as a string in double quotes",
                );
                if !matches!(self.peek(), Some(',' | '}' | ']')) {
                    self.at = end;
                }
                hole(start..start)
            }
        }
    }

    fn give_up(&mut self, start: usize) -> Node {
        self.broken = true;
        self.ended = true;
        self.at = self.text.len();
        hole(start..start)
    }

    fn node(&self, start: usize, kind: Kind) -> Node {
        Node { span: start..self.at, kind }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Kind) -> Node {
        let start = self.at;
        self.depth += 1;
        self.open.push(start);
        self.at += 1;
        let kind = read(self);
        self.open.pop();
        self.depth -= 1;
        self.node(start, kind)
    }
}

fn hole(span: Range<usize>) -> Node {
    Node { span, kind: Kind::Hole }
}
