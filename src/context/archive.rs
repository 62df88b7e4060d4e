//! Writing the archive.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};

use super::{Entry, Error, Kind, Listing};

/// Modification time of every entry, in seconds since 1970: 1980-01-02. A build reuses layers by content, so real times
/// would only make equal trees differ; and a zip file, such as a wheel, cannot hold times before 1980 in any time zone.
pub(super) const MODIFIED: u64 = 315_619_200;

impl Listing {
    /// Writes the archive to `out`.
    ///
    /// # Errors
    ///
    /// A file cannot be read or changes while it is read, or `out` fails. The archive is then incomplete.
    pub fn write(&self, out: impl Write) -> Result<(), Error> {
        let mut archive = tar::Builder::new(out);
        for entry in &self.entries {
            self.append(&mut archive, entry, &entry.path)?;
        }
        archive.into_inner().and_then(|mut out| out.flush()).map_err(|source| Error::Write { source })
    }

    /// The contents of an entry as they are sent; those of a directory and a link are empty.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn contents(&self, entry: &Entry) -> Result<Vec<u8>, Error> {
        match &entry.kind {
            Kind::Extra(contents) => Ok(contents.clone()),
            Kind::File(_) => {
                let path = self.root.join(&entry.path);
                std::fs::read(&path).map_err(|source| Error::Read { path, source })
            }
            Kind::Directory | Kind::Link(_) => Ok(Vec::new()),
        }
    }

    /// Appends an entry under `path`.
    pub(super) fn append<W: Write>(
        &self,
        archive: &mut tar::Builder<W>,
        entry: &Entry,
        path: &Path,
    ) -> Result<(), Error> {
        let header = |kind, bytes| header(kind, entry.mode, (0, 0), MODIFIED, bytes);
        let written = match &entry.kind {
            Kind::Directory => archive.append_data(&mut header(EntryType::Directory, 0), path, io::empty()),
            Kind::Extra(contents) => {
                let mut header = header(EntryType::Regular, contents.len() as u64);
                archive.append_data(&mut header, path, &contents[..])
            }
            Kind::File(_) => return self.append_file(archive, entry, path),
            Kind::Link(target) => archive.append_link(&mut header(EntryType::Symlink, 0), path, target),
        };
        written.map_err(|source| Error::Write { source })
    }

    fn append_file<W: Write>(
        &self,
        archive: &mut tar::Builder<W>,
        entry: &Entry,
        path: &Path,
    ) -> Result<(), Error> {
        let mut source = Source::open(self.root.join(&entry.path))?;
        let mut header = header(EntryType::Regular, entry.mode, (0, 0), MODIFIED, source.left);
        let written = archive.append_data(&mut header, path, &mut source);
        match (source.failed.take(), written) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(Error::Write { source: error }),
            (None, Ok(())) => Ok(()),
        }
    }
}

/// The header of an entry with a size in bytes, and a time of modification in seconds since 1970.
pub(super) fn header(kind: EntryType, mode: u32, owner: (u64, u64), modified: u64, bytes: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(bytes);
    header.set_mtime(modified);
    header.set_uid(owner.0);
    header.set_gid(owner.1);
    header
}

/// A file that must yield exactly as many bytes as it had when it was opened, since the header has announced them.
struct Source {
    path: PathBuf,
    file: File,
    left: u64,
    failed: Option<Error>,
}

impl Source {
    fn open(path: PathBuf) -> Result<Self, Error> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        match opened {
            Ok((left, file)) => Ok(Self { path, file, left, failed: None }),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn fail(&mut self, error: Error) -> io::Error {
        self.failed = Some(error);
        io::Error::other("the file cannot be read")
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let path = || self.path.clone();
        match self.file.read(buffer) {
            Ok(0) if self.left == 0 => Ok(0),
            Ok(count) if count > 0 && count as u64 <= self.left => {
                self.left -= count as u64;
                Ok(count)
            }
            Ok(_) => Err(Error::Changed { path: path() }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(source) => Err(Error::Read { path: path(), source }),
        }
        .map_err(|error| self.fail(error))
    }
}
