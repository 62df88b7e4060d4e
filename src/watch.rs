//! Changes of the user's tree, in bursts.
//!
//! Only directories that a build reads are watched, each by itself, so that ignored ones cost nothing. Of their files, only
//! source code counts, since agents write other files while they run.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::ignore::gitignore::Gitignore;
use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::{Instant, timeout_at};

use crate::compiler::back::plan;
use crate::compiler::manifests::dockerignore::{Ignore, Trail};
use crate::compiler::manifests::symbols::Language;
use crate::project::with_slashes;

/// A burst of changes is over after this time without a change, or after this time in total.
const QUIET: Duration = Duration::from_millis(60);
const LONGEST: Duration = Duration::from_millis(1000);

/// A directory that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch `{}` for changes: {reason}", .path.display())]
pub struct Error {
    /// The directory.
    pub path: PathBuf,
    /// The cause.
    pub reason: String,
}

/// Watches one project.
pub struct Watcher {
    notify: RecommendedWatcher,
    events: UnboundedReceiver<notify::Result<Event>>,
    scope: Scope,
    directory: PathBuf,
    pending: BTreeSet<PathBuf>,
    /// The times of the first and the last pending change.
    burst: Option<(Instant, Instant)>,
    /// The watched directories.
    watched: HashSet<PathBuf>,
    /// Directories that cannot be watched, until they are reported.
    unwatched: Vec<Error>,
}

/// A burst of changes.
pub struct Changes {
    /// The changed files; those below the configuration's directory are relative to it.
    pub paths: Vec<String>,
    /// Whether a file that determines how the server is started is among them.
    pub decide_start: bool,
}

/// The files whose changes count.
struct Scope {
    root: PathBuf,
    ignore: Ignore,
    /// Files that always count.
    files: Vec<PathBuf>,
    /// The directory and the rules of each .gitignore.
    gitignores: Vec<(PathBuf, Gitignore)>,
}

impl Watcher {
    /// Starts to watch; `directory` is that of the configuration, absolute.
    ///
    /// # Errors
    ///
    /// The directory of the project, or of a file that always counts, cannot be watched.
    pub fn new(directory: &Path, watch: &plan::Watch) -> Result<Self, Error> {
        let (sender, events) = mpsc::unbounded_channel();
        let notify = notify::recommended_watcher(move |event| drop(sender.send(event)));
        let notify = notify.map_err(|error| refused(directory, &error))?;
        let scope = Scope::new(directory, watch);
        let mut watcher = Self {
            notify,
            events,
            directory: directory.to_owned(),
            pending: BTreeSet::new(),
            burst: None,
            scope,
            watched: HashSet::new(),
            unwatched: Vec::new(),
        };
        let files = watcher.scope.files.clone();
        // The directory of a file may not exist.
        for parent in files.iter().filter_map(|file| file.parent()).filter(|parent| parent.is_dir()) {
            watcher.add(parent)?;
        }
        let root = watcher.scope.root.clone();
        watcher.add(&root)?;
        watcher.enter(&root, &Trail::default(), false);
        Ok(watcher)
    }

    /// Waits for a burst of changes to end. Cancel safe.
    pub async fn changes(&mut self) -> Changes {
        while let Some(event) = self.next_of_burst().await {
            self.take(event);
        }
        self.burst = None;
        let changed = std::mem::take(&mut self.pending);
        let shown = |path: &PathBuf| path.strip_prefix(&self.directory).unwrap_or(path).display().to_string();
        Changes {
            paths: changed.iter().map(shown).collect(),
            decide_start: changed.iter().any(|path| self.scope.files.contains(path)),
        }
    }

    /// The next event; none at the end of the burst.
    async fn next_of_burst(&mut self) -> Option<notify::Result<Event>> {
        let Some((began, last)) = self.burst else {
            return match self.events.recv().await {
                None => std::future::pending().await,
                event => event,
            };
        };
        let end = (last + QUIET).min(began + LONGEST);
        if Instant::now() >= end { None } else { timeout_at(end, self.events.recv()).await.ok().flatten() }
    }

    fn take(&mut self, event: notify::Result<Event>) {
        let Ok(event) = event else { return };
        if event.need_rescan() {
            let root = self.scope.root.clone();
            self.enter(&root, &Trail::default(), true);
        }
        let matters = match event.kind {
            EventKind::Create(_) | EventKind::Remove(_) => true,
            EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
            EventKind::Any | EventKind::Access(_) | EventKind::Other => false,
        };
        if !matters {
            return;
        }
        for path in event.paths {
            if path.is_dir() && !self.scope.leaves_out(&path) {
                let (_, trail) = self.scope.judge(&path);
                self.enter(&path, &trail, true);
            } else if self.scope.counts(&path) || self.watched.remove(&path) {
                self.pending.insert(path);
            }
        }
        self.extend_burst();
    }

