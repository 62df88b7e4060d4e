//! Finds the graphs of a project without a configuration, and writes one: what `agentcli init` takes.

mod choice;
mod names;
mod search;

use std::fmt::Write as _;

use crate::files::Files;
use crate::manifests::dependency::Local;
use crate::manifests::dotenv;
use crate::manifests::requires_python::{Fit, RequiresPython};
use crate::manifests::symbols::{Language, PythonVersion};
pub use crate::manifests::uv_workspace::Member;
use crate::manifests::{package_json, uv_workspace, workspace};
use crate::paths;
use crate::server::{DEFAULT_PYTHON, PYTHONS};
use crate::tree::Tree;

/// Files that make the directory that they are in a project.
const MANIFESTS: &[&str] = &["package.json", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt"];

/// Lock files, of which the first one that is there is shown.
const LOCKS: &[&str] = &[
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pylock.toml",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
];

/// A graph of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Its ID in the configuration.
    pub id: String,
    /// The file, relative to the directory.
    pub path: String,
    /// The name in the file.
    pub name: String,
    /// The line of its definition, from 1, and what it is, such as `compiled graph`; none if the user named it.
    pub origin: Option<(usize, &'static str)>,
}

/// A file of the project that the configuration uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its path.
    pub path: String,
    /// What is in it, in words.
    pub what: String,
}

/// What a directory has.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The graphs that `init` takes.
    pub graphs: Vec<Graph>,
    /// Graphs that others have as their parts, as `PATH:NAME`; `init` leaves them out.
    pub parts: Vec<String>,
    /// Projects below the directory that have graphs of their own.
    pub projects: Vec<String>,
    /// Files that may have graphs and are broken, with the line and what is wrong.
    pub broken: Vec<(String, usize, String)>,
    /// Number of source files that were read.
    pub files: usize,
    /// Whether there were too many files to look at all of them.
    pub is_partial: bool,
}

/// Finds the graphs of the project that `files` shows, among this number of files and directories at most.
pub fn discover(files: &Tree, most: usize) -> Found {
    let search = search::search(files, most);
    let (mut graphs, parts) = choice::choose(&search.sources, files);
    names::assign(&mut graphs, files);
    let has_graphs = |sources: &search::Sources| !choice::choose(sources, files).0.is_empty();
    let projects = search.others.iter().filter(|(_, sources)| has_graphs(sources));
    let projects: Vec<String> = projects.map(|(path, _)| path.clone()).collect();
    // A script of a monorepo that tries its graphs is no server.
    if !projects.is_empty() && graphs.iter().all(|graph| choice::is_in_parts(&graph.path)) {
        graphs.clear();
    }
    Found {
        graphs,
        parts,
        projects,
        broken: search.broken,
        files: search.sources.len(),
        is_partial: search.is_partial,
    }
}

/// The most files and directories that `init` looks at.
pub const MOST: usize = 20_000;

/// The graph that the user names as `PATH:NAME`; none if that has another form.
pub fn named(reference: &str, files: &Tree) -> Option<Graph> {
    let (path, name) =
        reference.rsplit_once(':').filter(|(path, name)| !path.is_empty() && !name.is_empty())?;
    let mut graph = [Graph::given("", path, name)];
    names::assign(&mut graph, files);
    let [graph] = graph;
    Some(graph)
}

/// The members of the workspaces of uv and of JavaScript here, without the root.
pub fn members(files: &Tree) -> Vec<Member> {
    let mut found =
        uv_workspace::Workspace::of(".", files).map(|workspace| workspace.members).unwrap_or_default();
    let manifest = package_json::find(".", files).and_then(Result::ok);
    let search = manifest.and_then(|manifest| workspace::search(&manifest, ".", files).ok());
    for path in search.and_then(|search| search.found).into_iter().flat_map(|workspace| workspace.members) {
        let manifest = package_json::find(&path, files).and_then(Result::ok);
        let name = manifest.and_then(|manifest| manifest.name().map(str::to_owned));
        found.extend(name.map(|name| Member { name, path }));
    }
    found.retain(|member| member.path != ".");
    found
}

