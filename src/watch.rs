//! Which changes of the user's tree count, and when they have settled.
//!
//! Only directories that a build would see are watched, one by one, so that what is left out costs nothing. Of the
//! files in them source code counts: what an agent writes while it runs is something else.

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

/// How long nothing may happen until a burst of changes is over, and how long one may last.
const QUIET: Duration = Duration::from_millis(60);
const LONGEST: Duration = Duration::from_millis(1000);

/// A directory that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch `{}` for changes: {reason}", .path.display())]
pub struct Error {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Looks at one project.
pub struct Watcher {
    notify: RecommendedWatcher,
    events: UnboundedReceiver<notify::Result<Event>>,
    scope: Scope,
    directory: PathBuf,
    pending: BTreeSet<PathBuf>,
    /// When the first and the last pending change arrived.
    burst: Option<(Instant, Instant)>,
    /// Directories that are watched.
    watched: HashSet<PathBuf>,
    /// Those that could not be, until that is reported.
    unwatched: Vec<Error>,
}

/// Changes that belong together.
pub struct Changes {
    /// What changed, relative to the configuration's directory where it lies in it.
    pub paths: Vec<String>,
    /// Whether a file is among them that decides how the server is started, rather than what it runs.
    pub decide_start: bool,
}

/// What counts.
struct Scope {
    root: PathBuf,
    ignore: Ignore,
    /// Files that count in any case.
    files: Vec<PathBuf>,
    /// What git leaves out: the directory of each .gitignore, and what it says.
    gitignores: Vec<(PathBuf, Gitignore)>,
}

impl Watcher {
    /// Begins to look; `directory` is the configuration's, absolute.
    ///
    /// # Errors
    ///
    /// The system does not watch the project's directory, or that of a file that counts.
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
        // A file may be named in a directory that is not there.
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

    /// The next event; none when the burst is over.
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

    /// A warning about the directories that could not be watched since it was last asked for.
    pub fn warning(&mut self) -> Option<String> {
        let unwatched = std::mem::take(&mut self.unwatched);
        let (first, more) = unwatched.split_first()?;
        let more = match more.len() {
            0 => String::new(),
            count => format!("; nor {count} more"),
        };
        Some(format!("{first}{more}; changes there are not noticed"))
    }

    /// Takes over what another has seen and not told.
    pub fn go_on_from(&mut self, mut other: Self) {
        self.pending.append(&mut other.pending);
        self.extend_burst();
        while let Ok(event) = other.events.try_recv() {
            self.take(event);
        }
    }

    /// Watches a directory and those below it. In a new one, the files that are there already are changes.
    fn enter(&mut self, directory: &Path, trail: &Trail, is_new: bool) {
        if let Err(error) = self.add(directory) {
            // One that is gone again needs no watch.
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
                let (excluded, below) = self.scope.step(trail, &path);
                let hidden = self.scope.is_ignored_by_git(&path, true);
                if !hidden && (!excluded || self.scope.may_include_below(&path)) {
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

    /// Those above the root count up to the repository's, unless one leaves out the whole project.
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

    fn step(&self, parent: &Trail, path: &Path) -> (bool, Trail) {
        self.ignore.step(parent, &self.relative(path))
    }

    /// Whether the build leaves out `path`, and what matched it.
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

    fn may_include_below(&self, directory: &Path) -> bool {
        self.ignore.may_include_below(&self.relative(directory))
    }

    fn counts(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_source = Language::of(&name).is_some() && path.starts_with(&self.root);
        let is_named = self.files.iter().any(|file| file == path);
        is_named || is_source && !self.judge(path).0 && !self.is_ignored_by_git(path, false)
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
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
