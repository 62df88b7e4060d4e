//! A program on a pseudo-terminal, which answers as a person would.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A program whose three streams are one terminal.
pub(crate) struct Terminal {
    master: File,
    pub(crate) child: Child,
    /// Everything that was printed so far.
    pub(crate) printed: String,
}

impl Terminal {
    /// Starts `command` on a new terminal.
    pub(crate) fn start(mut command: Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        // The terminal ends only when nobody holds its other side open.
        drop(command);
        Self { master: master.into(), child, printed: String::new() }
    }

    /// Reads until `text` is printed.
    pub(crate) fn expect(&mut self, text: &str) {
        while !self.printed.contains(text) {
            assert!(self.read(), "no `{text}` in {}", self.printed);
        }
    }

    /// Types a line.
    pub(crate) fn answer(&mut self, line: &str) {
        writeln!(self.master, "{line}").unwrap();
    }

    /// Waits until the program ends.
    pub(crate) fn end(&mut self) -> ExitStatus {
        while self.read() {}
        self.child.wait().unwrap()
    }

    /// Reads what is printed next; false where the program has ended.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // Linux says that a terminal has ended with an error.
        let read = self.master.read(&mut bytes).unwrap_or(0);
        self.printed += &String::from_utf8_lossy(&bytes[..read]);
        read > 0
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