impl Graph {
    /// The graph `name` of the file at `path`, with this ID, as the user named it.
    pub fn given(id: &str, path: &str, name: &str) -> Self {
        let path = path.strip_prefix("./").unwrap_or(path);
        Self { id: id.to_owned(), path: path.to_owned(), name: name.to_owned(), origin: None }
    }

    /// `src/agent/graph.py:graph`
    pub fn shown(&self) -> String {
        format!("{}:{}", self.path, self.name)
    }

    /// The same as a value of `graphs`.
    fn reference(&self) -> String {
        // Without an ending, it is the name of a module.
        let is_file = Language::of(&self.path).is_some() && !self.path.starts_with(['.', '/']);
        if is_file { format!("./{}", self.shown()) } else { self.shown() }
    }
}

/// The text of a configuration for `graphs`, and the other files of the project that it uses.
pub fn configuration(graphs: &[Graph], files: &Tree) -> (String, Vec<Fact>) {
    let mut facts = Vec::new();
    let mut text = "{\n".to_owned();
    let is_python = graphs.iter().any(|graph| !paths::is_javascript(&graph.path));
    if is_python {
        text.push_str("  \"dependencies\": [\".\"],\n");
        let local = Local::new(Some(0), ".".to_owned(), files);
        let range = RequiresPython::read(&local, files);
        facts.extend(python_manifest(&local, range.as_ref(), files));
        if let Some(version) = python_version(range.as_ref(), files) {
            _ = writeln!(text, "  \"python_version\": \"{version}\",");
        }
    }
    if graphs.iter().any(|graph| paths::is_javascript(&graph.path)) {
        facts.extend(package_json::find(".", files).and_then(Result::ok).map(|manifest| Fact {
            path: package_json::NAME.to_owned(),
            what: manifest.name().map(|name| format!("package {name}")).unwrap_or_default(),
        }));
    }
    let lines =
        graphs.iter().map(|graph| format!("    {}: {}", quoted(&graph.id), quoted(&graph.reference())));
    _ = write!(text, "  \"graphs\": {{\n{}\n  }}", lines.collect::<Vec<_>>().join(",\n"));
    if let Some(env) = files.text(".env") {
        text.push_str(",\n  \"env\": \".env\"");
        let names: Vec<String> = dotenv::parse(&env, |_| None).variables.into_keys().collect();
        facts.push(Fact { path: ".env".to_owned(), what: names.join(", ") });
    }
    let lock = LOCKS.iter().find(|name| files.is_file(name));
    facts.extend(lock.map(|name| Fact { path: (*name).to_owned(), what: "lock file".to_owned() }));
    text.push_str("\n}\n");
    (text, facts)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn python_manifest(local: &Local, range: Option<&RequiresPython>, files: &Tree) -> Option<Fact> {
    let path =
        MANIFESTS.iter().filter(|name| **name != package_json::NAME).find(|name| files.is_file(name))?;
    let package = local.distribution_name(files).map(|name| format!("package {name}"));
    let python = range.map(|range| format!("Python {}", range.range));
    let what: Vec<String> = package.into_iter().chain(python).collect();
    Some(Fact { path: (*path).to_owned(), what: what.join(", ") })
}

/// The version of Python to write: that of `.python-version`, or the oldest one that the project supports. None if that is
/// the default.
fn python_version(range: Option<&RequiresPython>, files: &Tree) -> Option<String> {
    let is_supported =
        |version: PythonVersion| range.is_none_or(|range| range.fit_of_series(version) == Fit::Supported);
    let shown = |(major, minor): PythonVersion| format!("{major}.{minor}");
    let pinned = files.text(".python-version").unwrap_or_default();
    let pinned = pinned.trim();
    let is_pinned = |version: &str| pinned == version || pinned.starts_with(&format!("{version}."));
    let mut all = PYTHONS.iter().copied().filter(|version| is_supported(*version));
    let version = all.clone().find(|version| is_pinned(&shown(*version))).or_else(|| all.next())?;
    Some(shown(version)).filter(|version| version != DEFAULT_PYTHON)
}

#[cfg(test)]
mod tests;
