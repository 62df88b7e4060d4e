//! What the server remembers between starts.

use std::fs;
use std::path::Path;

use super::HOME;
use super::error::Error;
use super::lock::hidden_directory;

/// What the server says when it cannot read its state, and throws it away.
const UNREADABLE: &str = "Failed to load cached data";
const INCOMPATIBLE: &str = "Unable to load cached data";

/// Where the state as it was before the last start lies, and the last one that could not be read.
const BEFORE: &str = "state-before";
const SAVED: &str = "state-unreadable";

/// Makes the directory of the state, which git does not see, and keeps what is in it: the server removes files that
/// it cannot read. Links cost nothing, and the server replaces files rather than writing into them.
pub(super) fn prepare(directory: &Path, state: &str) -> Result<(), Error> {
    let state = directory.join(state);
    hidden_directory(&state)?;
    let before = directory.join(HOME).join(BEFORE);
    fs::remove_dir_all(&before).ok();
    let failed = |source| Error::Home { path: before.clone(), source };
    fs::create_dir_all(&before).map_err(failed)?;
    for entry in fs::read_dir(&state).map_err(failed)?.flatten() {
        let (from, to) = (entry.path(), before.join(entry.file_name()));
        if from.is_file() {
            fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(|_| ())).ok();
        }
    }
    Ok(())
}

/// Whether a line of the server's says that state was lost.
pub(super) fn is_lost(line: &str) -> bool {
    line.contains(UNREADABLE) || line.contains(INCOMPATIBLE)
}

/// Puts what could not be read where no later start touches it; the answer is that place.
pub(super) fn save_lost(directory: &Path) -> Option<String> {
    let home = directory.join(HOME);
    if !home.join(BEFORE).is_dir() {
        return None;
    }
    fs::remove_dir_all(home.join(SAVED)).ok();
    fs::rename(home.join(BEFORE), home.join(SAVED)).ok()?;
    Some(format!("{HOME}/{SAVED}"))
}
