//! The tree of a project, of which everything is read once: the kinds of paths, the entries of directories, the content of
//! files, and what readers of formats make of it.

use std::any::{Any, TypeId};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::rc::Rc;

use crate::compiler::files::{Entry, FileKind, Files, Refusal};
use crate::compiler::paths;

/// The content of a file, or why it cannot be read; `None` if there is no file, or it is refused.
type Content = Option<Result<Rc<[u8]>, String>>;

/// The files around a configuration, as they were when they were first asked for.
pub struct Tree {
    files: Box<dyn Files>,
    directory: OnceCell<Vec<String>>,
    kinds: Memo<String, Option<FileKind>>,
    contents: Memo<String, Content>,
    directories: Memo<String, Option<Rc<[Entry]>>>,
    links: Memo<String, Option<(String, String)>>,
    parsed: Memo<(TypeId, String), Rc<dyn Any>>,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").finish_non_exhaustive()
    }
}

impl Tree {
    /// The tree that `files` shows.
    pub fn new(files: impl Files + 'static) -> Self {
        Self::boxed(Box::new(files))
    }

    fn boxed(files: Box<dyn Files>) -> Self {
        Self {
            files,
            directory: OnceCell::new(),
            kinds: Memo::default(),
            contents: Memo::default(),
            directories: Memo::default(),
            links: Memo::default(),
            parsed: Memo::default(),
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
        let key = (TypeId::of::<T>(), path.to_owned());
        let parsed = self.parsed.get(key, |_| Rc::new(read()));
        // Its key has its type.
        parsed.downcast().unwrap_or_else(|_| unreachable!())
    }

    /// Decides what belongs to the project, before anything of it is read: see [`Files::settle`].
    pub fn settle_for(&self, extent: &dyn Fn(&Tree) -> Vec<String>) {
        self.files.settle(&|files| extent(&Self::boxed(files)));
    }

    /// The absolute `path` relative to the configuration's directory, if it is the project's.
    pub fn own(&self, path: &str) -> Option<String> {
        let relative = paths::relative(path, &self.directory());
        let is_own = self.files.refusal(&relative).is_none() && self.kind(&relative).is_some();
        is_own.then_some(relative)
    }

    fn entries_of(&self, path: &str) -> Option<Rc<[Entry]>> {
        self.directories.get(self.short(path), |path| Some(self.files.entries(path)?.into()))
    }

    /// `path` in its only form: `../app/a` is `a` in the directory `app`.
    fn short(&self, path: &str) -> String {
        if !path.starts_with("../") {
            return path.to_owned();
        }
        paths::shortened(path, &self.directory())
    }

    /// The kind of `path` if the entries of its directory were read and tell it.
    fn known_kind(&self, path: &str) -> Option<Option<FileKind>> {
        let (parent, name) = (paths::parent(path), paths::file_name(path));
        let entries = self.directories.known(&parent)??;
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

    fn refusal(&self, path: &str) -> Option<Refusal> {
        self.files.refusal(path)
    }

    fn refused(&self) -> Vec<(String, Refusal)> {
        self.files.refused()
    }

    fn entries(&self, path: &str) -> Option<Vec<Entry>> {
        self.entries_of(path).map(|entries| entries.to_vec())
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        self.links.get(path.to_owned(), |path| self.files.link(path))
    }

    fn directory(&self) -> Vec<String> {
        self.directory.get_or_init(|| self.files.directory()).clone()
    }
}

/// Values that are computed once.
struct Memo<K, V>(RefCell<HashMap<K, V>>);

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Memo<K, V> {
    fn get(&self, key: K, compute: impl FnOnce(&K) -> V) -> V {
        let known = self.0.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            // It may ask for others.
            let value = compute(&key);
            self.insert(key, value.clone());
            value
        })
    }

    fn insert(&self, key: K, value: V) {
        self.0.borrow_mut().insert(key, value);
    }
}

impl<V: Clone> Memo<String, V> {
    fn known(&self, path: &str) -> Option<V> {
        self.0.borrow().get(path).cloned()
    }
}
