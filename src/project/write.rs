//! Writing so that a reader sees the old file or the new one, never half of one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Error;

/// How many links to a file are followed; the same bound as Linux has.
const MAX_LINKS: usize = 40;

/// Replaces what `path` holds by `bytes`, in one step. Links are followed, so that what they lead to is replaced;
/// the permissions of a file that is there are kept. Nothing changes where this fails.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes).map_err(|source| Error::Write { path: path.to_string_lossy().into_owned(), source })
}

/// Makes a directory that git does not see, by a file of its own.
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
        // What went wrong first is what the user must hear of.
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
    Err(io::Error::other("a link leads in a circle"))
}

/// A name in the same directory, so that renaming never crosses file systems.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(target.with_file_name(hidden))
}
