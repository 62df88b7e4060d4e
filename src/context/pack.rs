//! The archive as one compressed file, for whoever builds elsewhere: its size is known before its first byte is sent,
//! and what was sent can be sent again.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::PathBuf;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Error, Listing};

/// How hard it is compressed: source code gets a few per cent smaller with more, in several times the time.
const LEVEL: u32 = 3;

/// The size of a piece in bytes.
const PIECE: usize = 128 * 1024;

/// How many of the largest paths are named where there is too much.
const LARGEST: usize = 3;

/// A compressed archive (tar and gzip) on disk. It has no name there, and goes with this value.
#[derive(Debug)]
pub struct Packed {
    file: File,
    bytes: u64,
}

impl Listing {
    /// Makes a compressed archive of at most `limit` bytes. The same tree gives the same bytes; memory does not grow
    /// with it. Dropping the future ends the work.
    ///
    /// # Errors
    ///
    /// A link that points outside of the tree, a file that cannot be read or changes meanwhile, an archive larger than
    /// `limit`, or no room for it in the directory for temporary files.
    pub async fn pack(self, limit: u64) -> Result<Packed, Error> {
        self.check_links()?;
        let largest = self.largest(LARGEST);
        let spool = |source| Error::Spool { source };
        let file = tempfile::tempfile().map_err(spool)?;
        let mut archive = self.stream();
        let mut out = GzEncoder::new(Counted { file, bytes: 0 }, Compression::new(LEVEL));
        while let Some(piece) = poll_fn(|task| archive.poll_next(task)).await {
            out.write_all(&piece?).map_err(spool)?;
            if out.get_ref().bytes > limit {
                return Err(Error::TooLarge { limit, largest });
            }
        }
        let Counted { file, bytes } = out.finish().map_err(spool)?;
        if bytes > limit { Err(Error::TooLarge { limit, largest }) } else { Ok(Packed { file, bytes }) }
    }
}

impl Packed {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The piece that begins at `offset`, at most 128 KiB; empty at the end.
    ///
    /// # Errors
    ///
    /// The disk refuses.
    pub fn piece(&self, offset: u64) -> Result<Bytes, Error> {
        let mut piece = Vec::with_capacity(PIECE);
        let mut file = &self.file;
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| {
            let left = self.bytes.saturating_sub(offset);
            file.take(left.min(PIECE as u64)).read_to_end(&mut piece)
        });
        read.map(|_| piece.into()).map_err(|source| Error::Spool { source })
    }
}

/// A file and how much was written to it, in bytes.
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// `a` (1 MB), `b` (3 kB)
pub(super) fn named(largest: &[(PathBuf, u64)]) -> String {
    let one = |(path, bytes): &(PathBuf, u64)| format!("`{}` ({} kB)", path.display(), bytes.div_ceil(1000));
    largest.iter().map(one).collect::<Vec<_>>().join(", ")
}
