//! Locks between processes: of a project, since two servers would write the same state, and of an installation.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use super::HOME;
use super::error::Error;
use super::session::Hooks;
use crate::project;

/// Interval at which a lock is tried that another process holds.
const RETRY: Duration = Duration::from_millis(200);

/// Held while the project runs; the system releases it with the process.
pub(super) struct Lock(#[allow(dead_code, reason = "it is held, not read")] File);

/// Locks the project. Creates the directory of our files, which git ignores.
pub(super) fn lock(directory: &Path) -> Result<Lock, Error> {
    let home = directory.join(HOME);
    hidden_directory(&home)?;
    let path = home.join("lock");
    let failed = |source| Error::Home { path: path.clone(), source };
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            file.read_to_string(&mut holder).ok();
            let holder = Some(holder.trim().to_owned()).filter(|holder| !holder.is_empty());
            return Err(Error::Busy { directory: directory.to_owned(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    let write = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "process {}", std::process::id())
    };
    write(&mut file).map_err(failed)?;
    Ok(Lock(file))
}

/// Waits until no other process installs packages into `directory`, such as that of another project of the workspace; the
/// lock is held as long as the file. None where the file system has no locks.
pub(super) async fn lock_installation(directory: &Path, hooks: &mut dyn Hooks) -> Option<File> {
    let file = File::open(directory).ok()?;
    let mut is_noted = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::Error(_)) => return None,
            Err(TryLockError::WouldBlock) => {}
        }
        if !std::mem::replace(&mut is_noted, true) {
            let shown = directory.display();
            hooks.note(format!("waiting for another process that installs packages into `{shown}`"));
        }
        sleep(RETRY).await;
    }
}

/// Creates a directory that git ignores.
pub(super) fn hidden_directory(path: &Path) -> Result<(), Error> {
    project::hidden_directory(path).map_err(|source| Error::Home { path: path.to_owned(), source })
}
