//! Output of processes and containers as lines. Memory stays bounded whatever is printed: a long line is cut, and
//! whoever prints faster than the lines are shown has to wait.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Length of the longest line, in bytes; the rest of a longer one is dropped.
const MAX_LINE: usize = 64 * 1024;

/// Ends a line that was cut.
const CUT: &str = " … (cut)";

/// Lines taken in one turn of a loop.
const BUDGET: usize = 64;

/// Lines that may wait to be shown: at most 4 MiB.
const WAITING: usize = BUDGET;

/// Bytes read at once.
const PIECE: usize = 16 * 1024;

/// Splits pieces of output into lines.
#[derive(Debug, Default)]
pub struct Splitter {
    rest: Vec<u8>,
    /// Whether the line was cut, so that everything up to its end is dropped.
    is_cut: bool,
}

impl Splitter {
    /// The lines that `piece` completes, without line ends; invalid UTF-8 is replaced.
    pub fn split(&mut self, piece: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut parts = piece.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.append(part, &mut lines);
            if parts.peek().is_some() && !std::mem::take(&mut self.is_cut) {
                lines.push(self.line());
            }
        }
        lines
    }

    /// The last line, if the output does not end with a line end.
    pub fn finish(&mut self) -> Option<String> {
        (!self.rest.is_empty()).then(|| self.line())
    }

    fn append(&mut self, part: &[u8], lines: &mut Vec<String>) {
        if self.is_cut {
            return;
        }
        let room = MAX_LINE - self.rest.len();
        self.rest.extend_from_slice(&part[..part.len().min(room)]);
        if part.len() > room {
            self.is_cut = true;
            lines.push(self.line() + CUT);
        }
    }

    fn line(&mut self) -> String {
        let line = self.rest.strip_suffix(b"\r").unwrap_or(&self.rest);
        let line = String::from_utf8_lossy(line).into_owned();
        self.rest.clear();
        line
    }
}

/// Lines from several sources, each with its source.
#[derive(Debug)]
pub struct Lines<N>(Receiver<(N, String)>);

/// The sender of a source of lines. It waits while the channel is full.
pub type LineSender<N> = Sender<(N, String)>;

/// A channel for lines.
pub fn lines<N>() -> (LineSender<N>, Lines<N>) {
    let (sender, receiver) = channel(WAITING);
    (sender, Lines(receiver))
}

impl<N> Lines<N> {
    /// The next lines, at most as many as a loop should show in one turn; none when all sources have ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Vec<(N, String)>> {
        let mut lines = Vec::new();
        let count = self.0.recv_many(&mut lines, BUDGET).await;
        (count > 0).then_some(lines)
    }

    /// The lines that are waiting, at most as many as [`Lines::next`] returns.
    pub fn waiting(&mut self) -> Vec<(N, String)> {
        std::iter::from_fn(|| self.0.try_recv().ok()).take(BUDGET).collect()
    }
}

/// Sends each line of `stream` as one of `source`, until the stream ends or nobody reads.
pub async fn read_lines<N: Clone>(mut stream: impl AsyncRead + Unpin, source: N, lines: LineSender<N>) {
    let mut splitter = Splitter::default();
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        for line in splitter.split(&piece[..length]) {
            if lines.send((source.clone(), line)).await.is_err() {
                return;
            }
        }
    }
    if let Some(line) = splitter.finish() {
        lines.send((source, line)).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_whatever_the_pieces() {
        let text = "one\r\ntwo\n\nfünf\nrest";
        for length in 1..=text.len() {
            let mut splitter = Splitter::default();
            let mut lines: Vec<String> =
                text.as_bytes().chunks(length).flat_map(|piece| splitter.split(piece)).collect();
            lines.extend(splitter.finish());
            assert_eq!(lines, ["one", "two", "", "fünf", "rest"], "pieces of {length}");
        }
    }

    #[test]
    fn a_long_line_is_cut_once_and_marked() {
        let mut splitter = Splitter::default();
        let piece = vec![b'x'; MAX_LINE / 4 + 1];
        let lines: Vec<String> = (0..100).flat_map(|_| splitter.split(&piece)).collect();
        assert_eq!(lines, ["x".repeat(MAX_LINE) + CUT]);
        assert_eq!(splitter.split(b"xxx\nnext\n"), ["next"]);
        let exact = ["x".repeat(MAX_LINE), "next".to_owned()];
        assert_eq!(splitter.split(format!("{}\n{}\n", exact[0], exact[1]).as_bytes()), exact);
        assert_eq!(splitter.finish(), None);
    }

    #[tokio::test]
    async fn a_source_waits_for_the_reader() {
        let (sender, mut lines) = lines();
        let line = "x".repeat(MAX_LINE);
        let mut sent = 0;
        let flood = async {
            while sender.send(((), line.clone())).await.is_ok() {
                sent += 1;
            }
        };
        tokio::time::timeout(std::time::Duration::from_millis(100), flood).await.unwrap_err();
        assert_eq!(sent, WAITING);
        assert_eq!(lines.next().await.unwrap().len(), BUDGET);
    }
}
