//! The language server: one editor over one pair of streams, without an async runtime and without the network.
//!
//! A thread reads messages; everything else happens on the calling thread. Findings are published when no message waits,
//! so that quick edits are checked once.

mod action;
mod buffer;
mod client;
mod completion;
mod cursor;
mod finding;
mod frame;
mod hover;
mod outline;
mod place;
mod request;
mod session;
mod target;
mod text;
mod uri;

use std::io::{self, BufReader, Read};
use std::sync::mpsc;
use std::thread;

use crate::project::reason;
use frame::Frame;
use session::Session;

/// Reason for which a session failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The session ended without the request `shutdown`.
    #[error("the editor ended the session without a `shutdown` request")]
    NoShutdown,
    /// An answer could not be written.
    #[error("cannot write to the editor: {}", reason(.source))]
    Output {
        /// The system's reason.
        source: io::Error,
    },
    /// The input is not a message of the protocol. It is not quoted, since it may hold secrets.
    #[error("cannot read from the editor: {reason}")]
    Protocol {
        /// A lowercase fragment.
        reason: String,
    },
}

impl Error {
    /// The next step for the user, if there is one.
    pub fn hint(&self) -> Option<String> {
        let is_protocol = matches!(self, Error::Protocol { .. });
        is_protocol
            .then(|| "configure an editor to start `agentcli lsp`; it does not read commands".to_owned())
    }
}

/// Serves one editor until it ends the session or closes `input`. `send` writes and flushes one message.
///
/// # Errors
///
/// The streams fail, the input is not the protocol, or the editor leaves without `shutdown`.
pub fn serve(
    input: impl Read + Send + 'static,
    send: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<(), Error> {
    let (sender, inbox) = mpsc::channel();
    let reader = move || {
        let mut input = BufReader::new(input);
        loop {
            let message = frame::read(&mut input);
            let is_last = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    };
    let failed = |source: io::Error| Error::Protocol { reason: reason(&source) };
    thread::Builder::new().name("stdin".to_owned()).spawn(reader).map_err(failed)?;
    let mut session = Session::new(send);
    loop {
        let message = match inbox.try_recv() {
            Ok(message) => message?,
            Err(_) => {
                session.publish()?;
                inbox.recv().unwrap_or(Ok(None))?
            }
        };
        match message {
            Some(Frame::Message(message)) if !frame::is_exit(&message) => session.handle(message)?,
            Some(Frame::Malformed(malformed)) => session.refuse(&malformed)?,
            _ => return session.end(),
        }
    }
}
