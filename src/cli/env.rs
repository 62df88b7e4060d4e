//! Everything that the process is given, as a value: tests run the whole program with another one.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;

use terminal_size::terminal_size;
use tokio::runtime::{Builder, Runtime};

use super::ask::Input;
use crate::api::RetryPolicy;
use crate::engine::EngineEnv;
use crate::error::{Error, OutputError};
use crate::live::Stop;

/// The width of text that goes to no terminal, in columns.
const DEFAULT_WIDTH: usize = 100;

/// The value of a variable, where it is set and is UTF-8.
pub type Variables = Box<dyn Fn(&str) -> Option<String>>;

/// What the process is given.
pub struct Env {
    /// The command line, the program's name first.
    pub arguments: Vec<OsString>,
    /// Environment variables.
    pub variables: Variables,
    /// The directory that relative paths start from.
    pub directory: PathBuf,
    /// Standard input.
    pub input: Input,
    /// Standard output: results.
    pub out: Stream,
    /// Standard error: talk.
    pub err: Stream,
    /// The terminal's width in columns, or a default where there is no terminal.
    pub width: usize,
    /// Whether the user asked to hear more.
    pub verbose: bool,
    /// Timeouts and retries of calls to the deployment service.
    pub retry_policy: RetryPolicy,
    /// How the process is asked to stop.
    pub stop: Stop,
    /// What need not be told again.
    pub told: Told,
}

impl Env {
    /// What this process was given.
    pub fn of_process() -> Self {
        Self {
            arguments: std::env::args_os().collect(),
            variables: Box::new(|name| std::env::var(name).ok()),
            directory: std::env::current_dir().unwrap_or_default(),
            input: Input::new(Box::new(io::stdin()), io::stdin().is_terminal()),
            out: Stream::new(Box::new(io::stdout()), io::stdout().is_terminal()),
            err: Stream::new(Box::new(io::stderr()), io::stderr().is_terminal()),
            width: terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0)),
            verbose: false,
            retry_policy: RetryPolicy::default(),
            stop: Stop::on_signals(),
            told: Told::default(),
        }
    }

    /// Starts the async runtime of a command. From then on signals are heard by `stop` instead of ending the process.
    pub(super) fn runtime(&mut self) -> Result<Runtime, Error> {
        let failed = |source| Error::Runtime { source };
        self.stop.listen().map_err(failed)?;
        Builder::new_current_thread().enable_all().build().map_err(failed)
    }

    /// The variables that select and configure the container engine.
    pub(super) fn engine(&self) -> EngineEnv {
        EngineEnv::new(|name| (self.variables)(name).map(OsString::from))
    }

    /// The value of a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }

    /// Whether the user can be asked: questions are printed on stderr, and answers are read from stdin.
    pub(super) fn can_ask(&self) -> bool {
        self.input.is_terminal && self.err.is_terminal
    }

    /// Settles which streams are coloured.
    pub fn colour(&mut self, choice: ColorChoice) {
        let always = match choice {
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
            ColorChoice::Auto if self.variable("NO_COLOR").is_some() => Some(false),
            ColorChoice::Auto if self.variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") => {
                Some(true)
            }
            ColorChoice::Auto if self.variable("CLICOLOR").is_some_and(|value| value == "0") => Some(false),
            ColorChoice::Auto if self.variable("TERM").is_some_and(|value| value == "dumb") => Some(false),
            ColorChoice::Auto => None,
        };
        for stream in [&mut self.out, &mut self.err] {
            stream.is_coloured = always.unwrap_or(stream.is_terminal);
        }
    }

    /// Says `text`, a whole line, on stderr. That it may not be heard is no reason to stop.
    pub fn tell(&mut self, text: &str) {
        self.err.write(text).and_then(|()| self.err.write("\n")).ok();
    }

    /// The same, unless it is known. `key` stands for what is said.
    pub fn tell_once(&mut self, key: &str, text: &str) {
        if self.is_new(key) {
            self.tell(text);
        }
    }

    /// Whether what `key` stands for was said neither in this round nor in the last.
    pub fn is_new(&mut self, key: &str) -> bool {
        self.told.now.insert(key.to_owned()) && !self.told.before.contains(key)
    }

    /// What was said up to here is known when the same is done once more. Not so where it came to nothing, for then not
    /// all was said.
    pub fn end_round(&mut self) {
        self.told.before = std::mem::take(&mut self.told.now);
    }
}

/// What was told: the same is done once more whenever a watched project changes.
#[derive(Debug, Default)]
pub struct Told {
    before: HashSet<String>,
    now: HashSet<String>,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// What an unparsed command line seems to want: the parser's own messages are coloured before it is done.
    pub fn of_raw(arguments: &[OsString]) -> Self {
        let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let given = words.windows(2).find(|pair| pair[0] == "--color").map(|pair| pair[1]);
        match given.or_else(|| words.iter().find_map(|word| word.strip_prefix("--color="))) {
            Some("always") => Self::Always,
            Some("never") => Self::Never,
            _ => Self::Auto,
        }
    }
}

/// An output stream.
pub struct Stream {
    writer: Box<dyn Write>,
    /// Whether the reader has gone away.
    pub is_closed: bool,
    /// Whether a person is reading.
    pub is_terminal: bool,
    /// Whether colours may be written.
    pub is_coloured: bool,
}

impl Stream {
    /// A stream, not coloured as yet.
    pub fn new(writer: Box<dyn Write>, is_terminal: bool) -> Self {
        Self { writer, is_closed: false, is_terminal, is_coloured: false }
    }

    /// Writes `text`. A reader that has gone away (`| head`) is no error: it has seen all that it wanted.
    pub fn write(&mut self, text: &str) -> Result<(), OutputError> {
        let done = self.writer.write_all(text.as_bytes());
        self.unless_closed(done)
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
