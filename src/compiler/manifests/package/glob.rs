//! Patterns of file names as manifests write them.

use crate::compiler::files::{FileKind, Files};
use crate::compiler::manifests::dockerignore::Ignore;
use crate::compiler::paths;

/// More files than these, looked at for one pattern, and it says too little.
const MAX_FILES: usize = 20_000;

/// Directories that tools fill: packages of the project only where they say so by an `__init__.py`.
const GENERATED: &[&str] = &["build", "dist", "node_modules"];

/// What virtual environments hold, whatever they are called.
const ENVIRONMENT: &[&str] = &["pyvenv.cfg", "conda-meta"];

/// The files that `pattern` matches, relative to the package at `base`; a directory that it matches means all in it.
/// Nothing is known of a pattern that leads out of the package, or is none.
pub(super) fn expand(base: &str, pattern: &str, files: &dyn Files) -> Option<Vec<String>> {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if pattern.starts_with('/') || parts.contains(&"..") {
        return None;
    }
    let is_literal = |part: &&&str| !part.contains(['*', '?', '[', '\\']);
    let literal = parts.iter().take_while(is_literal).copied().collect::<Vec<_>>();
    let start = literal.join("/");
    if literal.len() == parts.len() {
        let is_file = files.is_file(&paths::join(base, &start));
        return Some(is_file.then_some(start).into_iter().collect());
    }
    let wanted = compiled(&parts.join("/"))?;
    let mut found = Vec::new();
    let depth = if parts.contains(&"**") { usize::MAX } else { parts.len() - literal.len() };
    let mut left = MAX_FILES;
    collect(base, &paths::normalize(&start), depth, files, &mut left, &mut found)?;
    found.retain(|file| wanted.excludes(file));
    Some(found)
}

/// Whether `name` is one of those that `pattern`, without a `/`, matches; a pattern that is none matches all.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    compiled(pattern).is_none_or(|pattern| pattern.excludes(name))
}

/// The language is that of ignore files, but for what negates a class, and marks at the start of a line.
fn compiled(pattern: &str) -> Option<Ignore> {
    if pattern.starts_with(['#', '!']) || pattern.trim() != pattern || paths::is_unprintable(pattern) {
        return None;
    }
    Ignore::parse(&pattern.replace("[!", "[^")).ok()
}

fn collect(
    base: &str,
    at: &str,
    depth: usize,
    files: &dyn Files,
    left: &mut usize,
    found: &mut Vec<String>,
) -> Option<()> {
    let entries = files.list(&paths::join(base, at));
    if is_foreign(at, &entries) {
        return Some(());
    }
    for (name, kind) in entries {
        let path = paths::join(at, &name);
        *left = left.checked_sub(1)?;
        match kind {
            FileKind::File => found.push(path),
            FileKind::Directory if depth > 1 && is_own(&name) => {
                collect(base, &path, depth - 1, files, left, found)?;
            }
            FileKind::Directory => {}
        }
    }
    Some(())
}

/// Whether a directory or file of this name may be the project's own.
pub(super) fn is_own(name: &str) -> bool {
    !name.starts_with('.') && name != "__pycache__" && !name.ends_with(".egg-info")
}

/// Whether a directory that holds these is filled by tools.
pub(super) fn is_foreign(directory: &str, entries: &[(String, FileKind)]) -> bool {
    let has = |wanted: &str| entries.iter().any(|(name, _)| name == wanted);
    let is_generated = GENERATED.contains(&paths::file_name(directory)) && !has("__init__.py");
    is_generated || ENVIRONMENT.iter().any(|name| has(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::files::MemoryFiles;

    #[test]
    fn patterns_of_files() {
        let files =
            ["p/LICENSE", "p/LICENCE.txt", "p/docs/LICENSE", "p/a/b/c.txt", "p/.git/LICENSE", "LICENSE"];
        let files = MemoryFiles::new(files.map(|file| (file, "")));
        for (pattern, expected) in [
            ("LICENSE", Some(vec!["LICENSE"])),
            ("./LICENSE", Some(vec!["LICENSE"])),
            ("LICEN[CS]E*", Some(vec!["LICENCE.txt", "LICENSE"])),
            ("LICEN[!S]E*", Some(vec!["LICENCE.txt"])),
            ("**/LICENSE", Some(vec!["LICENSE", "docs/LICENSE"])),
            ("docs/*", Some(vec!["docs/LICENSE"])),
            ("a/**/*.txt", Some(vec!["a/b/c.txt"])),
            ("a/*/c.???", Some(vec!["a/b/c.txt"])),
            ("COPYING*", Some(vec![])),
            ("docs", Some(vec![])),
            ("../LICENSE", None),
            ("/LICENSE", None),
            ("LICEN[", None),
            ("LICEN\nSE*", None),
            ("!*", None),
        ] {
            let expected = expected.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(expand("p", pattern, &files), expected, "{pattern}");
        }
        assert!(matches("demo*", "demo_agent") && !matches("demo*", "env") && matches("*", "env"));
    }
}
