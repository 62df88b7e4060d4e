//! The archive as a stream of small pieces, made by a thread of its own: reading files blocks.

use std::io::{self, Write};
use std::task::{self, Poll};
use std::thread::{self, JoinHandle};

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Error, Listing};

/// The size of a piece in bytes: the most that a Unix socket takes at once is about this.
const PIECE: usize = 128 * 1024;

/// How many pieces may wait to be taken; the reader waits when there are so many.
const WAITING: usize = 4;

/// An archive under way. Dropping it ends the thread that makes it.
#[derive(Debug)]
pub struct Stream {
    pieces: Receiver<Bytes>,
    writer: Option<JoinHandle<Result<(), Error>>>,
}

impl Listing {
    /// Starts to make the archive.
    pub fn stream(self) -> Stream {
        let (sender, pieces) = mpsc::channel(WAITING);
        let writer = thread::spawn(move || self.write(Pieces { sender, buffer: BytesMut::new() }));
        Stream { pieces, writer: Some(writer) }
    }
}

impl Stream {
    /// The next piece; nothing at the end.
    ///
    /// # Errors
    ///
    /// As [`Listing::write`], after the pieces that were made before. The stream has then ended.
    pub fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        self.pieces.poll_recv(task).map(|piece| match piece {
            Some(piece) => Some(Ok(piece)),
            None => self.outcome().err().map(Err),
        })
    }

    fn outcome(&mut self) -> Result<(), Error> {
        let panicked =
            |_| Error::Write { source: io::Error::other("the thread that reads files broke down") };
        self.writer.take().map_or(Ok(()), |writer| writer.join().map_err(panicked)?)
    }
}

/// Where the archive is cut into pieces.
struct Pieces {
    sender: Sender<Bytes>,
    buffer: BytesMut,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.reserve(PIECE.saturating_sub(self.buffer.len()));
        let count = bytes.len().min(PIECE - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        if self.buffer.len() == PIECE {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = self.buffer.split().freeze();
        if piece.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(piece).map_err(|_| io::Error::other("nobody takes it any more"))
    }
}
