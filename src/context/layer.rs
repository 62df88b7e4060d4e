//! The archive as a layer of an image, as if an engine had copied the context to a directory.

use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

use super::archive::MODIFIED;
use super::{Error, Listing};

/// Compression level.
const LEVEL: u32 = 6;

/// A compressed layer (tar and gzip).
#[derive(Clone, Debug)]
pub struct Layer {
    /// Its bytes.
    pub bytes: Bytes,
    /// SHA-256 of the archive before compression, `sha256:` and 64 hexadecimal digits.
    pub diff_id: String,
}

/// A directory above the copied files, as a layer has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parent {
    path: PathBuf,
    mode: u32,
    owner: (u64, u64),
    modified: u64,
}

impl Listing {
    /// The layer with the context in `directory`, an absolute path in the image, below `parents`. The same tree gives the
    /// same bytes.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or changes while it is read.
    pub fn layer(&self, directory: &str, parents: &[Parent]) -> Result<Layer, Error> {
        let out = Hashed { out: GzEncoder::new(Vec::new(), Compression::new(LEVEL)), hasher: Sha256::new() };
        let mut archive = tar::Builder::new(out);
        let write = |source| Error::Write { source };
        for parent in parents {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Directory);
            header.set_mode(parent.mode);
            header.set_uid(parent.owner.0);
            header.set_gid(parent.owner.1);
            header.set_mtime(parent.modified);
            header.set_size(0);
            archive.append_data(&mut header, &parent.path, io::empty()).map_err(write)?;
        }
        let prefix = Path::new(directory.trim_matches('/'));
        for entry in &self.entries {
            self.append(&mut archive, entry, &prefix.join(&entry.path))?;
        }
        let Hashed { out, hasher } = archive.into_inner().map_err(write)?;
        let bytes = out.finish().map_err(write)?;
        Ok(Layer { bytes: bytes.into(), diff_id: format!("sha256:{}", hex::encode(hasher.finalize())) })
    }
}

impl Parent {
    /// Modification time of new ones, that of all entries.
    pub const MODIFIED: u64 = MODIFIED;

    /// `directory` and the directories above it, as the beginning of a compressed layer has them.
    ///
    /// # Errors
    ///
    /// The layer is no archive, or lacks one of them among its first entries.
    pub fn read(beginning: &[u8], directory: &str) -> io::Result<Vec<Self>> {
        let mut expected: Vec<&Path> = Path::new(directory.trim_matches('/')).ancestors().collect();
        expected.retain(|path| !path.as_os_str().is_empty());
        let mut archive = tar::Archive::new(GzDecoder::new(beginning));
        let mut found = Vec::new();
        for entry in archive.entries()? {
            let entry = entry?;
            let Some(path) = expected.pop() else { break };
            let header = entry.header();
            if entry.path()?.components().ne(path.components()) || !header.entry_type().is_dir() {
                return Err(io::Error::other("it is not the layer of the source"));
            }
            found.push(Self {
                path: path.to_owned(),
                mode: header.mode()? & 0o7777,
                owner: (header.uid()?, header.gid()?),
                modified: header.mtime()?,
            });
        }
        if expected.is_empty() { Ok(found) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Passes an archive on, and hashes it.
struct Hashed<W> {
    out: W,
    hasher: Sha256,
}

impl<W: io::Write> io::Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::compiler::manifests::dockerignore::Ignore;
    use crate::context::Context;

    #[test]
    fn a_layer_is_read_as_it_was_written() {
        let root = tempfile::TempDir::new().unwrap();
        let context = Context {
            root: root.path().to_owned(),
            ignore: Ignore::default(),
            extra: vec![("a".to_owned(), b"text".to_vec())],
            configurations: Vec::new(),
        };
        let parent = |path: &str, mode| Parent { path: path.into(), mode, owner: (1, 2), modified: 3 };
        let parents = [parent("deps", 0o700), parent("deps/app", 0o755)];
        let listing = context.list().unwrap();
        let layer = listing.layer("/deps/app/", &parents).unwrap();
        assert_eq!(layer.bytes, listing.layer("/deps/app/", &parents).unwrap().bytes);
        assert_eq!(Parent::read(&layer.bytes, "/deps/app/").unwrap(), parents);
        let mut archive = Vec::new();
        GzDecoder::new(&layer.bytes[..]).read_to_end(&mut archive).unwrap();
        assert_eq!(layer.diff_id, format!("sha256:{}", hex::encode(Sha256::digest(&archive))));
        for (bytes, directory) in
            [(&layer.bytes[..], "/other"), (&layer.bytes[..20], "/deps/app"), (b"no", "/deps")]
        {
            assert!(Parent::read(bytes, directory).is_err(), "{directory}");
        }
    }
}
