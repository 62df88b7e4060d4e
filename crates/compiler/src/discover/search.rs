//! The source files of a project, and what their names hold.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::MANIFESTS;
use crate::files::{FileKind, Files};
use crate::manifests;
use crate::manifests::symbols::Language;
use crate::manifests::symbols::values::{self, Values};
use crate::paths;
use crate::tree::Tree;

/// Directories without the source of a server.
const FOREIGN: &[&str] = &[
    "__pycache__",
    "__tests__",
    "archive",
    "build",
    "deprecated",
    "dist",
    "e2e",
    "env",
    "legacy",
    "node_modules",
    "out",
    "site-packages",
    "target",
    "test",
    "tests",
    "venv",
];

/// Most levels that are descended.
const MAX_DEPTH: usize = 10;

/// Most bytes of a source file that is read.
const MAX_SOURCE: usize = 512 * 1024;

/// Words, one of which is in each file that makes a graph, or gives what another file has made.
const WORDS: &[&str] = &["agent", "Agent", "graph", "Graph", "workflow", "Workflow", "entrypoint"];

/// The names of packages that make graphs.
const LIBRARIES: &[&str] = &["deepagents", "langchain", "langgraph"];

/// Source files by path.
pub(super) type Sources = BTreeMap<String, Source>;

/// The source files below a directory.
#[derive(Default)]
pub(super) struct Search {
    /// Those of its own project, by path.
    pub(super) sources: Sources,
    /// Those of projects below it, by the directory of the project.
    pub(super) others: BTreeMap<String, Sources>,
    /// Files that are broken and name a library of graphs: path, line and what is wrong.
    pub(super) broken: Vec<(String, usize, String)>,
    /// Whether there are more files than were looked at.
    pub(super) is_partial: bool,
    /// Number of files and directories that may still be looked at.
    left: usize,
}

/// A source file.
#[derive(Clone)]
pub(super) struct Source {
    /// What its names hold.
    pub(super) values: Rc<Values>,
    /// Whether it names a library of graphs.
    pub(super) has_library: bool,
    /// Its text.
    pub(super) text: Rc<str>,
}

/// Searches the directory of `files`, and looks at this number of files and directories at most.
pub(super) fn search(files: &Tree, most: usize) -> Search {
    let mut search = Search { left: most, ..Search::default() };
    search.walk(".", None, MAX_DEPTH, files);
    search
}

impl Search {
    fn walk(&mut self, directory: &str, project: Option<&str>, depth: usize, files: &Tree) {
        for (name, kind) in files.list(directory) {
            if self.left == 0 {
                self.is_partial = true;
                return;
            }
            self.left -= 1;
            let path = paths::join(directory, &name);
            let is_hidden = name.starts_with('.');
            match kind {
                FileKind::File => self.file(path, project, files),
                FileKind::Directory if is_hidden || FOREIGN.contains(&&*name) || depth == 0 => {}
                FileKind::Directory if files.is_file(&paths::join(&path, "pyvenv.cfg")) => {}
                FileKind::Directory => {
                    let has = |name: &&str| files.is_file(&paths::join(&path, name));
                    // A package may have a list of requirements, too.
                    let is_project = !has(&"__init__.py") && MANIFESTS.iter().any(has);
                    let project = if is_project { Some(&*path) } else { project };
                    self.walk(&path, project, depth - 1, files);
                }
            }
        }
    }

    fn file(&mut self, path: String, project: Option<&str>, files: &Tree) {
        let Some(language) = Language::of(&path).filter(|_| !is_test(paths::file_name(&path))) else {
            return;
        };
        let Some(Ok(text)) = manifests::text(&path, files) else { return };
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if text.len() > MAX_SOURCE || !has(WORDS) {
            return;
        }
        let has_library = has(LIBRARIES);
        match values::read(language, &text) {
            Ok(values) => {
                let source = Source { values: Rc::new(values), has_library, text: text.into() };
                let sources = match project {
                    None => &mut self.sources,
                    Some(project) => self.others.entry(project.to_owned()).or_default(),
                };
                sources.insert(path, source);
            }
            Err(broken) if has_library && project.is_none() => {
                self.broken.push((path, line(&text, broken.span.start), broken.message));
            }
            Err(_) => {}
        }
    }
}

/// The line, from 1, of the byte `at`.
pub(super) fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Whether a file of this name has tests.
fn is_test(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let is_python = stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest";
    is_python || stem.ends_with(".test") || stem.ends_with(".spec") || name.ends_with(".d.ts")
}
