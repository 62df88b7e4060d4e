//! The archive as a layer of an image, as if an engine had copied the context to a directory.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

use super::archive::{MODIFIED, header};
use super::walk::path_bytes;
use super::{Error, Kind, Listing};

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

/// An entry of a layer.
struct LayerEntry {
    path: PathBuf,
    header: Header,
    link: Option<PathBuf>,
    contents: Vec<u8>,
}

impl LayerEntry {
    fn read(mut entry: tar::Entry<'_, impl io::Read>) -> io::Result<Self> {
        // Without a slash at the end of directories.
        let path: PathBuf = entry.path()?.components().collect();
        let (from, kind) = (entry.header(), entry.header().entry_type());
        if !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
            return Err(io::Error::other(format!("`{}` is a special file", path.display())));
        }
        let owner = (from.uid()?, from.gid()?);
        let header = header(kind, from.mode()? & 0o7777, owner, from.mtime()?, entry.size());
        let link = entry.link_name()?.map(Cow::into_owned);
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents)?;
        Ok(Self { path, header, link, contents })
    }

    fn write(mut self, archive: &mut NewArchive) -> io::Result<()> {
        match self.link {
            Some(target) => archive.append_link(&mut self.header, self.path, target),
            None => archive.append_data(&mut self.header, self.path, &self.contents[..]),
        }
    }
}

impl Layer {
    fn of(archive: NewArchive) -> io::Result<Self> {
        let Hashed { out, hasher } = archive.into_inner()?;
        let bytes = out.finish()?.into();
        Ok(Self { bytes, diff_id: format!("sha256:{}", hex::encode(hasher.finalize())) })
    }
}

impl Listing {
    /// The layer with the context in `directory`, an absolute path in the image, below `parents`. The same tree gives the
    /// same bytes.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or changes while it is read.
    pub fn layer(&self, directory: &str, parents: &[Parent]) -> Result<Layer, Error> {
        let mut archive = new_archive();
        let write = |source| Error::Write { source };
        for Parent { path, mode, owner, modified } in parents {
            let mut header = header(EntryType::Directory, *mode, *owner, *modified, 0);
            archive.append_data(&mut header, path, io::empty()).map_err(write)?;
        }
        let prefix = Path::new(directory.trim_matches('/'));
        for entry in &self.entries {
            self.append(&mut archive, entry, &prefix.join(&entry.path))?;
        }
        Layer::of(archive).map_err(write)
    }

    /// The same from `made`, the compressed layer that an engine made of the context: engines differ in the order of the entries
    /// and in compression, and leave out what is the same before: directories, and the files at and below `copied`, which
    /// have to be as they were when they were copied.
    ///
    /// # Errors
    ///
    /// The layer is no archive, or has another kind of entry than files, directories and symbolic links; or a file cannot be
    /// read.
    pub fn layer_of_engine(&self, made: &[u8], directory: &str, copied: &[&String]) -> io::Result<Layer> {
        let mut entries = tar::Archive::new(GzDecoder::new(made))
            .entries()?
            .map(|entry| LayerEntry::read(entry?))
            .collect::<io::Result<Vec<_>>>()?;
        let known: HashSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
        let prefix = Path::new(directory.trim_matches('/'));
        let mut left_out = tar::Builder::new(Vec::new());
        for entry in &self.entries {
            let path = prefix.join(&entry.path);
            let may_be_left_out =
                entry.kind == Kind::Directory || copied.iter().any(|source| entry.path.starts_with(source));
            if may_be_left_out && !known.contains(&path) {
                self.append(&mut left_out, entry, &path).map_err(io::Error::other)?;
            }
        }
        let left_out = left_out.into_inner()?;
        for entry in tar::Archive::new(&left_out[..]).entries()? {
            entries.push(LayerEntry::read(entry?)?);
        }
        entries.sort_by(|one, other| path_bytes(&one.path).cmp(path_bytes(&other.path)));
        let mut archive = new_archive();
        entries.into_iter().try_for_each(|entry| entry.write(&mut archive))?;
        Layer::of(archive)
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

/// An archive in the making.
type NewArchive = tar::Builder<Hashed<GzEncoder<Vec<u8>>>>;

fn new_archive() -> NewArchive {
    let out = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    tar::Builder::new(Hashed { out, hasher: Sha256::new() })
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
    use super::*;
    use crate::compiler::manifests::dockerignore::Ignore;
    use crate::context::Context;

    /// The entries of a layer in another order, format and compression, with a slash at the end of directories, and without those
    /// at and below `left_out`.
    fn as_by_an_engine(layer: &[u8], left_out: &str) -> Vec<u8> {
        let mut out = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut archive = tar::Archive::new(GzDecoder::new(layer));
        let mut entries: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| {
                let mut entry = entry.unwrap();
                let mut contents = Vec::new();
                entry.read_to_end(&mut contents).unwrap();
                let link = entry.link_name().unwrap().map(Cow::into_owned);
                (entry.path().unwrap().into_owned(), entry.header().clone(), link, contents)
            })
            .collect();
        entries.reverse();
        entries.retain(|(path, ..)| !path.starts_with(left_out));
        for (path, from, link, contents) in entries {
            let mut header = tar::Header::new_ustar();
            header.set_entry_type(from.entry_type());
            header.set_mode(from.mode().unwrap() | 0o100_000);
            header.set_mtime(from.mtime().unwrap());
            header.set_uid(from.uid().unwrap());
            header.set_gid(from.gid().unwrap());
            header.set_size(contents.len() as u64);
            match link {
                Some(target) => out.append_link(&mut header, path, target).unwrap(),
                None if from.entry_type().is_dir() => {
                    out.append_data(&mut header, format!("{}/", path.display()), &[][..]).unwrap();
                }
                None => out.append_data(&mut header, path, &contents[..]).unwrap(),
            }
        }
        out.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn a_layer_is_read_as_it_was_written() {
        let root = tempfile::TempDir::new().unwrap();
        let long = root.path().join("d".repeat(90)).join("n".repeat(90));
        std::fs::create_dir_all(&long).unwrap();
        std::fs::write(long.join("f".repeat(90)), "text").unwrap();
        std::fs::write(root.path().join("ü"), "").unwrap();
        std::fs::create_dir(root.path().join("same")).unwrap();
        std::fs::write(root.path().join("same/file"), "text").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("l".repeat(200), root.path().join("link")).unwrap();
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
        let copied = "same".to_owned();
        let by_engine = as_by_an_engine(&layer.bytes, "deps/app/same");
        let again = listing.layer_of_engine(&by_engine, "/deps/app", &[&copied]).unwrap();
        assert_eq!(again.bytes, layer.bytes);
        assert_ne!(listing.layer_of_engine(&by_engine, "/deps/app", &[]).unwrap().bytes, layer.bytes);
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
