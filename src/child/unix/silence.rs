//! A terminal that shows nothing that is typed.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Until it is dropped, the terminal of stdin shows no typed character but the end of the line.
pub struct Silence(Termios);

impl Silence {
    /// Silences the terminal; `None` if stdin is none.
    pub fn start() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // The terminal may be gone.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.0).ok();
    }
}
