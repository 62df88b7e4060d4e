//! The choice of the Python interpreter: that of an environment of the user that has all packages, or the one that an
//! environment of ours is made from.

use std::path::{Path, PathBuf};

use super::candidates;
use super::error::Error;
use super::interpreter::{Inspection, Required, inspect};
use super::session::Selection;
use crate::compiler::back::plan::PythonPackages;
use crate::compiler::manifests::requires_python::{Fit, Release, RequiresPython};
use crate::compiler::server::PYTHONS;
use crate::compiler::server::local::OLDEST_PYTHON;
use crate::live::Reporter;

/// Number of unsuitable interpreters that an error names.
const MAX_REJECTED: usize = 5;

/// A suitable interpreter.
pub(super) struct Interpreter {
    pub(super) path: PathBuf,
    pub(super) inspection: Inspection,
    /// How it was found, in words.
    pub(super) origin: &'static str,
}

/// The chosen interpreter.
pub(super) struct Choice {
    pub(super) interpreter: Interpreter,
    /// Whether the server can run in it without an installation.
    pub(super) is_complete: bool,
    /// The directories of the packages of the environments that were considered.
    pub(super) environments: Vec<PathBuf>,
}

/// Chooses an interpreter, and reports which and why.
pub(super) async fn choose(
    directory: &Path,
    packages: &PythonPackages,
    selection: &Selection,
    required: &Required,
    reporter: &mut dyn Reporter,
) -> Result<Choice, Error> {
    let pinned = packages.version.clone().filter(|pinned| {
        let series = series(pinned);
        packages.requires_python.iter().all(|it| it.fit_of_series(series) == Fit::Supported)
    });
    let mut search = Search {
        directory,
        packages,
        selection,
        required,
        pinned,
        seen: Vec::new(),
        rejected: Vec::new(),
        second: None,
        environments: Vec::new(),
    };
    let best = match &selection.python {
        Some(python) => search.consider(python.clone(), "selected by --python").await,
        None => search.best(reporter).await,
    };
    let Some(interpreter) = best.or(search.second.take()) else { return Err(search.none()) };
    search.explain(&interpreter, reporter);
    let is_complete = interpreter.inspection.missing.is_empty() && !packages.own;
    Ok(Choice { interpreter, is_complete, environments: search.environments })
}

struct Search<'a> {
    directory: &'a Path,
    packages: &'a PythonPackages,
    selection: &'a Selection,
    required: &'a Required,
    /// The series that the configuration pins, if the local packages support it.
    pinned: Option<String>,
    seen: Vec<PathBuf>,
    /// Those that are unsuitable, and why.
    rejected: Vec<String>,
    /// The first that is suitable, but is not pinned or is newer than the local packages support.
    second: Option<Interpreter>,
    environments: Vec<PathBuf>,
}

