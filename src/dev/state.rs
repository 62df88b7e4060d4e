//! The state that the server keeps between starts.

use std::path::Path;
use std::{fs, io};

use serde::de::IgnoredAny;

use super::HOME;
use super::error::Error;
use super::lock::hidden_directory;
use crate::compiler::back::plan::{Plan, Variant};

/// Messages of the server when it cannot read its state and discards it.
const UNREADABLE: &str = "Failed to load cached data";
const INCOMPATIBLE: &str = "Unable to load cached data";

/// The directories of the state before the last start, and of the last unreadable state.
const BEFORE: &str = "state-before";
const SAVED: &str = "state-unreadable";

/// Creates the directory of the state, which git ignores, and backs up its files, because the server removes or overwrites
/// those that it cannot read. Returns the place of unreadable files that the server would not mention.
pub(super) fn prepare(directory: &Path, plan: &Plan) -> Result<Option<String>, Error> {
    if plan.server.product.with_databases().is_some() {
        return Ok(None);
    }
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

/// Backs up one file. A hard link costs nothing, but needs a server that replaces its files, as the Python server does.
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

/// Whether a line of the server says that it discards its state.
pub(super) fn is_lost(line: &str) -> bool {
    line.contains(UNREADABLE) || line.contains(INCOMPATIBLE)
}

/// Moves the backup of unreadable files to a place that no later start overwrites, and returns it.
pub(super) fn save_lost(directory: &Path) -> Option<String> {
    let home = directory.join(HOME);
    if !home.join(BEFORE).is_dir() {
        return None;
    }
    fs::remove_dir_all(home.join(SAVED)).ok();
    fs::rename(home.join(BEFORE), home.join(SAVED)).ok()?;
    Some(format!("{HOME}/{SAVED}"))
}
