//! The graph of a running server, and where the source differs from it.

use std::collections::HashSet;

use serde_json::Value;

use super::finish::problem::Problem;
use super::{END, Edge, Graph, Kind, Node, Place, START, visible};

impl Graph {
    /// The graph that a server draws: `nodes` with `id` and `edges` with `source` and `target`. `None` if it is none.
    pub fn served(drawing: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let node = |node: &Value| {
            let id = text(&node["id"]);
            let class = node["data"]["id"].as_array().and_then(|path| path.last()?.as_str());
            let kind = match (&*id, class) {
                (START, _) => Kind::Start,
                (END, _) => Kind::End,
                (_, Some("ToolNode")) => Kind::Tool,
                (_, Some("CompiledStateGraph" | "Pregel")) => Kind::Subgraph,
                _ => Kind::Node,
            };
            Node { id, kind, tools: Vec::new(), file: None, line: None }
        };
        let edge = |edge: &Value| Edge {
            source: text(&edge["source"]),
            target: text(&edge["target"]),
            conditional: edge["conditional"].as_bool().unwrap_or_default(),
            certain: true,
        };
        Some(Self {
            place: Place::default(),
            line: 1,
            is_complete: true,
            nodes: drawing["nodes"].as_array()?.iter().map(node).collect(),
            edges: drawing["edges"].as_array()?.iter().map(edge).collect(),
            problems: Vec::<Problem>::new(),
        })
    }

    /// Where the source, which is `self`, differs from the graph of a server: a lowercase fragment for each difference.
    pub fn differences(&self, served: &Self) -> Vec<String> {
        let nodes = |graph: &Self| graph.nodes.iter().map(|node| node.id.clone()).collect::<HashSet<_>>();
        let (own, other) = (nodes(self), nodes(served));
        let is_shared = |edge: &&Edge| {
            [&edge.source, &edge.target].iter().all(|id| own.contains(*id) && other.contains(*id))
        };
        let has = |graph: &Self, edge: &Edge| {
            graph.edges.iter().any(|it| it.source == edge.source && it.target == edge.target)
        };
        let shown =
            |edge: &Edge| format!("the edge from `{}` to `{}`", visible(&edge.source), visible(&edge.target));
        let mut found = Vec::new();
        for node in self.nodes.iter().filter(|node| !other.contains(&node.id)) {
            found.push(format!("the node `{}` is only in the source", visible(&node.id)));
        }
        for node in served.nodes.iter().filter(|node| self.is_complete && !own.contains(&node.id)) {
            found.push(format!("the node `{}` is only on the server", visible(&node.id)));
        }
        for edge in
            self.edges.iter().filter(|edge| edge.certain).filter(is_shared).filter(|edge| !has(served, edge))
        {
            found.push(format!("{} is only in the source", shown(edge)));
        }
        for edge in served.edges.iter().filter(is_shared).filter(|edge| self.is_complete && !has(self, edge))
        {
            found.push(format!("{} is only on the server", shown(edge)));
        }
        found
    }
}
