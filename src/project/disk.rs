//! The compiler's view of the disk.

use std::fs::{self, DirEntry, FileType, Metadata};
use std::path::{Component, Path, PathBuf};

use super::reason;
use crate::compiler::files::{FileKind, Files};

/// The tree around one configuration.
#[derive(Clone, Debug)]
pub struct DiskFiles {
    root: PathBuf,
}

impl DiskFiles {
    /// The tree around a configuration in the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The path on disk of `path`, as written in the configuration.
    pub fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }
}

impl Files for DiskFiles {
    fn kind(&self, path: &str) -> Option<FileKind> {
        fs::metadata(self.locate(path)).ok().and_then(|metadata| kind_of(metadata.file_type()))
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(self.locate(path)).map_err(|error| reason(&error))
    }

    fn list(&self, path: &str) -> Vec<(String, FileKind)> {
        let Ok(entries) = fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut found: Vec<(String, FileKind)> = entries
            .flatten()
            .filter_map(|entry| {
                let kind = entry_kind(&entry.path(), entry.file_type().ok()?)?;
                Some((entry.file_name().into_string().ok()?, kind))
            })
            .collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.map(|end| &path[..end]).find_map(|part| {
            let target = fs::read_link(self.locate(part)).ok()?;
            Some((part.to_owned(), target.to_string_lossy().into_owned()))
        })
    }

    fn linked_directories(&self, path: &str) -> Vec<String> {
        let names = self.links(path).into_iter().map(|(name, _)| name);
        names.filter(|name| self.locate(path).join(name).is_dir()).collect()
    }

    fn links(&self, path: &str) -> Vec<(String, String)> {
        let Ok(entries) = fs::read_dir(self.locate(path)) else { return Vec::new() };
        let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let link = |entry: DirEntry| {
            let target = fs::read_link(entry.path()).ok()?;
            Some((entry.file_name().into_string().ok()?, target.to_string_lossy().into_owned()))
        };
        let mut found: Vec<_> = entries.flatten().filter(is_link).filter_map(link).collect();
        found.sort();
        found
    }

    /// Links are resolved, since `..` leads to the real parent.
    fn directory(&self) -> Vec<String> {
        let root = if self.root.as_os_str().is_empty() { Path::new(".") } else { &self.root };
        let absolute =
            root.canonicalize().or_else(|_| std::path::absolute(root)).unwrap_or_else(|_| root.into());
        absolute
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
                _ => None,
            })
            .collect()
    }
}

fn kind_of(kind: FileType) -> Option<FileKind> {
    if kind.is_dir() { Some(FileKind::Directory) } else { kind.is_file().then_some(FileKind::File) }
}

fn entry_kind(path: &Path, kind: FileType) -> Option<FileKind> {
    if kind.is_symlink() {
        return fs::metadata(path).ok().filter(Metadata::is_file).map(|_| FileKind::File);
    }
    kind_of(kind)
}
