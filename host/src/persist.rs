//! Files that are in their place only when they are whole and on the disk.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Moves a file, whose content is on the disk, to `path`, and brings its new name to the disk too.
pub(crate) fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path)?;
    sync(path.parent().unwrap_or(Path::new(".")))
}

#[cfg(unix)]
fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}
