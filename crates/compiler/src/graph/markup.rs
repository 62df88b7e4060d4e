//! Graphs as text for other programs: JSON, Mermaid and the language of Graphviz.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::{Edge, Graph, Kind, Node};

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
    let mut text = "flowchart TD\n".to_owned();
    let mut first = 0;
    for (index, (name, graph)) in graphs.iter().enumerate() {
        if graphs.len() > 1 {
            let _ = writeln!(text, "  subgraph g{index}[\"{}\"]", entities(name));
        }
        let ids: HashMap<_, _> = graph.nodes.iter().zip(first..).map(|(node, at)| (&*node.id, at)).collect();
        first += graph.nodes.len();
        for node in &graph.nodes {
            let (open, close) = match node.kind {
                Kind::Start | Kind::End => ("([", "])"),
                Kind::Node => ("(", ")"),
                Kind::Tool => ("{{", "}}"),
                Kind::Subgraph => ("[[", "]]"),
            };
            let label = lines(node).iter().map(|line| entities(line)).collect::<Vec<_>>().join("<br/>");
            let _ = writeln!(text, "  n{}{open}\"{label}\"{close}", ids[&*node.id]);
        }
        for edge in &graph.edges {
            let arrow = match (edge.conditional, edge.certain) {
                (false, true) => "-->",
                (true, true) => "-.->",
                (_, false) => "-. ? .->",
            };
            let _ = writeln!(text, "  n{} {arrow} n{}", ids[&*edge.source], ids[&*edge.target]);
        }
        if graphs.len() > 1 {
            text.push_str("  end\n");
        }
    }
    text
}

/// The graph in the language of Graphviz.
pub fn dot(name: &str, graph: &Graph) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = format!("digraph {} {{\n  node [shape=box, style=rounded]\n", quoted(&visible(name)));
    for node in &graph.nodes {
        let style = match node.kind {
            Kind::Start | Kind::End => ", shape=oval, style=solid",
            Kind::Node => "",
            Kind::Tool => ", shape=hexagon, style=solid",
            Kind::Subgraph => ", peripheries=2",
        };
        let label = lines(node).iter().map(|line| quoted(line)).collect::<Vec<_>>().join(" + \"\\n\" + ");
        let _ = writeln!(text, "  {} [label={label}{style}]", quoted(&visible(&node.id)));
    }
    for Edge { source, target, conditional, certain } in &graph.edges {
        let style = match (conditional, certain) {
            (false, true) => "",
            (true, true) => " [style=dashed]",
            (_, false) => " [style=dotted]",
        };
        let _ = writeln!(text, "  {} -> {}{style}", quoted(&visible(source)), quoted(&visible(target)));
    }
    text + "}\n"
}

/// The lines of a node's label: its name, and its tools.
pub(super) fn lines(node: &Node) -> Vec<String> {
    let name = match node.kind {
        Kind::Start => "start".to_owned(),
        Kind::End => "end".to_owned(),
        _ => visible(&node.id),
    };
    let tools: Vec<_> = node.tools.iter().map(|tool| visible(tool)).collect();
    [name].into_iter().chain(tools).collect()
}

/// `text` with escapes for everything that is not shown as itself.
pub fn visible(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(escape).collect()
}

/// A label of Mermaid: everything that it may read as markup becomes the number of the character.
fn entities(text: &str) -> String {
    let mut label = String::new();
    for c in visible(text).chars() {
        if c.is_alphanumeric() || " _-.,:/()".contains(c) {
            label.push(c);
        } else {
            let _ = write!(label, "#{};", u32::from(c));
        }
    }
    label
}
