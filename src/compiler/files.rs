//! The compiler's only view of the outside: the paths of a tree, and the content of its files.

use std::collections::BTreeMap;

use crate::compiler::paths;

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A directory, or a link to one.
    Directory,
    /// A regular file, or a link to one.
    File,
}

/// The user's tree, read-only. Paths are relative to the configuration's directory and normalised
/// ([`paths::normalize`]); `..` may lead out of the directory.
pub trait Files: Sync {
    /// Kind of `path`, following links; `None` if it does not exist or is not accessible.
    fn kind(&self, path: &str) -> Option<FileKind>;

    /// The content of a file, or why it cannot be read, such as `permission denied`.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, String>;

    /// Names and kinds of the entries of a directory, sorted by name, without links to directories, which may form
    /// cycles. Empty if the directory cannot be read.
    fn list(&self, path: &str) -> Vec<(String, FileKind)>;

    /// The first ancestor of `path`, or `path` itself, that is a symbolic link, with its target as written. Ancestors of
    /// the configuration's directory do not count.
    fn link(&self, path: &str) -> Option<(String, String)>;

    /// Names of the links to directories, which [`Files::list`] omits.
    fn linked_directories(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }

    /// Names of the symbolic links in a directory, with their targets as written.
    fn links(&self, _path: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The components of the configuration's directory, from the root of the file system.
    fn directory(&self) -> Vec<String>;

    /// The text of a file, or why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String> {
        String::from_utf8(self.bytes(path)?).map_err(|_| "it is not valid UTF-8".to_owned())
    }

    /// Whether `path` is a regular file.
    fn is_file(&self, path: &str) -> bool {
        self.kind(path) == Some(FileKind::File)
    }

    /// Whether `path` is a directory.
    fn is_directory(&self, path: &str) -> bool {
        self.kind(path) == Some(FileKind::Directory)
    }

    /// The text of `path`, if it is a readable file.
    fn text(&self, path: &str) -> Option<String> {
        if self.is_file(path) { self.read(path).ok() } else { None }
    }
}

/// A tree in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, String>,
}

impl MemoryFiles {
    /// A tree of these files, given as path and text.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files = files.into_iter().map(|(path, text)| (paths::normalize(path), text.to_owned())).collect();
        Self { files }
    }

    fn below(path: &str) -> String {
        if path == "." { String::new() } else { format!("{path}/") }
    }
}

impl Files for MemoryFiles {
    fn kind(&self, path: &str) -> Option<FileKind> {
        if self.files.contains_key(path) {
            return Some(FileKind::File);
        }
        let below = Self::below(path);
        self.files.keys().any(|file| file.starts_with(&below)).then_some(FileKind::Directory)
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.files.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "no such file".to_owned())
    }

    fn list(&self, path: &str) -> Vec<(String, FileKind)> {
        let below = Self::below(path);
        let mut entries = BTreeMap::new();
        // An absolute path is not below a relative directory.
        let files = self.files.keys().filter(|file| file.starts_with('/') == path.starts_with('/'));
        for rest in files.filter_map(|file| file.strip_prefix(&below)) {
            match rest.split_once('/') {
                Some((directory, _)) => entries.insert(directory.to_owned(), FileKind::Directory),
                None => entries.insert(rest.to_owned(), FileKind::File),
            };
        }
        entries.into_iter().collect()
    }

    fn link(&self, _: &str) -> Option<(String, String)> {
        None
    }

    fn directory(&self) -> Vec<String> {
        vec!["project".to_owned()]
    }
}
