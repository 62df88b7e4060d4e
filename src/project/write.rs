//! Atomic writes: a reader sees the old file or the new one, never a part of one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Error;

/// Longest chain of links to a file, as on Linux.
const MAX_LINKS: usize = 40;

/// Replaces the contents of `path` with `bytes`, in one step. Links are followed, so their target is replaced; the
/// permissions of an existing file are kept. On failure nothing changes.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|source| Error::Write { path: path.to_string_lossy().into_owned(), source })
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
    let temporary = beside(&target)?;
    let permissions = old.map(|metadata| metadata.permissions());
    let written = fill(&temporary, bytes, permissions).and_then(|()| fs::rename(&temporary, &target));
    if written.is_err() {
        // The first error is the one to report.
        fs::remove_file(&temporary).ok();
    }
    written
}

fn fill(temporary: &Path, bytes: &[u8], permissions: Option<fs::Permissions>) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(temporary)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(bytes)?;
    file.sync_all()
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

/// A name in the same directory, so that renaming never crosses file systems.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(target.with_file_name(hidden))
}
