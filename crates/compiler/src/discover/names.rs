//! The IDs of graphs that were found.

use std::collections::BTreeSet;

use super::Graph;
use crate::manifests::dependency::directory_name;
use crate::manifests::package_json;
use crate::manifests::pyproject::Pyproject;
use crate::tree::Tree;

/// Words that say nothing about a graph.
const GENERIC: &[&str] = &[
    "agents",
    "api",
    "app",
    "apps",
    "backend",
    "build",
    "builder",
    "compiled",
    "create",
    "default",
    "get",
    "graph",
    "graphs",
    "index",
    "init",
    "langgraph",
    "lib",
    "main",
    "make",
    "server",
    "services",
    "src",
    "studio",
    "workflow",
    "workflows",
];

/// The ID of a graph without a better name.
const FALLBACK: &str = "agent";

/// Gives each graph an ID: its variable, file or package, the first of them that says something, or two of them where that
/// is the ID of another one.
pub(super) fn assign(graphs: &mut [Graph], files: &Tree) {
    let project = project_name(files);
    let words: Vec<Vec<String>> = graphs.iter().map(|graph| words(graph, project.as_deref())).collect();
    let mut taken = BTreeSet::new();
    for (at, graph) in graphs.iter_mut().enumerate() {
        let is_shared = |id: &str| {
            words.iter().enumerate().any(|(other, it)| other != at && it.first().is_some_and(|it| it == id))
        };
        let own = &words[at];
        let mut id = own.first().cloned().unwrap_or_else(|| FALLBACK.to_owned());
        if let Some(outer) = own.get(1).filter(|_| is_shared(&id)) {
            id = if id == FALLBACK { outer.clone() } else { format!("{outer}_{id}") };
        }
        let mut unique = id.clone();
        let mut number = 2;
        while !taken.insert(unique.clone()) {
            unique = format!("{id}_{number}");
            number += 1;
        }
        graph.id = unique;
    }
}

/// The words for a graph, from the closest one to the project's name.
fn words(graph: &Graph, project: Option<&str>) -> Vec<String> {
    let mut parts: Vec<&str> = graph.path.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let stem = if stem == "__init__" { "" } else { stem };
    let around = parts.into_iter().rev();
    let all = [graph.name.as_str(), stem].into_iter().chain(around).chain(project);
    let mut words: Vec<String> = Vec::new();
    for word in all.map(tidy).filter(|word| !is_generic(word)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// `word` with letters, digits, `_` and `-` alone.
fn tidy(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let word: String = word.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    word.trim_matches(['-', '_']).to_owned()
}

/// Whether all parts of a word are generic.
fn is_generic(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    lower.split(['_', '-']).all(|part| part.is_empty() || GENERIC.contains(&part))
}

fn project_name(files: &Tree) -> Option<String> {
    let python = Pyproject::read(".", files).name().map(str::to_owned);
    let javascript = || package_json::find(".", files)?.ok()?.name().map(str::to_owned);
    python.or_else(javascript).or_else(|| directory_name(".", files))
}
