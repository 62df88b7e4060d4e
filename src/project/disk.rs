//! The compiler's view of the disk: what belongs to the project, and nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, FileType};
use std::io::{self, Read as _};
use std::mem;
use std::ops::Add;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::boundary::{self, Boundary};
use super::reason;
use super::regular::{Opened, open};
use crate::compiler::files::{Entry, FileKind, Files, Refusal};
use crate::compiler::{manifests, paths};

/// The most bytes of a file: lock files of large workspaces have a few megabytes.
pub const MAX_FILE: u64 = 8 * 1024 * 1024;

/// The most bytes of all files of a project together.
pub const MAX_TOTAL: u64 = 32 * 1024 * 1024;

/// The most lines, commas, semicolons and opening brackets of all files of a project together: each is about one value of a manifest,
/// which takes a hundred bytes of memory. A lock file of 8 MiB has 350,000.
const MAX_ITEMS: usize = 1_000_000;

/// The project around one configuration.
#[derive(Debug)]
pub struct DiskFiles {
    /// The directory of the configuration as the user wrote it.
    root: PathBuf,
    /// The same without links, which is absolute.
    real: PathBuf,
    /// The boundary that the user chose.
    given: Option<PathBuf>,
    seen: Mutex<Seen>,
}

/// Everything found so far. Keys are plain strings: comparing paths would parse both of them each time.
#[derive(Debug, Default)]
struct Seen {
    /// The directory that has all that belongs to the project.
    boundary: PathBuf,
    /// Whether it is certain: a repository, or decided by [`Files::settle`].
    is_settled: bool,
    /// Until then, the paths outside of the configuration's directory that were taken for the project's, without links.
    outer: Vec<PathBuf>,
    /// Directories of the project, by their absolute path in text, without links.
    directories: BTreeMap<OsString, PathBuf>,
    /// The files that were read, by their paths without links.
    read: BTreeMap<OsString, Size>,
    /// The size of all of them.
    total: Size,
    /// The files that were not.
    refused: BTreeMap<String, Refusal>,
}

impl Seen {
    /// Sets the boundary for good, and forgets what lies outside. Returns whether nothing does.
    fn settle(&mut self, boundary: &Path) -> bool {
        boundary.clone_into(&mut self.boundary);
        self.is_settled = true;
        if mem::take(&mut self.outer).iter().all(|outer| outer.starts_with(boundary)) {
            return true;
        }
        self.directories.clear();
        self.refused.clear();
        self.read.retain(|path, _| Path::new(path).starts_with(boundary));
        self.total = self.read.values().fold(Size::default(), |total, size| total + *size);
        false
    }
}

/// How much of the limits a file takes.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    bytes: u64,
    /// Lines, commas, semicolons and opening brackets.
    items: usize,
}

impl Size {
    fn of(content: &[u8]) -> Self {
        let is_item = |byte: &&u8| matches!(byte, b'\n' | b',' | b';' | b'[' | b'{' | b'(');
        Self { bytes: content.len() as u64, items: content.iter().filter(is_item).count() }
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, items: self.items + other.items }
    }
}