impl Search<'_> {
    /// The first interpreter that fits in every respect. An environment that has all packages goes before others.
    async fn best(&mut self, reporter: &mut dyn Reporter) -> Option<Interpreter> {
        let (directory, selection) = (self.directory, self.selection);
        let surroundings = &selection.surroundings;
        let mut bases = Vec::new();
        for environment in candidates::environments(directory, surroundings) {
            let (found, why_not) = self.environment(&environment).await;
            match (found, why_not) {
                (Some(found), None) => return Some(found),
                (found, why_not) => {
                    let shown = environment.strip_prefix(directory).unwrap_or(&environment).display();
                    reporter.note(format!("not using `{shown}`: {}", why_not.unwrap_or_default()));
                    bases.extend(found);
                }
            }
        }
        for base in bases {
            if let Some(best) = self.keep(base) {
                return Some(best);
            }
        }
        let selected = candidates::selected_series(directory);
        let preferred: Vec<String> = self.pinned.iter().cloned().chain(selected).collect();
        let pyenv = candidates::pyenv_choice(directory, surroundings);
        let uv = candidates::of_uv(self.pinned.as_deref(), directory, selection).await;
        let on_path = candidates::of_path(&preferred, surroundings);
        let first = pyenv.map(|path| (path, "selected by pyenv")).into_iter();
        let first = first.chain(uv.map(|path| (path, "selected by uv")));
        for (path, origin) in first.chain(on_path.into_iter().map(|path| (path, "on the PATH"))) {
            if let Some(best) = self.consider(path, origin).await {
                return Some(best);
            }
        }
        for series in supported_series(self.packages, preferred) {
            let pyenv = candidates::of_pyenv(&series, surroundings).map(|path| (path, "installed by pyenv"));
            let uv = candidates::of_uv(Some(&series), directory, selection).await;
            for (path, origin) in pyenv.into_iter().chain(uv.map(|path| (path, "found by uv"))) {
                if let Some(best) = self.consider(path, origin).await {
                    return Some(best);
                }
            }
        }
        None
    }

    /// Inspects an environment of the user. Returns its interpreter if that is suitable, and why it cannot be used as it is.
    async fn environment(&mut self, environment: &Path) -> (Option<Interpreter>, Option<String>) {
        let path = environment.join("bin/python");
        if !path.is_file() {
            return (None, Some("it has no Python".to_owned()));
        }
        match self.inspect(path, "that of the environment").await {
            Err(reason) => {
                (None, Some(format!("its interpreter {reason}, and the project needs {}", self.wanted())))
            }
            Ok(found) => {
                self.environments.push(found.inspection.packages.clone());
                let why_not = match &found.inspection.missing[..] {
                    [] if self.packages.own => Some(
                        "the server's JavaScript packages are installed beside its Python packages"
                            .to_owned(),
                    ),
                    [] => None,
                    [first, rest @ ..] if !rest.is_empty() && !self.selection.verbose => {
                        Some(format!("it lacks {first} and {} more (-v lists them)", rest.len()))
                    }
                    all => Some(format!("it lacks {}", all.join(", "))),
                };
                (Some(found), why_not)
            }
        }
    }

    /// Inspects an interpreter, and returns it if nothing better can be found.
    async fn consider(&mut self, path: PathBuf, origin: &'static str) -> Option<Interpreter> {
        if self.seen.contains(&path) {
            return None;
        }
        let found = self.inspect(path, origin).await.ok()?;
        self.keep(found)
    }

    /// Returns the interpreter if it fits in every respect, and remembers the first one that does not.
    fn keep(&mut self, found: Interpreter) -> Option<Interpreter> {
        let Inspection { version, .. } = found.inspection;
        let is_pinned = self.pinned.as_ref().is_none_or(|pinned| found.inspection.is_of(pinned));
        if is_pinned && self.fits(version, |fit| fit == Fit::Supported) {
            return Some(found);
        }
        self.second.get_or_insert(found);
        None
    }

    /// Inspects an interpreter. If it is unsuitable, the error is a fragment that says why.
    async fn inspect(&mut self, path: PathBuf, origin: &'static str) -> Result<Interpreter, String> {
        self.seen.push(path.clone());
        let inspected = inspect(&path, self.directory, self.required, self.selection.timeout).await;
        let (major, minor) = OLDEST_PYTHON;
        let suitable = inspected.and_then(|inspection| {
            let is_new = inspection.version >= [major, minor, 0];
            if is_new && self.fits(inspection.version, |fit| !fit.is_refused(self.packages.uses_pip)) {
                Ok(inspection)
            } else {
                Err(format!("is Python {}", inspection.shown_version()))
            }
        });
        let failed = |reason: &String| self.rejected.push(format!("`{}` {reason}", path.display()));
        let inspection = suitable.inspect_err(failed)?;
        Ok(Interpreter { path, inspection, origin })
    }

    fn fits(&self, version: Release, is_good: impl Fn(Fit) -> bool) -> bool {
        self.packages.requires_python.iter().all(|range| is_good(range.fit(version)))
    }

    /// Reports the choice, and warns of what does not fit.
    fn explain(&self, found: &Interpreter, reporter: &mut dyn Reporter) {
        let Interpreter { path, inspection, origin } = found;
        let shown = path.strip_prefix(self.directory).unwrap_or(path).display();
        let version = inspection.shown_version();
        let ranges = &self.packages.requires_python;
        if let Some(pinned) = self.packages.version.as_ref().filter(|pinned| !inspection.is_of(pinned)) {
            let why = ranges.iter().find(|it| it.fit_of_series(series(pinned)) != Fit::Supported);
            let why = why.map_or_else(String::new, |it| format!("; {} requires `{}`", it.path, it.range));
            reporter.warn(format!("the configuration pins Python {pinned}, and `{shown}` is {version}{why}"));
        }
        for RequiresPython { path, range, .. } in
            ranges.iter().filter(|it| it.fit(inspection.version) != Fit::Supported)
        {
            reporter.warn(format!("{path} supports Python `{range}`, and `{shown}` is {version}"));
        }
        if self.selection.python.is_none() {
            reporter
                .note(format!("using Python {version}, {origin} (`{shown}`){}", self.reasons(inspection)));
        }
    }

    /// The requirements that the interpreter meets, as the end of a sentence.
    fn reasons(&self, inspection: &Inspection) -> String {
        let pinned = self.pinned.iter().filter(|pinned| inspection.is_of(pinned));
        let pinned = pinned.map(|pinned| format!("the configuration pins {pinned}"));
        let ranges = self.narrow().map(|it| format!("{} requires `{}`", it.path, it.range));
        let all: Vec<String> = pinned.chain(ranges).collect();
        if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
    }

    /// The ranges that do not include everything that the server supports.
    fn narrow(&self) -> impl Iterator<Item = &RequiresPython> {
        let is_narrow =
            |it: &&RequiresPython| !PYTHONS.iter().all(|&series| it.fit_of_series(series) == Fit::Supported);
        self.packages.requires_python.iter().filter(is_narrow)
    }

    /// The versions that are suitable, in words.
    fn wanted(&self) -> String {
        let ranges = self.narrow().map(|it| format!(" within `{}` ({})", it.range, it.path));
        let (major, minor) = OLDEST_PYTHON;
        [format!("Python {major}.{minor} or later")].into_iter().chain(ranges).collect()
    }

    fn none(mut self) -> Error {
        let hidden = self.rejected.len().saturating_sub(MAX_REJECTED);
        self.rejected.truncate(MAX_REJECTED);
        self.rejected.extend((hidden > 0).then(|| format!("and {hidden} more")));
        Error::NoInterpreter { wanted: self.wanted(), rejected: self.rejected, hint: advice(self.packages) }
    }
}

/// The series that the server and the local packages support, those of `preferred` first.
fn supported_series(packages: &PythonPackages, preferred: Vec<String>) -> Vec<String> {
    let ranges = &packages.requires_python;
    let others = PYTHONS.iter().map(|(major, minor)| format!("{major}.{minor}"));
    let mut found = preferred;
    found.extend(others);
    found.retain(|it| ranges.iter().all(|range| range.fit_of_series(series(it)) == Fit::Supported));
    found
}

/// How to get a suitable interpreter.
pub(super) fn advice(packages: &PythonPackages) -> String {
    match supported_series(packages, packages.version.iter().cloned().collect()).first() {
        Some(series) => format!(
            "install one (`uv python install {series}`, `pyenv install {series}`, or a package of the system), or pass \
             one with --python"
        ),
        None => format!("change the range to include Python {}.{}", OLDEST_PYTHON.0, OLDEST_PYTHON.1),
    }
}

/// Major and minor version of a series such as `3.12`.
fn series(text: &str) -> (u8, u8) {
    let number = |text: &str| text.parse().unwrap_or_default();
    text.split_once('.').map_or((0, 0), |(major, minor)| (number(major), number(minor)))
}
