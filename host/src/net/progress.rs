//! Streams whose peer must read: one that takes too little for too long is cut.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Number of bytes that a peer for which writes wait must take within the time limit.
const LEAST: usize = 16 << 10;

/// A stream whose writes fail when they wait for the peer and it takes less than [`LEAST`] bytes within a time limit.
pub(crate) struct Progress<S> {
    stream: S,
    limit: Duration,
    /// Set from the first write that waits until the peer keeps up.
    slow: Option<Slow>,
}

struct Slow {
    deadline: Pin<Box<Sleep>>,
    /// Number of bytes taken since.
    taken: usize,
    is_waiting: bool,
}

impl<S> Progress<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, slow: None }
    }

    /// Notes the result of a write of `taken` bytes, and fails one that waits for too long.
    fn observe<T>(
        &mut self,
        context: &mut Context<'_>,
        result: Poll<io::Result<T>>,
        taken: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = result {
            // A write that did not have to wait shows that the peer keeps up.
            if let Some(slow) = self.slow.take_if(|slow| slow.is_waiting) {
                let taken = slow.taken + done.as_ref().map_or(0, taken);
                if taken < LEAST {
                    self.slow = Some(Slow { taken, is_waiting: false, ..slow });
                }
            } else {
                self.slow = None;
            }
            return Poll::Ready(done);
        }
        let limit = self.limit;
        let slow = self.slow.get_or_insert_with(|| Slow {
            deadline: Box::pin(sleep(limit)),
            taken: 0,
            is_waiting: true,
        });
        slow.is_waiting = true;
        ready!(slow.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progress<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progress<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.observe(context, written, |taken| *taken)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.observe(context, written, |taken| *taken)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.observe(context, flushed, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.observe(context, ended, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn peer_that_reads_nothing_or_next_to_nothing_is_cut() {
        for trickle in [0, 1] {
            let (near, mut far) = duplex(1024);
            let mut stream = Progress::new(near, Duration::from_millis(50));
            let written = tokio::spawn(async move { stream.write_all(&vec![0; 1 << 20]).await });
            while !written.is_finished() {
                far.read_exact(&mut vec![0; trickle]).await.unwrap();
                sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(written.await.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut, "{trickle}");
        }
    }

    #[tokio::test]
    async fn peer_that_keeps_up_is_served_for_longer_than_the_limit() {
        let (near, mut far) = duplex(1024);
        let limit = Duration::from_secs(5);
        let mut stream = Progress::new(near, limit);
        let read = tokio::spawn(async move {
            let mut all = Vec::new();
            far.read_to_end(&mut all).await.map(|_| all.len())
        });
        stream.write_all(&vec![0; 1 << 20]).await.unwrap();
        // A slow phase ends once the peer has taken enough.
        assert!(stream.slow.as_ref().is_none_or(|slow| slow.taken < LEAST));
        drop(stream);
        assert_eq!(read.await.unwrap().unwrap(), 1 << 20);
    }
}
