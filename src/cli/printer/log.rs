//! The lines of servers and services.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anstyle::AnsiColor;

use crate::cli::console::{paint, visible_line};
use crate::cli::env::Env;

/// Colours of the services, in the order in which they first print something.
const COLOURS: [AnsiColor; 5] =
    [AnsiColor::Cyan, AnsiColor::Magenta, AnsiColor::Green, AnsiColor::Yellow, AnsiColor::Blue];

/// Time for which the lines of an error at startup are held back: a crash report may say the same in fewer.
const HELD: Duration = Duration::from_millis(500);

/// Prints log lines.
#[derive(Default)]
pub(super) struct Log {
    held: Option<(Instant, Vec<String>)>,
    is_starting: bool,
    colours: HashMap<String, AnsiColor>,
    /// The width of the longest service name so far.
    width: usize,
}

impl Log {
    /// The server starts: from now on, lines that mention an error are held back for a moment.
    pub(super) fn start(&mut self) {
        self.is_starting = true;
    }

    /// The server has started, or will not: prints the lines that are held back.
    pub(super) fn started(&mut self, env: &mut Env) {
        self.is_starting = false;
        self.release(env);
    }

    /// Prints the lines that were held back long enough.
    pub(super) fn tick(&mut self, env: &mut Env) {
        if self.held.as_ref().is_some_and(|(since, _)| since.elapsed() > HELD) {
            self.release(env);
        }
    }

    /// Prints a line of the only server, unchanged.
    pub(super) fn line(&mut self, env: &mut Env, line: &str) {
        let lower = line.to_lowercase();
        if self.is_starting && (lower.contains("error") || lower.contains("traceback")) {
            self.held.get_or_insert_with(|| (Instant::now(), Vec::new()));
        }
        match &mut self.held {
            Some((_, lines)) => lines.push(line.to_owned()),
            None => env.print(line),
        }
    }

    /// Prints a line of a service: `langgraph-redis  | Ready to accept connections`
    pub(super) fn line_of(&mut self, env: &mut Env, service: &str, line: &str) {
        let next = COLOURS[self.colours.len() % COLOURS.len()];
        let colour = *self.colours.entry(service.to_owned()).or_insert(next);
        self.width = self.width.max(service.len());
        let prefix = format!("{service:<width$} |", width = self.width);
        let prefix = paint(&env.err, colour.on_default(), &prefix);
        env.print(&format!("{prefix} {}", visible_line(line)));
    }

    /// Prints the lines that are held back.
    pub(super) fn release(&mut self, env: &mut Env) {
        let lines = self.held.take().map(|(_, lines)| lines);
        lines.into_iter().flatten().for_each(|line| env.print(&line));
    }

    /// Drops the lines that are held back, and returns whether there were any.
    pub(super) fn discard(&mut self) -> bool {
        self.held.take().is_some()
    }
}
