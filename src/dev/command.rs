//! What a child is asked to do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program, its arguments and its environment. There is no `Debug`: variables may hold secrets.
#[derive(Clone)]
pub(super) struct Command {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) directory: PathBuf,
    /// Variables that are set, over those of this process.
    pub(super) variables: Vec<(String, String)>,
    /// Variables of this process that it does not get.
    pub(super) without: Vec<String>,
}

impl Command {
    pub(super) fn new(program: impl Into<PathBuf>, directory: &Path) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            directory: directory.to_owned(),
            variables: Vec::new(),
            without: Vec::new(),
        }
    }

    pub(super) fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(super) fn arguments<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(super) fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// What a user would type for it, the program by its name.
    pub(super) fn shown(&self) -> String {
        let name =
            self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned();
        let rest = self.arguments.iter().map(|argument| argument.to_string_lossy().into_owned());
        [name].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
    }
}
