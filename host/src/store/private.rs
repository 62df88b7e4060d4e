//! Files and directories that only the user of the service can use, whatever its umask is.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Modes of directories and of files.
#[cfg(unix)]
const DIRECTORY: u32 = 0o700;
#[cfg(unix)]
const FILE: u32 = 0o600;

/// Creates a directory with those above it, unless it exists.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY);
    builder.recursive(true).create(path)
}

/// Opens a file for writing, and creates it if it does not exist. Its content stays.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE);
    options.open(path)
}

/// Copies a file.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    io::copy(&mut File::open(from)?, &mut open(to)?).map(drop)
}

/// Takes the permissions of everybody else from a file or a directory, but not from what is in it.
#[cfg(unix)]
pub(crate) fn restrict(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = fs::symlink_metadata(path)?;
    let mode = if found.is_dir() { DIRECTORY } else { FILE };
    if found.is_symlink() || found.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(crate) fn restrict(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The same for everything in a directory, too.
pub(crate) fn restrict_all(path: &Path) -> io::Result<()> {
    restrict(path)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let is_directory = entry.file_type()?.is_dir();
        match if is_directory { restrict_all(&entry.path()) } else { restrict(&entry.path()) } {
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            restricted => restricted?,
        }
    }
    Ok(())
}
