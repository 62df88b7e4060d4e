//! A directory below which an archive is written. Each name is opened in the directory before it, and no link is followed: no
//! name, link or mode leads anywhere else, whatever the text of the archive is.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawMode};
use rustix::fs::{fchmod, linkat, mkdirat, openat, statat, symlinkat};
use rustix::io::Errno;

/// How directories are opened.
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How files are created: never over something that is there.
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);

/// Permissions of a mode.
const PERMISSIONS: RawMode = 0o777;

/// The directory. All paths below it are names only, without `.` and `..`.
pub(super) struct Root {
    directory: OwnedFd,
    /// Number of directories that were made.
    pub(super) made: u64,
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { directory: openat(CWD, path, DIRECTORY, Mode::empty())?, made: 0 })
    }

    /// Makes a directory and those above it, unless they are there. This user may change and remove what is in it, whatever
    /// the mode is.
    pub(super) fn directory(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        let directory = self.made(path)?;
        // The root is not the archive's.
        if !path.as_os_str().is_empty() {
            fchmod(directory, permissions(mode, 0o700))?;
        }
        Ok(())
    }

    /// Writes a new file, which this user may read and change, whatever the mode is.
    pub(super) fn file(&mut self, path: &Path, mode: u32, content: &mut impl io::Read) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        let mut file = File::from(openat(parent, name, NEW, permissions(0, 0o600))?);
        io::copy(content, &mut file)?;
        Ok(fchmod(file, permissions(mode, 0o600))?)
    }

    /// Makes a symbolic link, which may lead anywhere.
    pub(super) fn symlink(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(symlinkat(target, parent, name)?)
    }

    /// Gives a file another name; returns its size in bytes, or nothing if the target is not a file.
    pub(super) fn link(&mut self, path: &Path, target: &Path) -> io::Result<Option<u64>> {
        let (parent, name) = self.parent(path)?;
        let mut source = self.directory.try_clone()?;
        for name in target.parent().into_iter().flatten() {
            source = open(&source, name)?;
        }
        let found = statat(&source, last(target), AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        linkat(source, last(target), parent, name, AtFlags::empty())?;
        Ok(Some(found.st_size.unsigned_abs()))
    }

    /// The directory of an entry, which is made if it is not there, and its name in it.
    fn parent<'a>(&mut self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        Ok((self.made(path.parent().unwrap_or(Path::new("")))?, last(path)))
    }

    fn made(&mut self, path: &Path) -> io::Result<OwnedFd> {
        let mut here = self.directory.try_clone()?;
        for name in path {
            here = match open(&here, name) {
                Err(Errno::NOENT) => {
                    self.made += 1;
                    mkdirat(&here, name, permissions(0, 0o755))?;
                    open(&here, name)?
                }
                opened => opened?,
            };
        }
        Ok(here)
    }
}

fn open(directory: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(directory, name, DIRECTORY, Mode::empty())
}

fn last(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

fn permissions(mode: u32, least: RawMode) -> Mode {
    #[allow(clippy::unnecessary_cast, reason = "it has 16 bits on some systems")]
    let mode = mode as RawMode;
    Mode::from_raw_mode((mode | least) & PERMISSIONS)
}
