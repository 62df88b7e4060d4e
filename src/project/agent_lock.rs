//! `agent.lock` beside a configuration.

use std::path::Path;

use super::{regular_text, with_slashes};
use crate::compiler::agent_lock::{AgentLock, NAME};
use crate::compiler::front::source::Source;
use crate::compiler::manifests::Broken;

/// A lock file that is unreadable, broken or of another version.
#[derive(Debug)]
pub struct UnusableLock {
    /// Its path as for the configuration, with line and column if they are known.
    pub place: String,
    /// The mistake, as a fragment.
    pub message: String,
    /// The next step, if there is a special one.
    pub help: Option<String>,
}

/// The file beside the configuration `config`, a path relative to `directory`; `None` if there is none.
///
/// # Errors
///
/// The file cannot be used.
pub fn agent_lock(directory: &Path, config: &Path) -> Result<Option<AgentLock>, UnusableLock> {
    let path = config.with_file_name(NAME);
    let shown = with_slashes(&path);
    let file = directory.join(&path);
    if file.symlink_metadata().is_err() {
        return Ok(None);
    }
    let Some(text) = regular_text(&file) else {
        let message = "it is not a text file that can be read".to_owned();
        return Err(UnusableLock { place: shown, message, help: None });
    };
    AgentLock::parse(&text).map(Some).map_err(|Broken { message, span, help }| {
        let position = Source::new("", &*text).position(span.start);
        UnusableLock { place: format!("{shown}:{}:{}", position.line, position.column), message, help }
    })
}
