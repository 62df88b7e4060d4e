//! The command of a child.

use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

/// A program, its arguments and its environment. There is no `Debug`: variables may hold secrets.
#[derive(Clone)]
pub struct Command {
    /// A path, or a name on the PATH.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The working directory.
    pub directory: PathBuf,
    /// Variables that are set or override those of this process.
    pub variables: Vec<(String, String)>,
    /// Variables that are not inherited.
    pub without: Vec<String>,
    /// Whether a [`Child`](super::Child) gets what is sent to it as its stdin.
    pub takes_input: bool,
    /// Sockets that a [`Child`](super::Child) inherits, under the numbers of [`descriptor`](super::descriptor).
    pub sockets: Vec<Arc<TcpListener>>,
}

impl Command {
    /// A command without arguments, with the environment of this process.
    pub fn new(program: impl Into<PathBuf>, directory: &Path) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.to_owned(),
            variables: Vec::new(),
            without: Vec::new(),
            takes_input: false,
            sockets: Vec::new(),
        }
    }

    /// With one more argument.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// With more arguments.
    pub fn arguments<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// With these variables, and without those of them that have no value.
    pub fn variables<'a>(self, all: impl IntoIterator<Item = &'a (String, Option<String>)>) -> Self {
        all.into_iter().fold(self, |command, (name, value)| match value {
            Some(value) => command.variable(name, value),
            None => command.without(name),
        })
    }

    /// With a variable.
    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Without a variable of this process.
    pub fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// With a stdin that [`Child::send`](super::Child::send) writes to.
    pub fn with_input(mut self) -> Self {
        self.takes_input = true;
        self
    }

    /// With sockets that the child inherits.
    pub fn with_sockets(mut self, sockets: &[Arc<TcpListener>]) -> Self {
        self.sockets.extend_from_slice(sockets);
        self
    }

    /// Adds the arguments, the directory and the environment to `process`.
    pub(super) fn configure(&self, process: &mut process::Command) {
        process.args(&self.arguments).current_dir(&self.directory);
        self.without.iter().for_each(|name| _ = process.env_remove(name));
        process.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// The command as a user would type it, without the program's directory.
    pub fn shown(&self) -> String {
        let name =
            self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned();
        let rest = self.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        [name].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
    }
}
