//! What happens while the server runs, as plain data.

use std::path::PathBuf;

use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Packages are being installed; told once at the start, and again for each thing done.
    Provisioning {
        /// What is done, a fragment.
        message: String,
        /// Whether that was the last.
        done: bool,
    },
    /// The server's process starts.
    Starting {
        /// The program that runs it.
        program: PathBuf,
    },
    /// The server answers.
    Ready {
        /// Where.
        #[serde(flatten)]
        urls: Urls,
        /// Since it was started, in milliseconds.
        milliseconds: u64,
    },
    /// A change is taken over: the server starts anew.
    Reloading {
        /// What changed, relative to the configuration's directory.
        changed: Vec<String>,
    },
    /// A change is not taken over, since it cannot work; the server goes on as it is.
    Kept {
        /// Why.
        reason: String,
    },
    /// The server's process ended by itself.
    Crashed(Crash),
    /// The server was stopped.
    Stopped,
    /// Something worth knowing.
    Note {
        /// A fragment.
        message: String,
    },
    /// Something that is probably not meant.
    Warning {
        /// A fragment.
        message: String,
    },
    /// A line that the server, or an installer, wrote.
    Log {
        /// The line.
        line: String,
    },
}

/// Where the server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Urls {
    /// The server, without the prefix of its routes.
    #[serde(skip)]
    pub origin: String,
    /// What tells whether it is well.
    #[serde(skip)]
    pub ok: String,
    /// The API.
    pub api: String,
    /// Its documentation; the JavaScript server has none.
    pub docs: Option<String>,
    /// The studio, connected to it.
    pub studio: String,
    /// From elsewhere, where there is a tunnel.
    pub public: Option<String>,
}

/// How the server's process ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// Its exit code or signal, as a fragment.
    pub status: String,
    /// Where in the user's source it went wrong, where that can be told: `file:line: what`.
    pub cause: Option<String>,
    /// What it said of the cause, or else what it said last.
    pub last_lines: Vec<String>,
}
