//! The input of `dev`, and what it asks of its caller.

use std::path::PathBuf;
use std::time::Duration;

use crate::compiler::back::plan::Plan;
use crate::live::Reporter;

/// A planned project and the values of its `env`. There is no `Debug`: the values are secrets.
#[derive(PartialEq)]
pub struct Session {
    /// The configuration's directory, absolute.
    pub directory: PathBuf,
    /// The plan.
    pub plan: Plan,
    /// The user's variables; one without a value is removed from the environment.
    pub env: Vec<(String, Option<String>)>,
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on: an IP address or a name.
    pub host: String,
    /// Port to listen on.
    pub port: Port,
    /// Further names under which requests may ask for the server.
    pub allowed_hosts: Vec<String>,
    /// Whether changes restart the server.
    pub reload: bool,
    /// Whether a standby makes restarts quicker.
    pub standby: bool,
    /// Number of concurrent runs.
    pub jobs: u32,
    /// The debugger, if there is one.
    pub debugger: Option<Debugger>,
    /// Whether blocking calls in asynchronous code are allowed.
    pub allow_blocking: bool,
    /// Whether a tunnel makes the server public.
    pub tunnel: bool,
    /// Whether missing packages may be installed.
    pub installs: bool,
    /// The certificate for HTTPS.
    pub tls: Option<Tls>,
    /// The log level of the server, by its name in Python.
    pub log_level: String,
    /// Whether the server's log is coloured.
    pub colour: bool,
    /// Timeout for the server to become ready.
    pub start_timeout: Duration,
    /// The URL of the studio, without a trailing `/`.
    pub studio: String,
    /// How interpreters and installers are found.
    pub selection: Selection,
}

/// How interpreters and installers are found.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The interpreter, if the user selects one.
    pub python: Option<PathBuf>,
    /// The environment variables of the run.
    pub surroundings: Surroundings,
    /// Timeout of a program that is inspected.
    pub timeout: Duration,
    /// Whether everything that is missing is listed.
    pub verbose: bool,
}

/// The environment variables of a run.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `PATH`.
    pub path: String,
    /// `VIRTUAL_ENV`.
    pub virtual_env: Option<String>,
    /// The variables of the server that this program reads, too.
    pub server: Vec<(String, String)>,
    /// `PYENV_VERSION`.
    pub pyenv_version: Option<String>,
    /// `PYENV_ROOT`, or the usual directory of pyenv.
    pub pyenv_root: Option<PathBuf>,
}

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Only this port.
    Exactly(u16),
    /// This port, or the next free one.
    From(u16),
}

impl Port {
    /// The number of the first choice.
    pub fn number(self) -> u16 {
        match self {
            Self::Exactly(port) | Self::From(port) => port,
        }
    }
}

/// The address at which a debugger can attach to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debugger {
    /// The address it listens on: an IP address or a name.
    pub host: String,
    /// The port it listens on.
    pub port: u16,
    /// Whether the server waits for a client.
    pub waits: bool,
}

/// The certificate for HTTPS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its key, PEM.
    pub key: PathBuf,
}

/// What the room asks of its caller while it runs.
pub trait Hooks: Reporter {
    /// Reads the project again. None if it cannot be planned; the caller has reported why.
    fn replan(&mut self) -> Option<Session>;
}
