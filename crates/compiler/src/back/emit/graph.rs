//! Graphs as pictures and as text for other programs.

mod layout;
mod svg;
mod text;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

pub use svg::svg;
pub use text::text;

use super::template::render;
use crate::graph::{Edge, Graph, Kind, Node, visible};

/// See `schemas/graph.schema.json`.
#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    source: Option<Source<'a>>,
    complete: bool,
    nodes: &'a [Node],
    edges: &'a [Edge],
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a str,
    line: usize,
}

/// The graph as one line of JSON.
pub fn json(name: &str, graph: &Graph) -> String {
    let Graph { place, line, is_complete, nodes, edges, .. } = graph;
    let source = Some(Source { file: &place.file, line: *line }).filter(|it| !it.file.is_empty());
    let document = Document { name, source, complete: *is_complete, nodes, edges };
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

/// The graphs as one flowchart of Mermaid; several are parts of it.
pub fn mermaid(graphs: &[(String, Graph)]) -> String {
    let template = include_str!("../../../../../templates/graph.mermaid.jinja");
    render(template, &views(graphs, entities))
}

/// The graphs in the language of Graphviz.
pub fn dot(graphs: &[(String, Graph)]) -> String {
    let quoted = |text: &str| visible(text).replace('\\', "\\\\").replace('"', "\\\"");
    render(include_str!("../../../../../templates/graph.dot.jinja"), &views(graphs, quoted))
}

/// What templates show of graphs, with texts as `escape` writes them.
fn views(graphs: &[(String, Graph)], escape: impl Fn(&str) -> String) -> Value {
    let mut first = 0;
    let view = |(name, graph): &(String, Graph)| {
        let nodes: IndexMap<_, _> = graph
            .nodes
            .iter()
            .zip(first..)
            .map(|(node, index)| {
                let lines: Vec<_> = lines(node).iter().map(|line| escape(line)).collect();
                (
                    &*node.id,
                    json!({ "index": index, "id": escape(&node.id), "kind": node.kind, "lines": lines }),
                )
            })
            .collect();
        first += nodes.len();
        let end = |id: &str| nodes.get(id).map(|node| json!({ "index": node["index"], "id": node["id"] }));
        let edge =
            |it: &Edge| json!({ "source": end(&it.source), "target": end(&it.target), "style": style(it) });
        let edges: Vec<_> = graph.edges.iter().map(edge).collect();
        json!({ "name": escape(name), "nodes": nodes.values().collect::<Vec<_>>(), "edges": edges })
    };
    json!({ "graphs": graphs.iter().map(view).collect::<Vec<_>>(), "is_several": graphs.len() > 1 })
}

/// How an edge looks.
fn style(edge: &Edge) -> &'static str {
    match (edge.conditional, edge.certain) {
        (false, true) => "plain",
        (true, true) => "conditional",
        (_, false) => "possible",
    }
}

/// The lines of a node's label: its name, and its tools.
fn lines(node: &Node) -> Vec<String> {
    let name = match node.kind {
        Kind::Start => "start".to_owned(),
        Kind::End => "end".to_owned(),
        _ => visible(&node.id),
    };
    let tools: Vec<_> = node.tools.iter().map(|tool| visible(tool)).collect();
    [name].into_iter().chain(tools).collect()
}

/// A label of Mermaid: everything that it may read as markup becomes the number of the character.
fn entities(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " _-.,:/()".contains(c);
    let letter = |c: char| if plain(c) { c.to_string() } else { format!("#{};", u32::from(c)) };
    visible(text).chars().map(letter).collect()
}