/// Why a path cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    Refused(Refusal),
    Failed(io::Error),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl DiskFiles {
    /// The project around a configuration in the directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self::within(root, Boundary::Project)
    }

    /// As [`DiskFiles::new`], with another boundary.
    pub fn within(root: impl Into<PathBuf>, boundary: Boundary<'_>) -> Self {
        let root = root.into();
        let real = real(&root);
        let given = match boundary {
            Boundary::Project => None,
            Boundary::Directory(directory) => Some(self::real(directory)),
        };
        let fixed = given.clone().or_else(|| boundary::repository(&real));
        let is_settled = fixed.is_some();
        let boundary = fixed.unwrap_or_else(|| real.clone());
        Self { root, real, given, seen: Mutex::new(Seen { boundary, is_settled, ..Seen::default() }) }
    }

    /// The project anew, without anything that was found before.
    #[must_use]
    pub fn refreshed(&self) -> Self {
        Self::within(self.root.clone(), self.given.as_deref().map_or(Boundary::Project, Boundary::Directory))
    }

    /// The path on disk of `path`, as written in the configuration.
    pub fn locate(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The content of the file `name` in the directory of the configuration.
    pub(super) fn read_beside(&self, name: &OsStr, limit: u64) -> Result<Vec<u8>, Unusable> {
        if boundary::is_everything(&self.real) {
            return Err(Unusable::Refused(Refusal::Outside));
        }
        self.read_at(&self.real.join(name), limit)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The absolute path of `path`, which is normalised, by its text alone.
    fn absolute(&self, path: &str) -> Option<PathBuf> {
        let mut absolute = self.real.clone();
        for part in path.split('/') {
            let mut components = Path::new(part).components();
            match (components.next(), components.next()) {
                (Some(Component::CurDir), None) => {}
                (Some(Component::ParentDir), None) => drop(absolute.pop()),
                (Some(Component::Normal(name)), None) => absolute.push(name),
                // An absolute path, or a drive.
                _ => return None,
            }
        }
        Some(absolute)
    }

    /// The absolute path of `path`, if the text does not show that it lies outside.
    fn inside(&self, path: &str) -> Result<PathBuf, Unusable> {
        let absolute = self.absolute(path).filter(|it| self.has(it));
        absolute.ok_or(Unusable::Refused(Refusal::Outside))
    }

    /// Whether a path without links belongs to the project.
    fn has(&self, real: &Path) -> bool {
        let mut seen = self.seen();
        let has = real.starts_with(&seen.boundary) && !boundary::is_everything(&seen.boundary);
        if has && !seen.is_settled && !real.starts_with(&self.real) {
            seen.outer.push(real.to_owned());
        }
        has
    }

    /// `path`, which lies inside by its text, without the links on the way to its last component.
    fn without_links(&self, path: PathBuf) -> Result<PathBuf, Unusable> {
        if self.real.starts_with(&path) {
            return Ok(path);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path) };
        Ok(self.directory_at(parent)?.join(name))
    }

    /// The directory at `path`, which lies inside by its text, without links.
    fn directory_at(&self, path: &Path) -> Result<PathBuf, Unusable> {
        // The usual case, which needs no comparison of components.
        if path.as_os_str() == self.real.as_os_str() {
            return Ok(self.real.clone());
        }
        // Above the configuration's directory, there are no links.
        let above = self.real.ancestors().find(|above| path.starts_with(above)).unwrap_or(Path::new(""));
        let (mut text, mut real) = (above.to_owned(), above.to_owned());
        for name in path.strip_prefix(above).unwrap_or(path) {
            text.push(name);
            let known = self.seen().directories.get(text.as_os_str()).cloned();
            if let Some(known) = known {
                real = known;
                continue;
            }
            real.push(name);
            if real.symlink_metadata()?.is_symlink() {
                real = self.follow(&real)?;
            }
            self.seen().directories.insert(text.clone().into(), real.clone());
        }
        Ok(real)
    }

    /// The target of the link at `path`. Whether there is anything outside makes no difference.
    fn follow(&self, path: &Path) -> Result<PathBuf, Unusable> {
        let error = match path.canonicalize() {
            Ok(real) if self.has(&real) => return Ok(real),
            Ok(_) => return Err(Unusable::Refused(Refusal::Outside)),
            Err(error) => error,
        };
        let target = path.parent().unwrap_or(path).join(path.read_link()?);
        let mut absolute = PathBuf::new();
        for part in target.components() {
            match part {
                Component::ParentDir => drop(absolute.pop()),
                part => absolute.push(part),
            }
        }
        Err(if self.has(&absolute) { error.into() } else { Unusable::Refused(Refusal::Outside) })
    }

    /// The kind of `path`; `None` if it is a pipe, a socket or a device.
    fn look(&self, path: &str) -> Result<Option<FileKind>, Unusable> {
        let path = self.without_links(self.inside(path)?)?;
        let mut metadata = path.symlink_metadata()?;
        if metadata.is_symlink() {
            metadata = self.follow(&path)?.symlink_metadata()?;
        }
        Ok(kind_of(metadata.file_type()))
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, Unusable> {
        let absolute = self.inside(path)?;
        let read = self.without_links(absolute).and_then(|path| self.read_at(&path, MAX_FILE));
        if let Err(Unusable::Refused(refusal)) = &read {
            self.seen().refused.insert(path.to_owned(), *refusal);
        }
        read
    }

    /// The content of the file at `path`, which has no links but for its last component.
    fn read_at(&self, path: &Path, limit: u64) -> Result<Vec<u8>, Unusable> {
        let (path, file, size) = self.open_at(path)?;
        self.take(path, file, size, limit)
    }

    /// Opens the file at `path`, which has no links but for its last component: its path without links, and its size.
    fn open_at(&self, path: &Path) -> Result<(PathBuf, fs::File, u64), Unusable> {
        match open(path)? {
            Opened::File(file, size) => Ok((path.to_owned(), file, size)),
            Opened::Link => {
                let target = self.follow(path)?;
                match open(&target)? {
                    Opened::File(file, size) => Ok((target, file, size)),
                    // It was replaced meanwhile.
                    Opened::Link => Err(Unusable::Refused(Refusal::Outside)),
                    other => Err(unreadable(&other)),
                }
            }
            other => Err(unreadable(&other)),
        }
    }

    /// Reads a file within the limits, even if it grows.
    fn take(&self, path: PathBuf, file: fs::File, size: u64, limit: u64) -> Result<Vec<u8>, Unusable> {
        let mut bytes = Vec::new();
        if size <= limit {
            bytes.reserve_exact(usize::try_from(size).unwrap_or_default());
            file.take(limit + 1).read_to_end(&mut bytes)?;
        }
        if size > limit || bytes.len() as u64 > limit {
            return Err(Unusable::Refused(Refusal::TooLarge(limit)));
        }
        self.count(path, &bytes)?;
        Ok(bytes)
    }

    /// Adds a file to those that were read.
    fn count(&self, path: PathBuf, bytes: &[u8]) -> Result<(), Unusable> {
        let mut seen = self.seen();
        if seen.read.contains_key(path.as_os_str()) {
            return Ok(());
        }
        let size = Size::of(bytes);
        let total = seen.total + size;
        if total.bytes > MAX_TOTAL {
            return Err(Unusable::Refused(Refusal::TooMuch(MAX_TOTAL)));
        }
        if total.items > MAX_ITEMS {
            return Err(Unusable::Refused(Refusal::TooManyItems(MAX_ITEMS)));
        }
        seen.total = total;
        seen.read.insert(path.into(), size);
        Ok(())
    }

    /// An entry of the directory at `path`, unless it dangles or its name is not Unicode.
    fn entry(&self, path: &str, entry: &DirEntry) -> Option<Entry> {
        let name = entry.file_name().into_string().ok()?;
        let kind = entry.file_type().ok()?;
        if !kind.is_symlink() {
            return Some(Entry { name, kind: kind_of(kind), link: None });
        }
        let link = fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        let at = paths::join(path, &name);
        let kind = self.kind(&at);
        let dangles = || matches!(self.look(&at), Err(Unusable::Failed(_)));
        if kind.is_none() && dangles() { None } else { Some(Entry { name, kind, link: Some(link) }) }
    }
}

impl Files for DiskFiles {
    fn kind(&self, path: &str) -> Option<FileKind> {
        let refusal = match self.look(path) {
            Ok(Some(kind)) => return Some(kind),
            Ok(None) => Refusal::Special,
            Err(Unusable::Refused(refusal)) => refusal,
            Err(Unusable::Failed(_)) => return None,
        };
        if manifests::is_read_by_name(path) && self.inside(path).is_ok() {
            self.seen().refused.insert(path.to_owned(), refusal);
        }
        None
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.read(path).map_err(|error| match error {
            Unusable::Failed(error) => reason(&error),
            Unusable::Refused(Refusal::Outside) => "it is outside of the project".to_owned(),
            Unusable::Refused(Refusal::Special) => "it is not a regular file".to_owned(),
            Unusable::Refused(Refusal::TooLarge(_) | Refusal::TooMuch(_) | Refusal::TooManyItems(_)) => {
                "it is too large".to_owned()
            }
        })
    }

    fn content(&self, path: &str) -> Option<Result<Vec<u8>, String>> {
        match self.read(path) {
            Ok(bytes) => Some(Ok(bytes)),
            Err(Unusable::Refused(_)) => None,
            Err(Unusable::Failed(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(Unusable::Failed(error)) => self.is_file(path).then(|| Err(reason(&error))),
        }
    }

    fn head(&self, path: &str, limit: usize) -> Vec<u8> {
        let opened = self.inside(path).and_then(|path| self.open_at(&self.without_links(path)?));
        let mut head = Vec::new();
        if let Ok((_, file, _)) = opened {
            // What cannot be read to its end starts with what was read.
            _ = file.take(limit as u64).read_to_end(&mut head);
        }
        head
    }

    fn refusal(&self, path: &str) -> Option<Refusal> {
        if let Some(known) = self.seen().refused.get(path) {
            return Some(*known);
        }
        match self.look(path) {
            Err(Unusable::Refused(refusal)) => Some(refusal),
            Ok(None) => Some(Refusal::Special),
            Ok(Some(_)) | Err(Unusable::Failed(_)) => None,
        }
    }

    fn refused(&self) -> Vec<(String, Refusal)> {
        self.seen().refused.iter().map(|(path, refusal)| (path.clone(), *refusal)).collect()
    }

    fn settle(&self, extent: &dyn Fn() -> Vec<String>) -> bool {
        if self.seen().is_settled {
            return true;
        }
        let widest = boundary::widest(&self.real);
        self.seen().boundary = widest.to_owned();
        let directories = extent().into_iter().filter_map(|path| self.absolute(&path));
        let boundary = boundary::outermost(&self.real, widest, directories);
        self.seen().settle(&boundary)
    }

    fn entries(&self, path: &str) -> Option<Rc<[Entry]>> {
        let directory = self.inside(path).and_then(|path| self.directory_at(&path)).ok()?;
        let entries = fs::read_dir(directory).ok()?.flatten();
        let mut found: Vec<Entry> = entries.filter_map(|entry| self.entry(path, &entry)).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Some(found.into())
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        self.inside(path).ok()?;
        if path == "." {
            return None;
        }
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.map(|end| &path[..end]).find_map(|part| {
            let target = fs::read_link(self.absolute(part)?).ok()?;
            Some((part.to_owned(), target.to_string_lossy().into_owned()))
        })
    }

    /// Links are resolved, since `..` leads to the real parent.
    fn directory(&self) -> Vec<String> {
        let name = |part: Component<'_>| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        };
        self.real.components().filter_map(name).collect()
    }
}

/// `directory` without links, as an absolute path.
fn real(directory: &Path) -> PathBuf {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let absolute = directory.canonicalize().or_else(|_| std::path::absolute(directory));
    absolute.unwrap_or_else(|_| directory.into())
}

fn kind_of(kind: FileType) -> Option<FileKind> {
    if kind.is_dir() { Some(FileKind::Directory) } else { kind.is_file().then_some(FileKind::File) }
}

fn unreadable(opened: &Opened) -> Unusable {
    match opened {
        Opened::Directory => Unusable::Failed(io::ErrorKind::IsADirectory.into()),
        _ => Unusable::Refused(Refusal::Special),
    }
}
