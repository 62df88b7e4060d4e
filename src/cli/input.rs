//! Standard input.

use std::future::Future;
use std::io::{self, BufRead as _, BufReader, Read};
use std::sync::Arc;
use std::thread;

use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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
    pub(super) fn line(&mut self) -> impl Future<Output = Option<String>> + use<> {
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
