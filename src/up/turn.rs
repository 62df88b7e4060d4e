//! One change at a time: while one `up` or `down` changes a project, the next waits for its turn.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use same_file::Handle;
use sha2::{Digest as _, Sha256};
use tokio::time::sleep;

use crate::engine::Engine;
use crate::live::Reporter;

/// Interval between attempts.
const RETRY: Duration = Duration::from_millis(100);

/// The right to change a project: a locked file, which is removed with this value. The system unlocks it when the process
/// ends.
pub struct Turn {
    path: PathBuf,
    _locked: File,
}

impl Drop for Turn {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// Waits for the turn; a note says who has it. Returns none if no file can be locked: then the engine, which gives each
/// name to one container only, decides.
pub async fn turn(engine: &Engine, project: &str, reporter: &mut dyn Reporter) -> Option<Turn> {
    let directory = engine.cache()?.join("turns");
    fs::create_dir_all(&directory).ok()?;
    let name = Sha256::digest(format!("{}\n{project}", engine.host()));
    let name = hex::encode(&name[..16]);
    let note = |process: Option<u32>| {
        let who = process.map_or_else(String::new, |process| format!(" (process {process})"));
        let text =
            format!("waiting for another `agentcli up` or `down` of the project `{project}`{who} to finish");
        reporter.note(text);
    };
    lock(directory.join(name), note).await
}

/// Locks the file at `path`. If another process has locked it, calls `wait` once with its ID.
async fn lock(path: PathBuf, wait: impl FnOnce(Option<u32>)) -> Option<Turn> {
    let mut wait = Some(wait);
    loop {
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).ok()?;
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => {
                let cleared = file.set_len(0).and_then(|()| file.rewind());
                cleared.and_then(|()| write!(file, "{}", std::process::id())).ok();
                return Some(Turn { path, _locked: file });
            }
            // Its previous owner has removed it since it was opened.
            Ok(()) => continue,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return None,
        }
        if let Some(wait) = wait.take() {
            let mut process = String::new();
            file.read_to_string(&mut process).ok();
            wait(process.parse().ok());
        }
        sleep(RETRY).await;
    }
}

/// Whether `file` is the file at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let (file, found) = (file.try_clone().and_then(Handle::from_file), Handle::from_path(path));
    file.is_ok_and(|file| found.is_ok_and(|found| found == file))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn one_at_a_time_has_the_turn_and_the_file_is_removed() {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("turn");
        let inside = AtomicUsize::new(0);
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            for _ in 0..20 {
                let turn = runtime.block_on(lock(path.clone(), |_| {})).unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                drop(turn);
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(work)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
