//! Everything that the process is given, as a value: tests run the whole program with another one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;
use terminal_size::terminal_size;
use tokio::runtime::Builder;

use super::environment;
use super::input::Input;
use super::runtime::Runtime;
use crate::api::RetryPolicy;
use crate::engine::EngineEnv;
use crate::error::{Error, OutputError};
use crate::live::Stop;
use crate::project::Boundary;

/// Width of output that is not a terminal, in columns.
const DEFAULT_WIDTH: usize = 100;

/// Returns the value of a variable, if it is set and UTF-8.
pub type Variables = Box<dyn Fn(&str) -> Option<String>>;

/// The environment of the process: arguments, variables, streams and limits.
pub struct Env {
    /// The command line, the program's name first.
    pub arguments: Vec<OsString>,
    /// Environment variables; [`Env::variable`] reads them.
    pub variables: Variables,
    /// The directory that relative paths start from.
    pub directory: PathBuf,
    /// The directory whose files belong to the project, if the user chose one.
    pub project_root: Option<PathBuf>,
    /// Standard input.
    pub input: Input,
    /// Standard output: results.
    pub out: Stream,
    /// Standard error: progress and messages.
    pub err: Stream,
    /// Width of the terminal in columns, or a default without a terminal.
    pub width: usize,
    /// Whether the output is verbose.
    pub verbose: bool,
    /// Timeouts and retries of calls to the deployment service.
    pub retry_policy: RetryPolicy,
    /// How the process is asked to stop.
    pub stop: Stop,
    /// The messages that were printed, which are not repeated.
    pub messages: Messages,
}

impl Env {
    /// The environment of this process.
    pub fn from_process() -> Self {
        // Consoles of Windows print escape sequences unless told to interpret them; other systems need nothing.
        anstyle_query::windows::enable_ansi_colors();
        Self {
            // Shells of Windows leave it to programs to expand `*`.
            arguments: wild::args_os().collect(),
            variables: Box::new(|name| std::env::var(name).ok()),
            directory: std::env::current_dir().unwrap_or_default(),
            project_root: None,
            input: Input::new(Box::new(io::stdin()), io::stdin().is_terminal()),
            out: Stream::new(Box::new(io::stdout()), io::stdout().is_terminal()),
            err: Stream::new(Box::new(io::stderr()), io::stderr().is_terminal()),
            width: terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0)),
            verbose: false,
            retry_policy: RetryPolicy::default(),
            stop: Stop::on_signals(),
            messages: Messages::default(),
        }
    }

    /// Starts the async runtime of a command, with one thread. From then on `stop` handles signals.
    pub fn runtime(&mut self) -> Result<Runtime, Error> {
        self.runtime_of(&mut Builder::new_current_thread())
    }

    /// As [`Env::runtime`], with the threads of `builder`.
    pub fn runtime_of(&mut self, builder: &mut Builder) -> Result<Runtime, Error> {
        let failed = |source| Error::Runtime { source };
        self.stop.listen().map_err(failed)?;
        builder.enable_all().build().map(Runtime::new).map_err(failed)
    }

    /// The variables that select and configure the container engine.
    pub fn engine(&self) -> EngineEnv {
        EngineEnv::new(|name| self.variable(name).map(OsString::from))
    }

    /// The value of a variable of the table that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        debug_assert!(environment::is_known(name), "{name} is not in the table of variables");
        self.named(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable that the user or the project names.
    pub(super) fn named(&self, name: &str) -> Option<String> {
        (self.variables)(name)
    }

    /// What belongs to the project.
    pub(super) fn boundary(&self) -> Boundary<'_> {
        self.project_root.as_deref().map_or(Boundary::Project, Boundary::Directory)
    }

    /// Whether the user can be asked: questions are printed on stderr, and answers are read from stdin.
    pub fn can_ask(&self) -> bool {
        self.input.is_terminal && self.err.is_terminal
    }

    /// Decides which streams are coloured.
    pub fn colour(&mut self, choice: ColorChoice) {
        let is = |name, value| self.variable(name).is_some_and(|it| it == value);
        let always = match choice {
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
            ColorChoice::Auto if self.variable("NO_COLOR").is_some() => Some(false),
            ColorChoice::Auto if self.variable("CLICOLOR_FORCE").is_some() && !is("CLICOLOR_FORCE", "0") => {
                Some(true)
            }
            ColorChoice::Auto if is("CLICOLOR", "0") || is("TERM", "dumb") => Some(false),
            ColorChoice::Auto => None,
        };
        for stream in [&mut self.out, &mut self.err] {
            stream.is_coloured = always.unwrap_or(stream.is_terminal);
        }
    }

    /// Prints the line `text` on stderr. A failure is not an error.
    pub fn print(&mut self, text: &str) {
        self.err.write(text).and_then(|()| self.err.write("\n")).ok();
    }

    /// Prints `text`, unless a message with this `key` was printed.
    pub fn print_once(&mut self, key: &str, text: &str) {
        if self.is_new(key) {
            self.print(text);
        }
    }

    /// Whether no message with this `key` was printed in this round and the one before; it counts as printed now.
    pub fn is_new(&mut self, key: &str) -> bool {
        self.messages.now.insert(key.to_owned()) && !self.messages.before.contains(key)
    }

    /// Ends a round that succeeded: the next one does not repeat its messages.
    pub fn end_round(&mut self) {
        self.messages.before = std::mem::take(&mut self.messages.now);
    }
}

