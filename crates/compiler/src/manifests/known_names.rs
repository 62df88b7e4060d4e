//! Importable names that only some versions of Python, or of the libraries of agents, provide, and those that no version
//! does. `data/standard-names.txt`, `data/library-names.txt` and `data/library-modules.txt` say so, written by the scripts
//! beside them.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use super::symbols::Import;
use crate::words::similar;

/// The distributions of the other two files. Those of the server, and what fits beside them, are versions that they count.
pub const LIBRARIES: &[&str] = &["langchain", "langchain-core", "langgraph"];

/// The versions of [`LIBRARIES`] that they count.
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

/// The modules of the libraries, each with its names; a `-` is before one that it only imports, and `*` is any.
static MODULES: LazyLock<BTreeMap<&'static str, &'static str>> = LazyLock::new(|| {
    let lines = include_str!("../../data/library-modules.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(' ')).collect()
});

/// A name that a module of a library never had.
pub struct Mistaken {
    /// Without its module.
    pub name: String,
    /// What may be meant instead: a name of the module, or another module that has the name.
    pub meant: Result<&'static str, &'static str>,
}

/// The first name of `import` that its module lacks, if it is near another one, or another module has it. Versions that are
/// newer than the file may have any other name.
pub fn mistaken_in_library(import: &Import) -> Option<Mistaken> {
    let module = import.module.as_str();
    let below = format!("{module}.");
    let is_shared = || MODULES.range(&*below..).next().is_some_and(|(it, _)| it.starts_with(&below));
    // Distributions share a package that has nothing but modules.
    let names = MODULES.get(module).copied().or_else(|| is_shared().then_some(""))?;
    let names = || names.split(' ');
    let has = |name: &str| names().any(|it| it == "*" || it.trim_start_matches('-') == name);
    let is_module = |name: &str| MODULES.contains_key(&*format!("{below}{name}"));
    // The file has no names of two letters, nor those with an underscore.
    let is_listed = |name: &&String| name.len() > 2 && !name.starts_with('_');
    import.names.iter().filter(is_listed).filter(|name| !has(name) && !is_module(name)).find_map(|name| {
        let own = names().filter(|it| !it.starts_with('-'));
        let meant = home(name, import.first()).map(Err).or_else(|| similar(name, own).map(Ok))?;
        Some(Mistaken { name: name.clone(), meant })
    })
}

/// The module with the shortest name that has `name` itself, of `package` if one does.
fn home(name: &str, package: &str) -> Option<&'static str> {
    let homes =
        MODULES.iter().filter(|(_, names)| names.split(' ').any(|it| it == name)).map(|(module, _)| *module);
    let is_far = |module: &str| module.split('.').next() != Some(package);
    homes.min_by_key(|module| (is_far(module), module.matches('.').count(), module.len(), *module))
}
