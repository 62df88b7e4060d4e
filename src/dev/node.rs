//! The Node.js that runs the JavaScript.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::answer::answer;
use super::error::Error;
use super::session::Surroundings;
use crate::child::Command;
use crate::compiler::server::OLDEST_NODE;

/// How to get a suitable one.
pub(super) const ADVICE: &str =
    "install one (`brew install node`, `nvm install --lts`, or from nodejs.org) and put it on the PATH";

/// A suitable Node.js.
pub(super) struct Node {
    pub(super) path: PathBuf,
    /// Its version.
    pub(super) version: String,
    /// A warning if it is not of the pinned version.
    pub(super) warning: Option<String>,
}

/// Every Node.js on the PATH, in order of preference.
pub(super) fn candidates(surroundings: &Surroundings) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in std::env::split_paths(&surroundings.path).map(|folder| folder.join("node")) {
        if path.is_file() && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Finds the first that is new enough and of the pinned version; else one that is new enough.
pub(super) async fn find(
    directory: &Path,
    candidates: &[PathBuf],
    pinned: Option<&str>,
    limit: Duration,
) -> Result<Node, Error> {
    let mut other = None;
    let mut rejected = Vec::new();
    for path in candidates {
        let shown = path.display();
        let version = match version(path, directory, limit).await {
            Ok(version) => version,
            Err(reason) => {
                rejected.push(format!("`{shown}` {reason}"));
                continue;
            }
        };
        if major(&version).is_none_or(|major| major < OLDEST_NODE) {
            rejected.push(format!("`{shown}` is Node.js {version}"));
            continue;
        }
        let is_pinned = |pinned: &str| pinned.parse().ok() == major(&version);
        let Some(pinned) = pinned.filter(|pinned| !is_pinned(pinned)) else {
            return Ok(Node { path: path.clone(), version, warning: None });
        };
        let warning = format!("the configuration pins Node.js {pinned}, and `{shown}` is {version}");
        other.get_or_insert(Node { path: path.clone(), version, warning: Some(warning) });
    }
    other.ok_or_else(|| none(rejected))
}

fn none(rejected: Vec<String>) -> Error {
    Error::NoInterpreter {
        wanted: format!("Node.js {OLDEST_NODE} or later"),
        rejected,
        hint: ADVICE.to_owned(),
    }
}

/// The version of a Node.js. The error is a fragment.
async fn version(node: &Path, directory: &Path, limit: Duration) -> Result<String, String> {
    let (status, mut lines) = answer(&Command::new(node, directory).argument("--version"), limit).await?;
    match lines.pop().unwrap_or_default().trim().strip_prefix('v') {
        Some(version) if status.is_success() => Ok(version.to_owned()),
        _ if status.is_success() => Err("is not Node.js".to_owned()),
        _ => Err(format!("fails with {status}")),
    }
}

fn major(version: &str) -> Option<u64> {
    version.split('.').next()?.parse().ok()
}
