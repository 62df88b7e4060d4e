//! The tree of a project, of which everything is read once: the kinds of paths, the entries of directories, the content of
//! files, and what readers of formats make of it.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::files::{Entry, FileKind, Files, Refusal};
use crate::paths;

/// The content of a file, or why it cannot be read; `None` if there is no file, or it is refused.
type Content = Option<Result<Rc<[u8]>, String>>;

/// Parsed files of one type, by path.
type Parsed = Rc<Memo<Rc<dyn Any>>>;

/// The files around a configuration, as they were when they were first asked for.
pub struct Tree {
    files: Box<dyn Files>,
    directory: OnceCell<Vec<String>>,
    kinds: Memo<Option<FileKind>>,
    contents: Memo<Content>,
    directories: Memo<Option<Rc<[Entry]>>>,
    links: Memo<Option<(String, String)>>,
    parsed: RefCell<FxHashMap<TypeId, Parsed>>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").finish_non_exhaustive()
    }
}

impl Tree {
    /// The tree that `files` shows.
    pub fn new(files: impl Files + 'static) -> Self {
        Self {
            files: Box::new(files),
            directory: OnceCell::new(),
            kinds: Memo::default(),
            contents: Memo::default(),
            directories: Memo::default(),
            links: Memo::default(),
            parsed: RefCell::default(),
        }
    }

    /// The same tree with this content of the file at `path`, which was read before.
    #[must_use]
    pub fn with(self, path: &str, content: &[u8]) -> Self {
        self.contents.insert(path.to_owned(), Some(Ok(content.into())));
        self
    }

    /// What `read` makes of the file or directory at `path`: computed once for each type.
    pub fn parsed<T: 'static>(&self, path: &str, read: impl FnOnce() -> T) -> Rc<T> {
        let of_type = Rc::clone(self.parsed.borrow_mut().entry(TypeId::of::<T>()).or_default());
        let parsed = of_type.get(path.into(), |_| Rc::new(read()));
        // Its key is its type.
        parsed.downcast().unwrap_or_else(|_| unreachable!())
    }

    /// Decides what belongs to the project: see [`Files::settle`].
    pub fn settle_for(&self, extent: &dyn Fn(&Tree) -> Vec<String>) {
        if self.files.settle(&|| extent(self)) {
            return;
        }
        self.kinds.clear();
        self.links.clear();
        self.parsed.borrow_mut().clear();
        let is_own = |path: &str| self.files.refusal(path).is_none();
        self.contents.retain(|path, content| matches!(content, Some(Ok(_))) && is_own(path));
        // Without links, the entries of a directory do not depend on what else belongs to the project.
        let is_plain = |entries: &[Entry]| entries.iter().all(|entry| entry.link.is_none());
        self.directories.retain(|path, entries| entries.as_deref().is_some_and(is_plain) && is_own(path));
    }

    /// The absolute `path` relative to the configuration's directory, if it is the project's.
    pub fn own(&self, path: &str) -> Option<String> {
        let relative = paths::relative(path, self.components());
        let is_own = self.files.refusal(&relative).is_none() && self.kind(&relative).is_some();
        is_own.then_some(relative)
    }

    fn entries_of(&self, path: &str) -> Option<Rc<[Entry]>> {
        self.directories.get(self.short(path), |path| self.files.entries(path))
    }

    /// Those of [`Files::directory`].
    fn components(&self) -> &[String] {
        self.directory.get_or_init(|| self.files.directory())
    }

    /// `path` in its only form: `../app/a` is `a` in the directory `app`.
    fn short<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if path.starts_with("../") { paths::shortened(path, self.components()).into() } else { path.into() }
    }

    /// The kind of `path` if the entries of its directory tell it, or those of a directory above. They are read for it,
    /// but for those above the configuration's directory, which may have very many.
    fn known_kind(&self, path: &str) -> Option<Option<FileKind>> {
        if path == "." {
            return self.entries_of(path).map(|_| Some(FileKind::Directory));
        }
        let (parent, name) = (paths::parent(path), paths::file_name(path));
        let entries = match self.directories.known(parent) {
            Some(entries) => entries?,
            None if parent == "." => self.entries_of(".")?,
            None if parent.ends_with("..") || parent.starts_with('/') => return None,
            None => match self.kind(parent) {
                Some(FileKind::Directory) => self.entries_of(parent)?,
                Some(FileKind::File) => return Some(None),
                // It may be refused.
                None => return self.known_kind(parent).filter(Option::is_none),
            },
        };
        if let Some(entry) = entries.iter().find(|entry| entry.name == name) {
            // A refusal is recorded by the tree itself.
            return entry.kind.map(Some);
        }
        // Some file systems find a file by other names, too.
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        let is_certain = is_plain && !name.starts_with("..") && !name.ends_with('.');
        let is_absent = !entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
        (is_certain && is_absent).then_some(None)
    }
}