/// Keys of printed messages. A round is one load of the project; each change of a watched project starts another.
#[derive(Debug, Default)]
pub struct Messages {
    before: HashSet<String>,
    now: HashSet<String>,
}

/// The choice of colours in unparsed arguments, for the messages of the parser.
pub(super) fn colour_of(arguments: &[OsString]) -> ColorChoice {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let given = words.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let given = given.or_else(|| words.iter().find_map(|word| word.strip_prefix("--color=")));
    given.and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// An output stream.
pub struct Stream {
    writer: Box<dyn Write>,
    /// Whether a line has to be ended before anything else is written.
    is_line_open: Arc<AtomicBool>,
    /// Whether the reader has closed the stream.
    pub is_closed: bool,
    /// Whether it is a terminal.
    pub is_terminal: bool,
    /// Whether colours may be written.
    pub is_coloured: bool,
}

impl Stream {
    /// A stream, not coloured as yet.
    pub fn new(writer: Box<dyn Write>, is_terminal: bool) -> Self {
        let is_line_open = Arc::default();
        Self { writer, is_line_open, is_closed: false, is_terminal, is_coloured: false }
    }

    /// Writes `text`. A reader that has gone away (`| head`) is no error: it has seen all that it wanted.
    pub fn write(&mut self, text: &str) -> Result<(), OutputError> {
        let line_end = if self.is_line_open.swap(false, Ordering::Relaxed) { "\n" } else { "" };
        let done = self.writer.write_all(line_end.as_bytes());
        let done = done.and_then(|()| self.writer.write_all(text.as_bytes()));
        self.unless_closed(done)
    }

    /// Makes the next output begin a new line, unless the returned flag is cleared before.
    pub(super) fn open_line(&self) -> Arc<AtomicBool> {
        self.is_line_open.store(true, Ordering::Relaxed);
        self.is_line_open.clone()
    }

    /// Writes `text` as a line, and flushes it.
    pub fn line(&mut self, text: &str) -> Result<(), OutputError> {
        self.write(&format!("{text}\n"))?;
        self.flush()
    }

    /// Hands on what is buffered.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        let done = self.writer.flush();
        self.unless_closed(done)
    }

    fn unless_closed(&mut self, done: io::Result<()>) -> Result<(), OutputError> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            done => done.map_err(OutputError),
        }
    }
}
