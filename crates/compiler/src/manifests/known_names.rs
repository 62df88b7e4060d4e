//! Importable names that only some versions of Python, or of the libraries of agents, provide. `data/standard-names.txt` and
//! `data/library-names.txt` say so, each written by the script beside it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::symbols::Import;

/// The distributions of the second file. Those of the server, and what fits beside them, are versions that it counts.
pub const LIBRARIES: &[&str] = &["langchain", "langchain-core", "langgraph"];

/// The versions of [`LIBRARIES`] that it counts.
pub const COUNTED: &str = ">=1";

/// The two words that follow each dotted name.
type Names = LazyLock<HashMap<&'static str, (&'static str, &'static str)>>;

static STANDARD: Names = LazyLock::new(|| read(include_str!("../../data/standard-names.txt")));

static REMOVED: Names = LazyLock::new(|| read(include_str!("../../data/library-names.txt")));

fn read(text: &'static str) -> HashMap<&'static str, (&'static str, &'static str)> {
    let names = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    names.filter_map(|(name, rest)| Some((name, rest.split_once(' ')?))).collect()
}

/// The minor versions of Python 3 that have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Minors {
    /// This one and later ones.
    From(u8),
    /// This one and earlier ones.
    To(u8),
}

/// The first dotted name of `import` that the standard library of Python 3.`minor` lacks, with the versions that have it.
pub fn missing_in_python(import: &Import, minor: u8) -> Option<(String, Minors)> {
    import.loaded().into_iter().find_map(|name| {
        let (first, last) = STANDARD.get(&*name)?;
        let first = first.parse().ok().filter(|first| minor < *first).map(Minors::From);
        let last = last.parse().ok().filter(|last| minor > *last).map(Minors::To);
        Some((name, first.or(last)?))
    })
}

/// A name that a library had.
pub struct Removed {
    /// With the module before it.
    pub name: String,
    /// A version that had it.
    pub version: &'static str,
    /// The module that has the name now.
    pub home: Option<&'static str>,
}

/// The first dotted name of `import` that a library has no longer.
pub fn missing_in_library(import: &Import) -> Option<Removed> {
    import.loaded().into_iter().find_map(|name| {
        let (version, home) = REMOVED.get(&*name)?;
        Some(Removed { name, version, home: Some(*home).filter(|home| *home != "-") })
    })
}
