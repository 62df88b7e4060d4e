//! Questions to the user.

use std::future::Future;
use std::io::{self, BufRead as _, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::sync::oneshot;

use super::console::visible;
use super::env::{Env, Stream};

/// Asks `question`; an empty line is `default`. Ctrl-C is heard meanwhile.
pub(super) fn confirm(env: &mut Env, question: &str, default: bool) -> impl Future<Output = bool> + 'static {
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    env.err.write(&format!("{} {choice} ", visible(question))).and_then(|()| env.err.flush()).ok();
    let is_open = open_line(&mut env.err);
    let input = std::mem::replace(&mut env.input, Box::new(io::empty()));
    let (sender, answer) = oneshot::channel();
    // A thread of its own: nothing interrupts a read.
    thread::spawn(move || {
        let mut line = String::new();
        // Without an answer it is no.
        let is_answered = BufReader::new(input).read_line(&mut line).is_ok_and(|read| read > 0);
        is_open.fetch_and(!line.ends_with('\n'), Ordering::Relaxed);
        let agreed = match line.trim().to_lowercase().as_str() {
            "" => default,
            answer => matches!(answer, "y" | "yes"),
        };
        sender.send(is_answered && agreed).ok();
    });
    async { answer.await.unwrap_or(false) }
}

/// The line of a question stays open where an interrupt, or the end of the input, is the answer: what is written next
/// begins a new one. Whether it is open is what this returns.
fn open_line(stream: &mut Stream) -> Arc<AtomicBool> {
    let is_open = Arc::new(AtomicBool::new(true));
    let inner = std::mem::replace(stream, Stream::new(Box::new(io::sink()), stream.is_terminal));
    let is_coloured = inner.is_coloured;
    *stream = Stream::new(Box::new(AfterQuestion { inner, is_open: is_open.clone() }), stream.is_terminal);
    stream.is_coloured = is_coloured;
    is_open
}

/// A stream that ends the line of a question before it writes anything else.
struct AfterQuestion {
    inner: Stream,
    is_open: Arc<AtomicBool>,
}

impl Write for AfterQuestion {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_open.swap(false, Ordering::Relaxed) {
            self.inner.write("\n")?;
        }
        self.inner.write(&String::from_utf8_lossy(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
