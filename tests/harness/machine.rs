//! The parts of the machine that the group `system-tests` uses.

use std::env;
use std::path::{Path, PathBuf};

use super::copy_changed;

/// Copies a project.
pub(crate) fn copy(from: &Path, to: &Path) {
    copy_changed(from, to, &|bytes| bytes);
    // As in its repository, a project may use what is beside it.
    std::fs::create_dir_all(to.join(".git")).unwrap();
}

/// Returns the interpreter with the packages of `tests/python/requirements.txt`.
pub(crate) fn python() -> PathBuf {
    let state = || env::var_os("AGENTCLI_TEST_STATE").unwrap_or_else(|| "/var/tmp/agentcli-tests".into());
    let python = env::var_os("AGENTCLI_TEST_PYTHON")
        .map_or_else(|| Path::new(&state()).join("python/bin/python"), PathBuf::from);
    assert!(python.exists(), "{} does not exist; run tests/python/install", python.display());
    python
}

/// Returns the path in `variable`, which names files outside of the repository.
pub(crate) fn outside(variable: &str) -> PathBuf {
    env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set; see tests/run")).into()
}
