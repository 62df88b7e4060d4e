//! Which names of a project are the graphs that its server serves.

use std::collections::BTreeSet;

use super::search::{Source, Sources, line};
use super::{Graph, MANIFESTS};
use crate::files::Files;
use crate::manifests::gitignore::ignored_by;
use crate::manifests::package_json;
use crate::manifests::symbols::values::{Item, Value};
use crate::paths;
use crate::tree::Tree;

/// Most names that are followed from one to the next.
const MAX_STEPS: usize = 8;

/// Names of graphs that nobody would give to something else.
const USUAL: &[&str] = &["agent", "app", "graph", "workflow"];

/// Directories of what graphs are made of, and of what shows how to use them.
const PARTS: &[&str] = &[
    "benchmarks",
    "evals",
    "evaluation",
    "examples",
    "nodes",
    "scripts",
    "simulation",
    "subgraphs",
    "tools",
    "utils",
];

/// Modules of programs that show a graph to people, and are none.
const SCREENS: &[&str] = &["chainlit", "gradio", "streamlit"];

/// A name that holds a graph, or gives one.
#[derive(Clone)]
struct Candidate<'s> {
    path: &'s str,
    item: &'s Item,
    value: Value,
}

/// The graphs among the names of `sources`, and those that are parts of others, as `PATH:NAME`.
pub(super) fn choose(sources: &Sources, files: &Tree) -> (Vec<Graph>, Vec<String>) {
    let project = Project { sources };
    let mut called = BTreeSet::new();
    let mut found: Vec<Candidate<'_>> = Vec::new();
    for (path, source) in sources {
        let own = project.candidates(path, source, &mut called);
        found.extend(own);
    }
    let is_helper = |it: &Candidate<'_>| it.item.is_factory && called.contains(&key(it.path, &it.item.name));
    found.retain(|candidate| !is_helper(candidate));
    // In a directory that git ignores as a whole, this says nothing about a file.
    if ignored_by("any", files).is_none() {
        found.retain(|candidate| ignored_by(candidate.path, files).is_none());
    }
    let mut parts = Vec::new();
    let is_aside = |candidate: &Candidate<'_>| project.is_aside(candidate.path);
    if !found.iter().all(is_aside) {
        // First what only tries the graphs, since it imports those that are served.
        parts.extend(found.extract_if(.., |candidate| is_aside(candidate)).map(|it| it.shown()));
        let imported = project.imported(&found);
        let is_part =
            |candidate: &Candidate<'_>| imported.contains(&key(candidate.path, &candidate.item.name));
        if !found.iter().all(is_part) {
            let paths = |is_wanted: bool| {
                found.iter().filter(|it| is_part(it) == is_wanted).map(|it| it.path).collect::<Vec<_>>()
            };
            let (own, served) = (paths(true), paths(false));
            let is_left_out =
                |candidate: &mut Candidate<'_>| is_part(candidate) && !is_peer(candidate, &own, &served);
            parts.extend(found.extract_if(.., is_left_out).map(|it| it.shown()));
        }
    }
    // The other language of a repository has a server of its own.
    let is_javascript = |candidate: &Candidate<'_>| paths::is_javascript(candidate.path);
    if let Some(javascript) = language(files)
        && found.iter().any(|candidate| is_javascript(candidate) == javascript)
    {
        found.retain(|candidate| is_javascript(candidate) == javascript);
    }
    // A guess counts only where nothing is certain, and not in a project without such a library.
    if !sources.values().any(|source| source.has_library) {
        found.clear();
    }
    if found.iter().any(|candidate| candidate.value != Value::Likely) {
        found.retain(|candidate| candidate.value != Value::Likely || candidate.item.name == "graph");
    }
    (found.iter().map(|candidate| candidate.graph(&sources[candidate.path].text)).collect(), parts)
}

/// Whether a file is in a directory of what graphs are made of, or of what tries them.
pub(super) fn is_in_parts(path: &str) -> bool {
    paths::parent(path).split('/').any(|directory| PARTS.contains(&directory))
}

/// Whether a part is one of few among the graphs of the directories beside its own, most of which are served.
fn is_peer(part: &Candidate<'_>, parts: &[&str], served: &[&str]) -> bool {
    let above = |path: &str| paths::parent(paths::parent(path)).to_owned();
    let own = above(part.path);
    let beside = |paths: &[&str]| paths.iter().filter(|path| above(path) == own).count();
    beside(served) > 2 * beside(parts)
}

/// Whether the manifests of the project are those of JavaScript; none if there are both, or none.
fn language(files: &Tree) -> Option<bool> {
    let is_javascript = files.is_file(package_json::NAME);
    let is_python = MANIFESTS.iter().any(|name| *name != package_json::NAME && files.is_file(name));
    (is_javascript != is_python).then_some(is_javascript)
}