impl Files for Tree {
    fn kind(&self, path: &str) -> Option<FileKind> {
        self.kinds.get(self.short(path), |path| {
            if let Some(Some(Ok(_))) = self.contents.known(path) {
                return Some(FileKind::File);
            }
            self.known_kind(path).unwrap_or_else(|| self.files.kind(path))
        })
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        match self.content(path) {
            Some(content) => content,
            None => self.files.bytes(path),
        }
    }

    fn content(&self, path: &str) -> Option<Result<Vec<u8>, String>> {
        let content = self.contents.get(self.short(path), |path| {
            // Only a kind that was asked for before: reading a file that is not there costs no more.
            if self.kinds.known(path) == Some(None) || self.known_kind(path) == Some(None) {
                return None;
            }
            self.files.content(path).map(|content| content.map(Rc::from))
        });
        content.map(|content| content.map(|bytes| bytes.to_vec()))
    }

    fn head(&self, path: &str, limit: usize) -> Vec<u8> {
        match self.contents.known(&self.short(path)) {
            Some(Some(Ok(bytes))) => bytes[..bytes.len().min(limit)].to_vec(),
            _ => self.files.head(path, limit),
        }
    }

    fn refusal(&self, path: &str) -> Option<Refusal> {
        // An entry with a kind is the project's. A file may be too large, which is known when it was read.
        let short = self.short(path);
        let was_not_readable = self.contents.known(&short) == Some(None);
        let is_own = !was_not_readable && matches!(self.known_kind(&short), Some(Some(_)));
        if is_own { None } else { self.files.refusal(&short) }
    }

    fn refused(&self) -> Vec<(String, Refusal)> {
        self.files.refused()
    }

    fn entries(&self, path: &str) -> Option<Rc<[Entry]>> {
        if self.known_kind(path) == Some(None) {
            return None;
        }
        self.entries_of(path)
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        self.links.get(path.into(), |path| self.files.link(path))
    }

    fn directory(&self) -> Vec<String> {
        self.components().to_vec()
    }
}

/// Values of paths that are computed once.
struct Memo<V>(RefCell<FxHashMap<String, V>>);

impl<V> Default for Memo<V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<V: Clone> Memo<V> {
    fn get(&self, path: Cow<'_, str>, compute: impl FnOnce(&str) -> V) -> V {
        self.known(&path).unwrap_or_else(|| {
            // It may ask for others.
            let value = compute(&path);
            self.insert(path.into_owned(), value.clone());
            value
        })
    }

    fn insert(&self, path: String, value: V) {
        self.0.borrow_mut().insert(path, value);
    }

    fn known(&self, path: &str) -> Option<V> {
        self.0.borrow().get(path).cloned()
    }

    fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    fn retain(&self, is_kept: impl Fn(&str, &V) -> bool) {
        self.0.borrow_mut().retain(|path, value| is_kept(path, value));
    }
}
