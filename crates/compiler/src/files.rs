//! The compiler's only view of the outside: the paths of a tree, and the content of its files.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::paths;

/// Kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A directory, or a link to one.
    Directory,
    /// A regular file, or a link to one.
    File,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its kind, following links; `None` if it is refused.
    pub kind: Option<FileKind>,
    /// The target of a symbolic link, as written.
    pub link: Option<String>,
}

/// Why something in the tree is treated as if it did not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It lies outside of the project, or is reached through a link that leads there.
    Outside,
    /// It is a pipe, a socket or a device.
    Special,
    /// The file has more than this number of bytes.
    TooLarge(u64),
    /// With this file, more than this number of bytes would be read of the project.
    TooMuch(u64),
    /// With this file, more than this number of lines, commas, semicolons and opening brackets would be read of the project.
    TooManyItems(usize),
}

/// The user's tree, read-only. Paths are relative to the configuration's directory and normalised
/// ([`paths::normalize`]); `..` may lead out of the directory, but not out of the project: what lies outside does not
/// exist.
pub trait Files {
    /// Kind of `path`, following links; `None` if it does not exist, is refused or is not accessible.
    fn kind(&self, path: &str) -> Option<FileKind>;

    /// The content of a file, or why it cannot be read, such as `permission denied`.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, String>;

    /// The content of a file, or why it cannot be read; `None` if there is no file, or it is refused. A refused file is
    /// then one of [`Files::refused`].
    fn content(&self, path: &str) -> Option<Result<Vec<u8>, String>> {
        self.is_file(path).then(|| self.bytes(path))
    }

    /// At most `limit` bytes from the start of a file, which count towards no limit; nothing if it cannot be read.
    fn head(&self, path: &str, limit: usize) -> Vec<u8> {
        let mut bytes = self.bytes(path).unwrap_or_default();
        bytes.truncate(limit);
        bytes
    }

    /// Why `path` is refused, if it is. Nothing that lies outside is looked at for the answer.
    fn refusal(&self, _path: &str) -> Option<Refusal> {
        None
    }

    /// The files that the project has and that were refused, by path: those that were to be read, and those that were
    /// looked for by their name.
    fn refused(&self) -> Vec<(String, Refusal)> {
        Vec::new()
    }

    /// Decides what belongs to the project, unless the tree itself tells: all directories that `extent` returns, for which
    /// the tree shows more. Returns whether all that it answered meanwhile is still true.
    fn settle(&self, _extent: &dyn Fn() -> Vec<String>) -> bool {
        true
    }

    /// The entries of a directory, sorted by name, without links that dangle; `None` if it cannot be read.
    fn entries(&self, path: &str) -> Option<Rc<[Entry]>>;

    /// The first ancestor of `path`, or `path` itself, that is a symbolic link, with its target as written. Ancestors of
    /// the configuration's directory do not count.
    fn link(&self, path: &str) -> Option<(String, String)>;

    /// Names and kinds of the entries of a directory, sorted by name, without links to directories, which may form
    /// cycles. Empty if the directory cannot be read.
    fn list(&self, path: &str) -> Vec<(String, FileKind)> {
        let entries = self.entries(path).unwrap_or_default();
        let is_listed = |entry: &&Entry| entry.link.is_none() || entry.kind == Some(FileKind::File);
        let listed = entries.iter().filter(is_listed);
        listed.filter_map(|entry| Some((entry.name.clone(), entry.kind?))).collect()
    }

    /// Names of the links to directories, which [`Files::list`] omits.
    fn linked_directories(&self, path: &str) -> Vec<String> {
        let entries = self.entries(path).unwrap_or_default();
        let is_linked = |entry: &&Entry| entry.link.is_some() && entry.kind == Some(FileKind::Directory);
        let linked = entries.iter().filter(is_linked);
        linked.map(|entry| entry.name.clone()).collect()
    }

    /// Names of the symbolic links in a directory that do not dangle, with their targets as written.
    fn links(&self, path: &str) -> Vec<(String, String)> {
        let entries = self.entries(path).unwrap_or_default();
        entries.iter().filter_map(|entry| Some((entry.name.clone(), entry.link.clone()?))).collect()
    }

    /// The components of the configuration's directory, from the root of the file system.
    fn directory(&self) -> Vec<String>;

    /// The text of a file, or why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String> {
        decoded(self.bytes(path)?)
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
        self.content(path)?.and_then(decoded).ok()
    }
}

fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "it is not valid UTF-8".to_owned())
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

    fn entries(&self, path: &str) -> Option<Rc<[Entry]>> {
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
        let entry = |(name, kind)| Entry { name, kind: Some(kind), link: None };
        Some(entries.into_iter().map(entry).collect())
    }

    fn link(&self, _: &str) -> Option<(String, String)> {
        None
    }

    fn directory(&self) -> Vec<String> {
        vec!["project".to_owned()]
    }
}