fn key(path: &str, name: &str) -> (String, String) {
    (path.to_owned(), name.to_owned())
}

impl Candidate<'_> {
    fn shown(&self) -> String {
        format!("{}:{}", self.path, self.item.name)
    }

    fn graph(&self, text: &str) -> Graph {
        let kind = match (self.item.is_factory, &self.value) {
            (true, _) => "function that returns a graph",
            (false, Value::Builder) => "graph, which the server compiles",
            (false, _) => "compiled graph",
        };
        Graph {
            id: String::new(),
            path: self.path.to_owned(),
            name: self.item.name.clone(),
            origin: Some((line(text, self.item.span.start), kind)),
        }
    }
}

struct Project<'s> {
    sources: &'s Sources,
}

impl<'s> Project<'s> {
    /// The graphs of one file. The functions that they come from are added to `called`.
    fn candidates(
        &self,
        path: &'s str,
        source: &'s Source,
        called: &mut BTreeSet<(String, String)>,
    ) -> Vec<Candidate<'s>> {
        let values = &source.values;
        let makes_graphs = self.makes_graphs(path);
        let mut found = Vec::new();
        for item in values.items.iter().filter(|item| !item.name.starts_with('_')) {
            let mut seen = Vec::new();
            let value = self.resolve(path, &item.value, makes_graphs, &mut seen);
            let is_coroutine = item.is_call && seen.first().is_some_and(|it| self.is_coroutine(it));
            if is_coroutine || matches!(value, Value::Other | Value::Same(_)) {
                continue;
            }
            if !item.is_factory && !self.is_aside(path) {
                called.extend(seen.iter().cloned());
            }
            let is_guess = value == Value::Likely;
            let is_usual = USUAL.contains(&&*item.name) && !item.is_factory;
            // `agent = graph`, or a graph that another file has made.
            let is_alias =
                !item.is_factory && seen.iter().any(|(at, name)| at == path && self.is_variable(at, name));
            let same = seen.first().filter(|(other, _)| other == path).map(|(_, name)| name);
            let same = same.and_then(|name| {
                found.iter_mut().find(|it: &&mut Candidate<'_>| it.item.name == *name && !it.item.is_factory)
            });
            match same {
                Some(other) if is_usual => other.item = item,
                _ if is_guess && !is_usual || is_alias => {}
                _ => found.push(Candidate { path, item, value }),
            }
        }
        let has = |test: fn(&Candidate<'_>) -> bool| found.iter().any(test);
        let has_graph = has(|it| !it.item.is_factory && it.value == Value::Graph);
        let has_factory = has(|it| it.item.is_factory && it.value == Value::Graph);
        found.retain(|candidate| match (&candidate.value, candidate.item.is_factory) {
            (Value::Graph, false) => true,
            (Value::Graph, true) => !has_graph,
            (Value::Builder, _) => !has_graph && !has_factory,
            _ => !has_graph && !has_factory,
        });
        // A graph that another one of the file has as a node.
        let is_used = |candidate: &Candidate<'_>| values.used.contains(&candidate.item.name);
        if !found.iter().all(is_used) {
            found.retain(|candidate| !is_used(candidate));
        }
        found
    }

    /// The names that files with graphs import from other files of the project.
    fn imported(&self, found: &[Candidate<'_>]) -> BTreeSet<(String, String)> {
        let mut imported = BTreeSet::new();
        for path in found.iter().map(|candidate| candidate.path).collect::<BTreeSet<_>>() {
            for (module, name) in self.sources[path].values.imports.values() {
                let (mut file, mut name) = (self.module(path, module), name);
                // `__init__.py` and `index.ts` hand on what others define.
                while let Some(at) = file.filter(|file| file != path) {
                    let is_new = imported.insert(key(&at, name));
                    let next = self.sources[&at].values.imports.get(name).filter(|_| is_new);
                    let Some((module, original)) = next else { break };
                    file = self.module(&at, module);
                    name = original;
                }
            }
        }
        imported
    }

    /// Whether the file at `path`, or one that it imports from, names a library of graphs.
    fn makes_graphs(&self, path: &str) -> bool {
        let has_library = |path: &str| self.sources[path].has_library;
        let mut modules = self.sources[path].values.imports.values().map(|(module, _)| module);
        has_library(path) || modules.any(|it| self.module(path, it).is_some_and(|file| has_library(&file)))
    }

    /// Whether a file is no source of served graphs: a part of them, or a program that tries or shows them.
    fn is_aside(&self, path: &str) -> bool {
        let mut modules = self.sources[path].values.imports.values().map(|(module, _)| module.as_str());
        is_in_parts(path) || modules.any(|it| SCREENS.contains(&it.split('.').next().unwrap_or(it)))
    }

    fn is_coroutine(&self, (path, name): &(String, String)) -> bool {
        self.sources[path].values.coroutines.contains(name)
    }

    fn is_variable(&self, path: &str, name: &str) -> bool {
        let values = &self.sources[path].values;
        values.items.iter().any(|item| item.name == name && !item.is_factory && !name.starts_with('_'))
    }

    /// What `value` in the file at `path` is. The names on the way are added to `seen`.
    fn resolve(&self, path: &str, value: &Value, is_graph: bool, seen: &mut Vec<(String, String)>) -> Value {
        let Value::Same(name) = value else {
            // Other libraries have such methods, too.
            let is_certain = is_graph || *value == Value::Likely;
            return if is_certain { value.clone() } else { Value::Other };
        };
        let values = &self.sources[path].values;
        let item = values.items.iter().find(|item| item.name == *name).map(|item| &item.value);
        if let Some(value) = item.or_else(|| values.helpers.get(name)) {
            return self.follow(path, name, value, seen);
        }
        let imported = values.imports.get(name).or_else(|| values.late_imports.get(name));
        let Some((module, original)) = imported else { return Value::Other };
        match self.module(path, module) {
            None if self.is_foreign(module) => Value::Other,
            None => Value::called(original),
            Some(file) => {
                let values = &self.sources[&file].values;
                let item = values.items.iter().find(|item| item.name == *original).map(|item| &item.value);
                let value = item.or_else(|| values.helpers.get(original)).cloned();
                let handed_on = values.imports.get(original).map(|_| Value::Same(original.clone()));
                let value = value.or(handed_on).unwrap_or(Value::Other);
                self.follow(&file, original, &value, seen)
            }
        }
    }

    fn follow(&self, path: &str, name: &str, value: &Value, seen: &mut Vec<(String, String)>) -> Value {
        let step = key(path, name);
        if seen.len() > MAX_STEPS || seen.contains(&step) {
            return Value::Other;
        }
        seen.push(step);
        self.resolve(path, value, self.makes_graphs(path), seen)
    }

    /// Whether a module is certainly none of the project.
    fn is_foreign(&self, module: &str) -> bool {
        !module.starts_with('.') && !module.contains('/')
    }

    /// The file of the project that a file at `path` imports as `module`.
    fn module(&self, path: &str, module: &str) -> Option<String> {
        if paths::is_javascript(path) {
            return self.javascript(path, module);
        }
        let level = module.chars().take_while(|c| *c == '.').count();
        let below = module[level..].replace('.', "/");
        let beside = paths::parent(path);
        if level > 0 {
            let up = paths::join(beside, &"../".repeat(level - 1));
            return self.python(&paths::join(&up, &below));
        }
        // The import path has the project, its `src` and the directories around the file.
        let mut directory = beside;
        loop {
            for root in [directory.to_owned(), paths::join(directory, "src")] {
                if let Some(found) = self.python(&paths::join(&root, &below)) {
                    return Some(found);
                }
            }
            if directory == "." {
                // The last parts of the name may be enough, if the root of the import path is above the project.
                return below.split_once('/').and_then(|(_, rest)| self.python(rest));
            }
            directory = paths::parent(directory);
        }
    }

    fn python(&self, stem: &str) -> Option<String> {
        let file = format!("{stem}.py");
        let package = paths::join(stem, "__init__.py");
        [file, package].into_iter().find(|path| self.sources.contains_key(path))
    }

    fn javascript(&self, path: &str, module: &str) -> Option<String> {
        if let Some(stem) = module.strip_prefix("@/").or_else(|| module.strip_prefix("~/")) {
            // What a `paths` of TypeScript is mostly for: the project, its `src` or a directory around the file.
            let mut directory = paths::parent(path);
            loop {
                let roots = [directory.to_owned(), paths::join(directory, "src")];
                if let Some(found) = roots.iter().find_map(|root| self.script(&paths::join(root, stem))) {
                    return Some(found);
                }
                if directory == "." {
                    return None;
                }
                directory = paths::parent(directory);
            }
        }
        let is_relative = module.starts_with('.');
        is_relative.then(|| self.script(&paths::join(paths::parent(path), module)))?
    }

    /// The file of JavaScript or TypeScript that is imported by the path `stem`.
    fn script(&self, stem: &str) -> Option<String> {
        let bare = [".js", ".mjs", ".cjs", ".ts", ".mts"]
            .iter()
            .find_map(|end| stem.strip_suffix(end))
            .unwrap_or(stem);
        let endings = ["ts", "tsx", "mts", "js", "mjs", "cjs"];
        let files = endings.iter().map(|ending| format!("{bare}.{ending}"));
        let index = endings.iter().map(|ending| format!("{stem}/index.{ending}"));
        files.chain(index).find(|path| self.sources.contains_key(path))
    }
}
