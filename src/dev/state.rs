//! What the server remembers between starts.

use std::path::Path;
use std::{fs, io};

use serde::de::IgnoredAny;

use super::HOME;
use super::error::Error;
use super::lock::hidden_directory;
use crate::compiler::back::plan::{Plan, Variant};

/// What the server says when it cannot read its state, and throws it away.
const UNREADABLE: &str = "Failed to load cached data";
const INCOMPATIBLE: &str = "Unable to load cached data";

/// Where the state as it was before the last start lies, and the last one that could not be read.
const BEFORE: &str = "state-before";
const SAVED: &str = "state-unreadable";

/// Makes the directory of the state, which git does not see, and keeps what is in it: the server removes, or writes
/// over, files that it cannot read. Where it says nothing of that, the answer is where those files are now.
pub(super) fn prepare(directory: &Path, plan: &Plan) -> Result<Option<String>, Error> {
    let state = directory.join(&plan.local.state);
    hidden_directory(&state)?;
    let before = directory.join(HOME).join(BEFORE);
    fs::remove_dir_all(&before).ok();
    let failed = |source| Error::Home { path: before.clone(), source };
    fs::create_dir_all(&before).map_err(failed)?;
    let is_javascript = plan.server.variant == Variant::Javascript;
    let mut is_lost = false;
    for entry in fs::read_dir(&state).map_err(failed)?.flatten() {
        let (from, to) = (entry.path(), before.join(entry.file_name()));
        if from.is_file() {
            keep(&from, &to, is_javascript).ok();
            is_lost |= is_javascript && is_broken_json(&from);
        }
    }
    Ok(if is_lost { save_lost(directory) } else { None })
}

/// Keeps one file. A link costs nothing, but only the Python server replaces its files; the other writes into them.
fn keep(from: &Path, to: &Path, is_written_into: bool) -> io::Result<()> {
    if is_written_into || fs::hard_link(from, to).is_err() {
        fs::copy(from, to)?;
    }
    Ok(())
}

fn is_broken_json(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let read = || serde_json::from_slice::<IgnoredAny>(&fs::read(path).ok()?).ok();
    is_json && read().is_none()
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
