//! Files that select a version of Python or Node.js for the tools on a developer's machine.

use std::ops::Range;

use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Those for Python.
pub const PYTHON_FILES: &[&str] = &[".python-version"];

/// Those for Node.js, the first one that tools read first.
pub const NODE_FILES: &[&str] = &[".nvmrc", ".node-version"];

/// Prefixes of version numbers.
const PREFIXES: &[&str] = &["cpython-", "cpython@", "python", "v"];

/// Such a file.
pub struct VersionFile {
    /// Its path.
    pub path: String,
    /// Its content.
    pub text: String,
    /// The number of the version, in bytes: digits and dots.
    pub span: Range<usize>,
}

/// The first of these files in `directory`, if it has a number and not a name such as `lts/iron`.
pub fn find(directory: &str, names: &[&str], files: &Tree) -> Option<VersionFile> {
    let paths = names.iter().map(|name| paths::normalize(&paths::join(directory, name)));
    let path = paths.into_iter().find(|path| files.is_file(path))?;
    let text = files.text(&path)?.to_string();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let number = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let start = number.as_ptr() as usize - text.as_ptr() as usize;
    let span = start..start + number.len();
    is_number.then_some(VersionFile { path, text, span })
}
