//! Locks between processes: of a project, since two servers would write the same state, and of an installation.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use super::HOME;
use super::error::Error;
use super::session::Hooks;
use crate::project;

/// Interval at which a lock is tried that another process holds.
const RETRY: Duration = Duration::from_millis(200);

/// Held while the project runs; the system releases it with the process. The file holds the process and, once the server
/// is ready, the URL of its API.
pub(super) struct Lock(File);

impl Lock {
    /// Writes the URL of the server's API for [`running_url`], which is a convenience: failures are ignored.
    pub(super) fn publish(&mut self, url: &str) {
        write(&mut self.0, Some(url)).ok();
    }
}

fn write(file: &mut File, url: Option<&str>) -> io::Result<()> {
    let url = url.map(|url| format!("{url}\n")).unwrap_or_default();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("process {}\n{url}", std::process::id()).as_bytes())
}

/// The URL of the API of the server that runs for the project in `directory`, once it is ready.
pub fn running_url(directory: &Path) -> Option<String> {
    let mut file = File::open(directory.join(HOME).join("lock")).ok()?;
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let url = text.lines().nth(1)?.to_owned();
    // The URL of a process that was killed is still there.
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then_some(url)
}

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
            let holder = holder.lines().next().map(|holder| holder.trim().to_owned());
            let holder = holder.filter(|holder| !holder.is_empty());
            return Err(Error::Busy { directory: directory.to_owned(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    write(&mut file, None).map_err(failed)?;
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
