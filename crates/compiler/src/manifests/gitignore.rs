//! `.gitignore`: whether git leaves a file out of the repository.

use ignore::gitignore::GitignoreBuilder;

use crate::files::Files;
use crate::manifests::dependency::directory_name;
use crate::paths;
use crate::tree::Tree;

/// Most directories above a file whose .gitignore is read.
const MOST_PARENTS: usize = 16;

/// The .gitignore that decides that git ignores `path`. Only those between the file and the root of its repository count,
/// the nearest first.
pub fn ignored_by(path: &str, files: &Tree) -> Option<String> {
    let mut directory = paths::parent(path).to_owned();
    let mut below = paths::file_name(path).to_owned();
    for _ in 0..MOST_PARENTS {
        let file = paths::join(&directory, ".gitignore");
        if let Some(text) = files.text(&file) {
            match decision(&text, &below) {
                Some(true) => return Some(file),
                Some(false) => return None,
                None => {}
            }
        }
        if files.kind(&paths::join(&directory, ".git")).is_some() {
            return None;
        }
        below = format!("{}/{below}", directory_name(&directory, files)?);
        directory = paths::join(&directory, "..");
    }
    None
}

/// Whether the lines of `text` ignore `path`, which is relative to its directory; `None` if none of them is about it.
fn decision(text: &str, path: &str) -> Option<bool> {
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        // git skips patterns that it cannot read, too.
        builder.add_line(None, line).ok();
    }
    let found = builder.build().ok()?;
    let found = found.matched_path_or_any_parents(path, false);
    if found.is_none() { None } else { Some(found.is_ignore()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::MemoryFiles;

    #[test]
    fn the_nearest_file_decides() {
        let files = Tree::new(MemoryFiles::new([
            (".gitignore", "*.env\n/secret/\n"),
            ("kept/.gitignore", "!a.env"),
            ("../.gitignore", "project/.local\n"),
        ]));
        let ignored = |path| ignored_by(path, &files);
        assert_eq!(ignored("a.env").as_deref(), Some(".gitignore"));
        assert_eq!(ignored("deep/down/a.env").as_deref(), Some(".gitignore"));
        assert_eq!(ignored("secret/values").as_deref(), Some(".gitignore"));
        assert_eq!(ignored("kept/a.env"), None);
        assert_eq!(ignored(".local").as_deref(), Some("../.gitignore"));
        assert_eq!(ignored("a.txt"), None);
    }

    #[test]
    fn a_repository_ends_at_its_root() {
        let files = Tree::new(MemoryFiles::new([("../.gitignore", "*.env"), (".git/HEAD", "")]));
        assert_eq!(ignored_by("a.env", &files), None);
    }
}
