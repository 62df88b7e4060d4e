//! Atomic writes: a reader sees the old file or the new one, never a part of one.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Error;

/// Longest chain of links to a file, as on Linux.
const MAX_LINKS: usize = 40;

/// Replaces the contents of `path` with `bytes`, in one step. Links are followed, so their target is replaced; the
/// permissions of an existing file are kept. On failure nothing changes.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|source| Error::Write { path: path.to_string_lossy().into_owned(), source })
}

/// The same for a file in a directory that is created if it is not there.
pub fn write_in_directory(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(path);
    match fs::create_dir(directory) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::Write { path: directory.to_string_lossy().into_owned(), source })
        }
        _ => write_atomically(path, bytes),
    }
}

/// Creates a directory that git ignores, by a .gitignore file inside it.
pub fn hidden_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    let ignore = path.join(".gitignore");
    if ignore.exists() { Ok(()) } else { fs::write(&ignore, "*\n") }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = follow(path)?;
    let old = fs::metadata(&target).ok();
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut file = beside(&target)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("the symbolic link is part of a loop"))
}

/// A new file in the same directory, so that renaming never crosses file systems. It is removed unless it is renamed.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = target.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    // With the permissions of any new file, unlike a temporary one.
    let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    tempfile::Builder::new().prefix(&prefix).suffix(".tmp").make_in(directory, create)
}
