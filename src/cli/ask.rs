//! Questions to the user.

use std::future::Future;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::console::visible;
use super::env::Env;
use crate::error::Error;

/// Standard input, as a whole or line by line.
pub struct Input {
    /// The stream, until a line is asked for: reads cannot be interrupted, so a thread does them from then on.
    unread: Option<(Box<dyn Read + Send>, UnboundedSender<String>)>,
    lines: Arc<Mutex<UnboundedReceiver<String>>>,
    /// Whether it is a terminal.
    pub is_terminal: bool,
}

impl Input {
    /// Input from `stream`.
    pub fn new(stream: Box<dyn Read + Send>, is_terminal: bool) -> Self {
        let (sender, lines) = unbounded_channel();
        Self { unread: Some((stream, sender)), lines: Arc::new(Mutex::new(lines)), is_terminal }
    }

    /// The next line, with its end if it has one; none when the input has ended.
    fn line(&mut self) -> impl Future<Output = Option<String>> + use<> {
        if let Some((stream, sender)) = self.unread.take() {
            // Without a thread, there is no answer.
            let reader = move || {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|length| length > 0)
                    && sender.send(std::mem::take(&mut line)).is_ok()
                {}
            };
            thread::Builder::new().name("stdin".to_owned()).spawn(reader).ok();
        }
        let lines = self.lines.clone();
        async move { lines.lock().await.recv().await }
    }
}

impl Read for Input {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.unread.as_mut().map_or(Ok(0), |(stream, _)| stream.read(bytes))
    }
}

/// Asks for a line with `prompt`, if somebody can answer; none when the input has ended.
pub(super) fn line(env: &mut Env, prompt: &str) -> impl Future<Output = Option<String>> + use<> {
    let is_open = env.can_ask().then(|| {
        env.err.write(prompt).and_then(|()| env.err.flush()).ok();
        env.err.open_line()
    });
    let line = env.input.line();
    async move {
        let line = line.await;
        // An answer ends the line of the prompt.
        if let (Some(is_open), Some(line)) = (is_open, &line) {
            is_open.fetch_and(!line.ends_with('\n'), Ordering::Relaxed);
        }
        line
    }
}

/// Asks a yes-or-no question. An empty line means `default`; the end of the input means no.
pub(super) fn confirm(env: &mut Env, question: &str, default: bool) -> impl Future<Output = bool> + use<> {
    let choice = if default { "[Y/n]" } else { "[y/N]" };
    let line = line(env, &format!("{} {choice} ", visible(question)));
    async move {
        let line = line.await.unwrap_or_default();
        match line.trim().to_lowercase().as_str() {
            "" => default && !line.is_empty(),
            answer => matches!(answer, "y" | "yes"),
        }
    }
}

/// Asks a yes-or-no question, and fails unless the answer is yes.
pub(super) fn confirm_or_decline(env: &mut Env, runtime: &Runtime, question: &str) -> Result<(), Error> {
    let answer = confirm(env, question, false);
    if runtime.block_on(env.stop.unless_asked(answer))? { Ok(()) } else { Err(Error::Declined) }
}
