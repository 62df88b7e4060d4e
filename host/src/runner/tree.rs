//! The tree of a build on this machine.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use agentcli::context;

/// Maximum number of bytes of paths to resolve through links.
const EFFORT: u64 = 1 << 29;

/// Maximum number of names in a path: what is read and packed by functions that call themselves for each directory.
pub(super) const DEPTH: usize = 128;

/// Size that a file or a directory has at least on disk, in bytes.
const BLOCK: u64 = 4096;

/// Size of a tree in bytes, with whole blocks. What vanishes meanwhile is not counted.
pub(super) fn size(root: &Path) -> u64 {
    let mut total = 0;
    let each = |_: &Path, entry: &fs::DirEntry| {
        total += entry.metadata().map_or(0, |found| found.len().next_multiple_of(BLOCK).max(BLOCK));
        Ok(())
    };
    // It only fails where something vanishes.
    walk(root, each).ok();
    total
}

/// Fails if a link leads out of the tree, since everything else on this machine belongs to others, or if it is too deep. The
/// error is a fragment.
pub(super) fn check(root: &Path) -> Result<(), String> {
    let mut links = HashMap::new();
    let mut too_deep = None;
    let each = |path: &Path, entry: &fs::DirEntry| {
        if path.components().count() > DEPTH {
            too_deep.get_or_insert_with(|| path.to_owned());
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        if entry.file_type()?.is_symlink() {
            links.insert(path.to_owned(), fs::read_link(entry.path())?);
        }
        Ok(())
    };
    let walked = walk(root, each);
    if let Some(path) = too_deep {
        let begin: String = path.display().to_string().chars().take(80).collect();
        return Err(format!("`{begin}…` is below more than {DEPTH} directories"));
    }
    walked.map_err(|error| unreadable(&error))?;
    let known: HashMap<&Path, &Path> = links.iter().map(|(path, target)| (&**path, &**target)).collect();
    let mut effort = EFFORT;
    for (path, target) in &links {
        let leaves = context::leaves(path, &known, &mut effort);
        if leaves.ok_or("it takes too long to follow the links of the source")? {
            let (path, target) = (path.display(), target.display());
            return Err(format!("`{path}` is a link out of the source, to `{target}`"));
        }
    }
    Ok(())
}

/// Copies a tree into the directory `to`, which exists. Links are copied, not followed. The error is a fragment.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let each = |path: &Path, entry: &fs::DirEntry| {
        let (kind, new) = (entry.file_type()?, to.join(path));
        if kind.is_dir() {
            fs::create_dir(new)
        } else if kind.is_symlink() {
            link(&fs::read_link(entry.path())?, &new)
        } else if kind.is_file() {
            fs::copy(entry.path(), new).map(drop)
        } else {
            Ok(())
        }
    };
    walk(from, each).map_err(|error| unreadable(&error))
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot read the source: {}", agentcli::project::reason(error))
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Calls `each` for all entries below `root`, with their paths in it, directories before what is in them.
fn walk(root: &Path, mut each: impl FnMut(&Path, &fs::DirEntry) -> io::Result<()>) -> io::Result<()> {
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            each(&path, &entry)?;
            if entry.file_type()?.is_dir() {
                waiting.push(path);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_out_of_a_tree_are_refused_and_others_are_copied() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("app")).unwrap();
        fs::write(from.path().join("app/file"), "text").unwrap();
        link(Path::new("../app/file"), &from.path().join("app/link")).unwrap();
        assert_eq!(check(from.path()), Ok(()));
        copy(from.path(), to.path()).unwrap();
        assert_eq!(fs::read_link(to.path().join("app/link")).unwrap(), Path::new("../app/file"));
        assert_eq!(fs::read_to_string(to.path().join("app/link")).unwrap(), "text");
        assert_eq!(size(to.path()), 3 * BLOCK);
        for target in ["/etc/passwd", "../../x", "link/../../../x"] {
            let out = to.path().join("app/out");
            link(Path::new(target), &out).unwrap();
            let reason = check(to.path()).unwrap_err();
            assert!(reason.starts_with("`app/out` is a link out of the source"), "{reason}");
            fs::remove_file(out).unwrap();
        }
    }
}
