//! The output of programs that keep running.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// Returns the lines of an output, as they come. They are read even when nobody takes them, so that the program never
/// waits for a reader.
pub(crate) fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            sender.send(line).ok();
        }
    });
    lines
}
