//! The nodes and edges of a graph, read from the source that builds it. Nothing is run or imported.
//!
//! What the source computes stays unknown, and the graph says so: see [`Graph::is_complete`].

mod code;
mod finish;
mod interpret;
mod served;
mod value;

use std::ops::Range;
use std::rc::Rc;

use serde::Serialize;

pub use finish::problem::{Problem, ProblemKind};
pub use interpret::Modules;

/// The node at which a run starts.
pub const START: &str = "__start__";

/// The node at which a run ends.
pub const END: &str = "__end__";

/// A part of a file of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path of the file.
    pub file: Rc<str>,
    /// A byte range of its text, without a byte order mark.
    pub span: Range<u32>,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The start of each run.
    Start,
    /// The end of each run.
    End,
    /// A function.
    Node,
    /// It calls tools.
    Tool,
    /// Another graph.
    Subgraph,
}

/// A node of a graph.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: Kind,
    /// The names of the tools that it may call, as far as they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The file that adds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line there, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// An edge of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// The node that it leaves.
    pub source: String,
    /// The node that it leads to.
    pub target: String,
    /// Whether a run may take another edge instead.
    pub conditional: bool,
    /// Whether the graph certainly has it. Otherwise, code of a node or a route names the target.
    pub certain: bool,
}

/// A graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where it is built.
    pub place: Place,
    /// The line there, from 1.
    pub line: usize,
    /// Whether all nodes and edges are known.
    pub is_complete: bool,
    /// Its nodes: the start, those of the source in their order, and the end.
    pub nodes: Vec<Node>,
    /// Its edges, in the order of the source.
    pub edges: Vec<Edge>,
    /// The mistakes in it.
    pub problems: Vec<Problem>,
}

/// The graph that `name` is in the file at `path`, or that the function of this name returns; `None` if the source does not
/// show a graph.
pub fn read(modules: &dyn Modules, path: &str, name: &str) -> Option<Graph> {
    finish::read(modules, path, name)
}

/// `text` with escapes for everything that is not shown as itself.
pub fn visible(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests;
