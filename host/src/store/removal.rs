//! Removal of directories whose contents others chose.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Removes a directory and what is in it. However deep it is, neither the stack nor the number of open files grows: a directory
/// in a directory of it is moved up.
pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    let root = openat(CWD, path, DIRECTORY, Mode::empty())?;
    let mut moved = 0;
    loop {
        let names = names(&root)?;
        if names.is_empty() {
            return fs::remove_dir(path);
        }
        for name in names {
            if remove(&root, &name)? {
                continue;
            }
            let directory = openat(&root, &name, DIRECTORY, Mode::empty())?;
            for inner in self::names(&directory)? {
                if !remove(&directory, &inner)? {
                    move_up(&directory, &inner, &root, &mut moved)?;
                }
            }
            unlinkat(&root, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// The names in a directory.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

/// Removes what has this name, unless it is a directory that is not empty; returns whether it did.
fn remove(directory: &OwnedFd, name: &CString) -> io::Result<bool> {
    // Systems report that a name is one of a directory in several ways.
    if unlinkat(directory, name, AtFlags::empty()).is_ok() {
        return Ok(true);
    }
    match unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Moves a directory to a name that is free in `to`.
fn move_up(from: &OwnedFd, name: &CString, to: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(from, name, to, moved.to_string()) {
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
            done => return Ok(done?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With more levels than a process may mostly open files, and a longer path than a system takes.
    #[test]
    fn deep_directories_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "").unwrap();
        fs::write(root.path().join("1"), "a name that is taken").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("first link")).unwrap();
        let mut here = openat(CWD, root.path(), DIRECTORY, Mode::empty()).unwrap();
        for _ in 0..5_000 {
            for name in ["a", "b"] {
                rustix::fs::mkdirat(&here, name, Mode::RWXU).unwrap();
            }
            rustix::fs::symlinkat(outside.path(), &here, "link").unwrap();
            here = openat(&here, "a", DIRECTORY, Mode::empty()).unwrap();
        }
        remove_directory(root.path()).unwrap();
        assert!(!root.path().exists());
        assert!(outside.path().join("kept").exists());
    }
}
