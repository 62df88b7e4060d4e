//! Atomic writes: a reader sees the old file or the new one, never a part of one.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Error, regular};
use crate::compiler::back::emit::heading::holds_values;

/// The end of the name of a temporary file, after the characters that `tempfile` makes.
const SUFFIX: &str = ".tmp";

/// Number of these characters.
const RANDOM: usize = 6;

/// Longest chain of links to a file, as on Linux.
const MAX_LINKS: usize = 40;

/// Replaces the contents of `path` with `bytes`, in one step. Links within its directory are followed, so their target is
/// replaced; the permissions of an existing file are kept, but nobody else can read a generated file with values of `env`. On
/// failure nothing changes. A device or a pipe gets the bytes.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let is_special = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    let written = if is_special {
        regular::open_special(path).and_then(|mut file| file.write_all(bytes))
    } else {
        follow(path).and_then(|target| replace(&target, bytes, holds_values(bytes)))
    };
    written.map_err(|source| failed(path, source))
}

/// The same for a file that nobody else can read, in directories that are created if they are not there.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(directory).and_then(|()| replace(path, bytes, true));
    written.map_err(|source| failed(path, source))
}

/// The same for a file of ours in a [`hidden_directory`]: a link, which the project may bring, is replaced itself.
pub fn write_hidden(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, bytes, holds_values(bytes)).map_err(|source| failed(path, source))
}

/// The same for a file in a directory that is created if it is not there.
pub fn write_in_directory(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let directory = path.parent().unwrap_or(path);
    match fs::create_dir(directory) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => Err(failed(directory, source)),
        _ => write_atomically(path, bytes),
    }
}

/// Creates a directory that git ignores, by a .gitignore file inside it. Nothing is written through links.
pub fn hidden_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    if path.is_symlink() {
        return Err(io::Error::other("it is a symbolic link"));
    }
    match File::create_new(path.join(".gitignore")) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        ignore => ignore?.write_all(b"*\n"),
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_string_lossy().into_owned(), source }
}

fn replace(target: &Path, bytes: &[u8], is_secret: bool) -> io::Result<()> {
    let old = fs::symlink_metadata(target).ok().filter(|old| !old.is_symlink());
    if old.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut file = beside(target, is_secret)?;
    // Without locks, as on some network file systems, nothing is swept.
    _ = file.as_file().try_lock();
    if let Some(old) = old {
        file.as_file().set_permissions(regular::permissions(&old, is_secret))?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(target).map(drop).map_err(|error| error.error)
}

/// The file that a link leads to. Who names a file does not mean one that the link of somebody else's project leads to.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) if target == path => return Ok(target),
            Err(_) if real_parent(&target)?.starts_with(real_parent(path)?) => return Ok(target),
            Err(_) => return Err(io::Error::other("it is a symbolic link out of its directory")),
        }
    }
    Err(io::Error::other("the symbolic link is part of a loop"))
}

/// The directory of a file, without links.
fn real_parent(path: &Path) -> io::Result<PathBuf> {
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).canonicalize()
}

/// A new file in the same directory, so that renaming never crosses file systems. It is removed unless it is renamed, and the
/// next call removes what a killed program left.
fn beside(target: &Path, is_secret: bool) -> io::Result<NamedTempFile> {
    let name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = target.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    sweep(directory, &prefix);
    let create = |path: &Path| regular::create(path, is_secret);
    tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).make_in(directory, create)
}

/// Removes files of [`beside`] that no running program has locked.
fn sweep(directory: &Path, prefix: &OsStr) {
    let is_temporary = |name: &OsStr| {
        let middle = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
        let middle = middle.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        middle.is_some_and(|middle| middle.len() == RANDOM && middle.iter().all(u8::is_ascii_alphanumeric))
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for path in entries.filter(|entry| is_temporary(&entry.file_name())).map(|entry| entry.path()) {
        // One that is empty may be about to be locked.
        let is_ended = |file: File| file.metadata().is_ok_and(|it| it.len() > 0) && file.try_lock().is_ok();
        let is_left = File::open(&path).is_ok_and(is_ended);
        if is_left {
            // Another program may have removed it meanwhile.
            _ = fs::remove_file(&path);
        }
    }
}
