//! What happens while the setup runs, as plain data.

use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// An image is being pulled.
    Pulling {
        /// The image.
        image: String,
        /// Bytes that are here.
        current: u64,
        /// Bytes that are known of; 0 where that is not known as yet.
        total: u64,
    },
    /// Something was done to a service's container.
    Service {
        /// The service.
        service: String,
        /// What.
        change: Change,
    },
    /// The server answers, and, where that is waited for, every service is well.
    Ready {
        /// Where.
        #[serde(flatten)]
        urls: Urls,
        /// Since the command was given or the change seen, in milliseconds.
        milliseconds: u64,
    },
    /// A change was built and is taken over.
    Reloading {
        /// What changed, relative to the configuration's directory.
        changed: Vec<String>,
    },
    /// A change is not taken over, since it cannot work; the server goes on as it is.
    Kept {
        /// Why.
        reason: String,
    },
    /// A service ended by itself, or is not well.
    Failed {
        /// The service.
        service: String,
        /// How it ended, or what is wrong, as a fragment.
        status: String,
        /// What it printed last.
        last_lines: Vec<String>,
    },
    /// Everything that was to be stopped is.
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
    /// A line that a service printed.
    Log {
        /// The service.
        service: String,
        /// The line.
        line: String,
    },
}

/// What was done to a service's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It was made and started.
    Created,
    /// It is well.
    Healthy,
    /// It was made anew, since its definition is another or that was asked for, and started.
    Recreated,
    /// It was removed.
    Removed,
    /// It was there and was started.
    Started,
    /// It was stopped.
    Stopped,
    /// It runs as it should.
    Unchanged,
}

/// Where the server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Urls {
    /// What tells whether it is well.
    #[serde(skip)]
    pub ok: String,
    /// The API.
    pub api: String,
    /// Its documentation; the JavaScript server has none.
    pub docs: Option<String>,
    /// The studio, connected to it.
    pub studio: String,
    /// The debugger, where there is one.
    pub debugger: Option<String>,
}
