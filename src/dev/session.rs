//! What is asked of the room, and what it asks back.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use crate::compiler::back::plan::Plan;
use crate::live::Reporter;

/// A planned project and the values of its `env`. There is no `Debug`: the values are secrets.
pub struct Session {
    /// The configuration's directory, absolute.
    pub directory: PathBuf,
    /// What was planned.
    pub plan: Plan,
    /// The user's variables; one without a value is taken out of the environment.
    pub env: Vec<(String, Option<String>)>,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on: an IP address or a name.
    pub host: String,
    /// Port to listen on.
    pub port: Port,
    /// Whether changes of the source start the server anew.
    pub reload: bool,
    /// How many runs are worked on at once.
    pub jobs: u32,
    /// The debugger, where there is one.
    pub debugger: Option<Debugger>,
    /// Whether blocking calls in asynchronous code are let through.
    pub allow_blocking: bool,
    /// Whether a tunnel makes the server public.
    pub tunnel: bool,
    /// The interpreter, where the user names one.
    pub python: Option<PathBuf>,
    /// Whether missing packages may be installed.
    pub consent: Consent,
    /// The certificate to serve HTTPS with.
    pub tls: Option<Tls>,
    /// How much the server logs: the name of a level of Python's.
    pub log_level: &'static str,
    /// Whether the server's log is coloured.
    pub colour: bool,
    /// Timeout for the server to become ready.
    pub start_timeout: Duration,
    /// The studio to link to, without a `/` at its end.
    pub studio: String,
    /// What of this process's environment decides which interpreter is meant.
    pub surroundings: Surroundings,
}

/// What of the environment decides which interpreter is meant.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `PATH`.
    pub path: String,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<String>,
    /// What all routes begin with, by the variables that say so.
    pub mount_prefix: Vec<(String, String)>,
    /// `PYENV_VERSION`.
    pub pyenv_version: Option<String>,
    /// `PYENV_ROOT`, or where pyenv usually lies.
    pub pyenv_root: Option<PathBuf>,
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// This one or none.
    Exactly(u16),
    /// This one, or the next that is free.
    From(u16),
}

impl Port {
    /// Its number, or that of the first to try.
    pub fn number(self) -> u16 {
        match self {
            Self::Exactly(port) | Self::From(port) => port,
        }
    }
}

/// Where a debugger can attach to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debugger {
    /// The address it listens on: an IP address or a name.
    pub host: String,
    /// The port it listens on.
    pub port: u16,
    /// Whether the server waits until a client is there.
    pub waits: bool,
}

/// Whether missing packages may be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// If the user says so.
    Ask,
    /// No.
    Never,
    /// Yes.
    Given,
}

/// What HTTPS is served with.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
}

/// What the room asks of its caller while it runs.
pub trait Hooks: Reporter {
    /// Asks the user a question. Cancel safe.
    fn confirm(&mut self, question: &str) -> Pin<Box<dyn Future<Output = bool>>>;

    /// Reads the project again. None if it cannot be planned; the caller has reported why.
    fn replan(&mut self) -> Option<Session>;
}
