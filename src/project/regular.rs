//! Opens a file without following a link and without waiting for the writer of a pipe, and creates files that only their owner
//! can read.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::Path;

/// What there is at a path.
pub(super) enum Opened {
    Directory,
    /// A regular file and its size in bytes.
    File(File, u64),
    Link,
    /// A pipe, a socket or a device.
    Special,
}

pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let file = match options(path)?.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(error) => return path.symlink_metadata().ok().and_then(unopened).ok_or(error),
    };
    let metadata = file.metadata()?;
    Ok(match metadata.file_type() {
        kind if kind.is_file() => Opened::File(file, metadata.len()),
        kind if kind.is_dir() => Opened::Directory,
        _ => Opened::Special,
    })
}

/// Why a path cannot be opened, if its kind is the reason.
fn unopened(metadata: std::fs::Metadata) -> Option<Opened> {
    match metadata.file_type() {
        kind if kind.is_symlink() => Some(Opened::Link),
        kind if kind.is_dir() => Some(Opened::Directory),
        kind if kind.is_file() => None,
        _ => Some(Opened::Special),
    }
}

#[cfg(unix)]
fn options(_: &Path) -> io::Result<OpenOptions> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits().cast_signed());
    Ok(options)
}

/// A link is refused before it is opened: other systems have no portable way to do both at once.
#[cfg(not(unix))]
fn options(path: &Path) -> io::Result<OpenOptions> {
    let is_link = path.symlink_metadata()?.is_symlink();
    let mut options = File::options();
    // Without any access, opening fails, and the kind of the path is the reason.
    options.read(!is_link);
    Ok(options)
}

/// Opens a device, or a pipe that somebody reads, for writing.
pub(super) fn open_special(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::{OFlags, fcntl_setfl};

        // Without a reader, opening a pipe fails at once; writing to it may wait.
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let file = options.open(path)?;
        fcntl_setfl(&file, OFlags::empty())?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// Creates a file with the permissions of any new file, or for its owner alone.
pub(super) fn create(path: &Path, is_secret: bool) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_secret { 0o600 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = is_secret;
    options.open(path)
}

/// The permissions of the file that is replaced, for its owner alone if the new one is secret.
#[cfg(unix)]
pub(super) fn permissions(old: &Metadata, is_secret: bool) -> Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = old.permissions().mode();
    Permissions::from_mode(if is_secret { mode & 0o700 } else { mode })
}

#[cfg(not(unix))]
pub(super) fn permissions(old: &Metadata, _: bool) -> Permissions {
    old.permissions()
}
