//! The archive as one compressed file, for whoever builds elsewhere: its size is known before its first byte is sent,
//! and what was sent can be sent again.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Error, Listing};

/// How hard it is compressed: source code gets a few per cent smaller with more, in several times the time.
const LEVEL: u32 = 3;

/// How many of the largest paths are named where there is too much.
const LARGEST: usize = 3;

/// A compressed archive (tar and gzip) on disk. It has no name there, and goes with this value.
#[derive(Debug)]
pub struct Packed {
    file: Arc<Mutex<File>>,
    bytes: u64,
}

/// A packed archive from its start to its end. There may be several at once.
struct Reader {
    file: Arc<Mutex<File>>,
    offset: u64,
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
        if bytes > limit {
            return Err(Error::TooLarge { limit, largest });
        }
        Ok(Packed { file: Arc::new(Mutex::new(file)), bytes })
    }
}

impl Packed {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Begins to read it.
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
