//! The archive as a stream of chunks, made by a thread of its own because reading files blocks.

use std::io::{self, Write};
use std::task::{self, Poll};
use std::thread::{self, JoinHandle};

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Error, Listing};

/// Size of a chunk in bytes: about the most that a Unix socket accepts at once.
const CHUNK: usize = 128 * 1024;

/// Number of chunks in flight; the thread waits while there are that many.
const CAPACITY: usize = 4;

/// An archive being made. Dropping it ends the thread that makes it.
#[derive(Debug)]
pub struct Stream {
    chunks: Receiver<Bytes>,
    writer: Option<JoinHandle<Result<(), Error>>>,
}

impl Listing {
    /// Starts making the archive.
    pub fn stream(self) -> Stream {
        let (sender, chunks) = mpsc::channel(CAPACITY);
        let writer = thread::spawn(move || self.write(Chunks { sender, buffer: BytesMut::new() }));
        Stream { chunks, writer: Some(writer) }
    }
}

impl Stream {
    /// The next chunk, or `None` at the end.
    ///
    /// # Errors
    ///
    /// As [`Listing::write`], after the chunks that were made before. The stream has then ended.
    pub fn poll_next(&mut self, task: &mut task::Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        self.chunks.poll_recv(task).map(|chunk| match chunk {
            Some(chunk) => Some(Ok(chunk)),
            None => self.outcome().err().map(Err),
        })
    }

    fn outcome(&mut self) -> Result<(), Error> {
        let panicked = |_| Error::Write { source: io::Error::other("the file reader thread panicked") };
        self.writer.take().map_or(Ok(()), |writer| writer.join().map_err(panicked)?)
    }
}

/// Cuts the archive into chunks.
struct Chunks {
    sender: Sender<Bytes>,
    buffer: BytesMut,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.reserve(CHUNK.saturating_sub(self.buffer.len()));
        let count = bytes.len().min(CHUNK - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..count]);
        if self.buffer.len() == CHUNK {
            self.flush()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = self.buffer.split().freeze();
        if chunk.is_empty() {
            return Ok(());
        }
        self.sender.blocking_send(chunk).map_err(|_| io::Error::other("the receiver is gone"))
    }
}
