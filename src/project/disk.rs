//! The compiler's view of the disk: what belongs to the project, and nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry, FileType};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

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
    /// The boundary, if it does not depend on the configuration.
    fixed: Option<PathBuf>,
    /// The boundary that was chosen by [`Files::settle`].
    settled: OnceLock<PathBuf>,
    seen: Mutex<Seen>,
    /// The content of files that was read to find the boundary, each until it is asked for.
    read_before: Contents,
    /// Keeps the content of files that are read while the boundary is searched for.
    kept: Option<Contents>,
}

/// The content of files, by their paths without links.
type Contents = Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>;

/// What was found so far.
#[derive(Debug, Default)]
struct Seen {
    /// Directories of the project, by their absolute path in text, without links.
    directories: HashMap<PathBuf, PathBuf>,
    /// The files that were read, without links.
    read: HashSet<PathBuf>,
    /// Their total size in bytes.
    bytes: u64,
    /// Their lines, commas, semicolons and opening brackets.
    items: usize,
    /// The files that were not.
    refused: BTreeMap<String, Refusal>,
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
        let fixed = match boundary {
            Boundary::Project => boundary::repository(&real),
            Boundary::Directory(directory) => Some(self::real(directory)),
        };
        Self::around(root, real, fixed)
    }

    fn around(root: PathBuf, real: PathBuf, fixed: Option<PathBuf>) -> Self {
        let (settled, seen) = (OnceLock::new(), Mutex::default());
        Self { root, real, fixed, settled, seen, read_before: Contents::default(), kept: None }
    }

    /// The project anew, without anything that was found before.
    #[must_use]
    pub fn refreshed(&self) -> Self {
        Self::new(self.root.clone())
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

    fn boundary(&self) -> &Path {
        self.fixed.as_ref().or_else(|| self.settled.get()).unwrap_or(&self.real)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        locked(&self.seen)
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
        let boundary = self.boundary();
        real.starts_with(boundary) && !boundary::is_everything(boundary)
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
        // Above the configuration's directory, there are no links.
        let above = self.real.ancestors().find(|above| path.starts_with(above)).unwrap_or(Path::new(""));
        let (mut text, mut real) = (above.to_owned(), above.to_owned());
        for name in path.strip_prefix(above).unwrap_or(path) {
            text.push(name);
            let known = self.seen().directories.get(&text).cloned();
            if let Some(known) = known {
                real = known;
                continue;
            }
            real.push(name);
            if real.symlink_metadata()?.is_symlink() {
                real = self.follow(&real)?;
            }
            self.seen().directories.insert(text.clone(), real.clone());
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
        if let Some(bytes) = self.read_before(path, limit) {
            return Ok(bytes);
        }
        match open(path)? {
            Opened::File(file, size) => self.take(path.to_owned(), file, size, limit),
            Opened::Link => {
                let target = self.follow(path)?;
                if let Some(bytes) = self.read_before(&target, limit) {
                    return Ok(bytes);
                }
                match open(&target)? {
                    Opened::File(file, size) => self.take(target, file, size, limit),
                    // It was replaced meanwhile.
                    Opened::Link => Err(Unusable::Refused(Refusal::Outside)),
                    other => Err(unreadable(&other)),
                }
            }
            other => Err(unreadable(&other)),
        }
    }

    /// The content of the file at `path`, which has no links, if it was read to find the boundary.
    fn read_before(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        let bytes = locked(&self.read_before).remove(path)?;
        (bytes.len() as u64 <= limit && self.count(path.to_owned(), &bytes).is_ok()).then_some(bytes)
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
        self.count(path.clone(), &bytes)?;
        if let Some(kept) = &self.kept {
            locked(kept).insert(path, bytes.clone());
        }
        Ok(bytes)
    }

    /// Adds a file to those that were read.
    fn count(&self, path: PathBuf, bytes: &[u8]) -> Result<(), Unusable> {
        let mut seen = self.seen();
        if seen.read.contains(&path) {
            return Ok(());
        }
        let (size, items) = (bytes.len() as u64, items(bytes));
        if seen.bytes + size > MAX_TOTAL {
            return Err(Unusable::Refused(Refusal::TooMuch(MAX_TOTAL)));
        }
        if seen.items + items > MAX_ITEMS {
            return Err(Unusable::Refused(Refusal::TooManyItems(MAX_ITEMS)));
        }
        seen.bytes += size;
        seen.items += items;
        seen.read.insert(path);
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

    fn settle(&self, extent: &dyn Fn(Box<dyn Files>) -> Vec<String>) {
        if self.fixed.is_some() {
            return;
        }
        let widest = boundary::widest(&self.real);
        let mut wide = Self::around(self.root.clone(), self.real.clone(), Some(widest.to_owned()));
        wide.kept = Some(Arc::clone(&self.read_before));
        let directories = extent(Box::new(wide)).into_iter().filter_map(|path| self.absolute(&path));
        self.settled.get_or_init(|| boundary::around(&self.real, widest, directories).to_owned());
    }

    fn entries(&self, path: &str) -> Option<Vec<Entry>> {
        let directory = self.inside(path).and_then(|path| self.directory_at(&path)).ok()?;
        let entries = fs::read_dir(directory).ok()?.flatten();
        let mut found: Vec<Entry> = entries.filter_map(|entry| self.entry(path, &entry)).collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Some(found)
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

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The number of lines, commas, semicolons and opening brackets of a text.
fn items(text: &[u8]) -> usize {
    text.iter().filter(|byte| matches!(byte, b'\n' | b',' | b';' | b'[' | b'{' | b'(')).count()
}

fn unreadable(opened: &Opened) -> Unusable {
    match opened {
        Opened::Directory => Unusable::Failed(io::ErrorKind::IsADirectory.into()),
        _ => Unusable::Refused(Refusal::Special),
    }
}
