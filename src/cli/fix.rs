//! Makes the safe fixes of findings.

use std::path::Path;

use similar::Algorithm;
use similar::udiff::unified_diff;

use super::check;
use super::console::visible;
use crate::compiler::finding::Checked;
use crate::compiler::front::document::{apply, disjoint};
use crate::compiler::server::product::Product;

/// Maximum number of rounds: a fix can show another mistake.
const MAX_ROUNDS: usize = 10;

/// Number of equal lines around a change in a diff.
const CONTEXT: usize = 3;

/// A configuration after its fixes.
#[derive(Debug)]
pub struct Fixed {
    /// As it was.
    pub before: Checked,
    /// With all safe fixes; none if there was nothing to fix.
    pub after: Option<Checked>,
    /// Number of findings that were fixed.
    pub count: usize,
}

impl Fixed {
    /// Makes all safe fixes of `before`, the configuration at `path`, relative to `directory`, for `server`. Writes nothing.
    pub fn new(before: Checked, server: &'static Product, directory: &Path, path: &Path) -> Self {
        let mut fixed = Self { before, after: None, count: 0 };
        for _ in 0..MAX_ROUNDS {
            let checked = fixed.now();
            let (edits, count) = disjoint(checked.safe_fixes().map(|finding| finding.edits.as_slice()));
            if edits.is_empty() {
                break;
            }
            let text = apply(&checked.source.text, edits);
            fixed.after = Some(check::check_content(directory, path, server, text.into_bytes()));
            fixed.count += count;
        }
        fixed
    }

    /// The configuration with the fixes.
    pub fn now(&self) -> &Checked {
        self.after.as_ref().unwrap_or(&self.before)
    }

    /// The configuration with the fixes.
    pub fn into_now(self) -> Checked {
        self.after.unwrap_or(self.before)
    }

    /// The changes as a unified diff with masked secrets; empty if there are none.
    pub fn diff(&self) -> String {
        let Some(after) = &self.after else { return String::new() };
        let (before, after) = (self.before.source.shown(), after.source.shown());
        let name = &self.before.source.name;
        let diff = unified_diff(Algorithm::default(), &before, &after, CONTEXT, Some((name, name)));
        diff.split_inclusive('\n').map(visible_end).collect()
    }
}

/// The line of a text, whose line end may be that of Windows, without control characters.
fn visible_end(line: &str) -> String {
    let content = line.trim_end_matches(['\r', '\n']);
    format!("{}{}", visible(content), &line[content.len()..])
}
