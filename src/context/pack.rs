//! The archive as one compressed file, for a remote build: its size is known before the first byte is sent, and it can be
//! sent again after a failure.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Error, Listing};

/// Compression level: higher ones make source code a few per cent smaller in several times the time.
const LEVEL: u32 = 3;

/// Number of large paths to name when the archive is too large.
const LARGEST: usize = 3;

/// A compressed archive (tar and gzip) in an unnamed temporary file, which is deleted with this value.
#[derive(Debug)]
pub struct Packed {
    file: Arc<Mutex<File>>,
    bytes: u64,
}

/// Reads a packed archive from start to end. There may be several readers at once.
struct Reader {
    file: Arc<Mutex<File>>,
    offset: u64,
}

impl Listing {
    /// Makes a compressed archive of at most `limit` bytes. The same tree gives the same bytes, and memory does not grow
    /// with its size. Dropping the future stops the work.
    ///
    /// # Errors
    ///
    /// A link points outside the tree, a file cannot be read or changes while it is read, the archive exceeds `limit`, or
    /// the temporary directory is full.
    pub async fn pack(self, limit: u64) -> Result<Packed, Error> {
        self.check_links()?;
        let largest = self.largest(LARGEST);
        let spool = |source| Error::Spool { source };
        let file = tempfile::tempfile().map_err(spool)?;
        let mut archive = self.stream();
        let mut out = GzEncoder::new(Counted { file, bytes: 0 }, Compression::new(LEVEL));
        while let Some(chunk) = poll_fn(|task| archive.poll_next(task)).await {
            out.write_all(&chunk?).map_err(spool)?;
            if out.get_ref().bytes > limit {
                return Err(Error::TooLarge { limit, largest });
            }
        }
        let Counted { file, bytes } = out.finish().map_err(spool)?;
        if bytes > limit {
            return Err(Error::TooLarge { limit, largest });
        }
        Ok(Packed { file: Arc::new(Mutex::new(file)), bytes })
    }
}

impl Packed {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A reader at its start.
    pub fn reader(&self) -> impl Read + Send + 'static {
        Reader { file: Arc::clone(&self.file), offset: 0 }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        let count = file.read(buffer)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// A file and the number of bytes written to it.
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
