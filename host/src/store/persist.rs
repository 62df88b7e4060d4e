//! Files that are in their place only when they are whole and on the disk.

use std::error::Error;
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

/// The error of the system that `error` comes from, without the texts around it: they name paths of this machine.
pub(crate) fn system_error(error: io::Error) -> io::Error {
    let mut source: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(cause) = source {
        if let Some(code) = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return io::Error::from_raw_os_error(code);
        }
        // An I/O error that wraps another one does not name it as its source.
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        source = wrapped.map(|wrapped| wrapped as _).or_else(|| cause.source());
    }
    error.kind().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_have_no_paths() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let error = NamedTempFile::new_in(&missing).unwrap_err();
        assert!(error.to_string().contains("missing"));
        assert_eq!(system_error(error).kind(), io::ErrorKind::NotFound);
        let inner = File::open(missing).unwrap_err();
        let code = inner.raw_os_error();
        assert_eq!(system_error(io::Error::other(inner)).raw_os_error(), code);
        assert_eq!(system_error(io::Error::other("/a/path")).kind(), io::ErrorKind::Other);
    }
}