    fn extend_burst(&mut self) {
        if !self.pending.is_empty() {
            let now = Instant::now();
            let (began, _) = self.burst.unwrap_or((now, now));
            self.burst = Some((began, now));
        }
    }

    /// A warning about directories that cannot be watched, once for each.
    pub fn warning(&mut self) -> Option<String> {
        let unwatched = std::mem::take(&mut self.unwatched);
        let (first, more) = unwatched.split_first()?;
        let more = match more.len() {
            0 => String::new(),
            count => format!(" and {count} more directories"),
        };
        Some(format!("{first}{more}; changes there go unnoticed"))
    }

    /// Takes over the pending changes of another watcher.
    pub fn continue_from(&mut self, mut other: Self) {
        self.pending.append(&mut other.pending);
        self.extend_burst();
        while let Ok(event) = other.events.try_recv() {
            self.take(event);
        }
    }

    /// Watches a directory and those below it. The files of a new directory are changes.
    fn enter(&mut self, directory: &Path, trail: &Trail, is_new: bool) {
        if let Err(error) = self.add(directory) {
            // It may have been removed again.
            if directory.is_dir() {
                self.unwatched.push(error);
            }
            return;
        }
        self.scope.read_gitignore(directory);
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let relative = self.scope.relative(&path);
                let (excluded, below) = self.scope.ignore.step(trail, &relative);
                let hidden = self.scope.is_ignored_by_git(&path, true);
                if !hidden && (!excluded || self.scope.ignore.may_include_below(&relative)) {
                    self.enter(&path, &below, is_new);
                }
            } else if is_new && self.scope.counts(&path) {
                self.pending.insert(path);
            }
        }
    }

    fn add(&mut self, directory: &Path) -> Result<(), Error> {
        let watched = self.notify.watch(directory, RecursiveMode::NonRecursive);
        watched.map_err(|error| refused(directory, &error))?;
        self.watched.insert(directory.to_owned());
        Ok(())
    }
}

impl Scope {
    fn new(directory: &Path, watch: &plan::Watch) -> Self {
        let real = |path: &str| {
            let path = directory.join(path);
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            match (parent, path.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => path.canonicalize().unwrap_or(path),
            }
        };
        let root = directory.join(&watch.root);
        let root = root.canonicalize().unwrap_or(root);
        let ignore = Ignore::parse(&watch.ignore.join("\n")).unwrap_or_default();
        let files = watch.files.iter().map(|path| real(path)).collect();
        let mut scope = Self { root, ignore, files, gitignores: Vec::new() };
        scope.read_gitignores_above();
        scope
    }

    /// Reads the files between the root and that of the repository, except those that ignore the whole project.
    fn read_gitignores_above(&mut self) {
        let root = self.root.clone();
        if let Some(repository) = root.ancestors().position(|directory| directory.join(".git").exists()) {
            for directory in root.ancestors().take(repository + 1).skip(1) {
                self.read_gitignore(directory);
            }
            self.gitignores.retain(|(_, rules)| !rules.matched_path_or_any_parents(&root, true).is_ignore());
        }
    }

    fn read_gitignore(&mut self, directory: &Path) {
        let file = directory.join(".gitignore");
        if file.is_file() {
            self.gitignores.retain(|(known, _)| known != directory);
            self.gitignores.push((directory.to_owned(), Gitignore::new(file).0));
        }
    }

    fn is_ignored_by_git(&self, path: &Path, is_directory: bool) -> bool {
        let above = self.gitignores.iter().filter(|(directory, _)| path.starts_with(directory));
        let mut verdicts = above.map(|(_, rules)| rules.matched_path_or_any_parents(path, is_directory));
        verdicts.any(|verdict| verdict.is_ignore())
    }

    /// Whether the build ignores `path`, and the patterns that matched.
    fn judge(&self, path: &Path) -> (bool, Trail) {
        let relative = self.relative(path);
        let ends = relative.match_indices('/').map(|(at, _)| at).chain([relative.len()]);
        let start = (false, Trail::default());
        if relative.is_empty() {
            start
        } else {
            ends.fold(start, |(_, trail), end| self.ignore.step(&trail, &relative[..end]))
        }
    }

    fn leaves_out(&self, path: &Path) -> bool {
        !path.starts_with(&self.root) || self.judge(path).0 || self.is_ignored_by_git(path, true)
    }

    fn counts(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_source = Language::of(&name).is_some() && path.starts_with(&self.root);
        let is_named = self.files.iter().any(|file| file == path);
        is_named || is_source && !self.judge(path).0 && !self.is_ignored_by_git(path, false)
    }

    fn relative(&self, path: &Path) -> String {
        with_slashes(path.strip_prefix(&self.root).unwrap_or(path))
    }
}

fn refused(path: &Path, error: &notify::Error) -> Error {
    let reason = match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "the limit fs.inotify.max_user_watches is reached".to_owned(),
        notify::ErrorKind::Io(error) => crate::project::reason(error),
        _ => error.to_string(),
    };
    Error { path: path.to_owned(), reason }
}
