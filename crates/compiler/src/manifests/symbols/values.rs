//! What the top-level names of a source file hold, as far as graphs are concerned. Nothing is run or imported.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Broken, Language, javascript, python, with_stack_for};

/// Parts of the names of what gives a graph, such as `build_graph` and `self.workflow`.
const LIKE_A_GRAPH: &[&str] = &["agent", "graph", "swarm", "supervisor", "workflow"];

/// What a name holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A graph.
    Graph,
    /// Something that is called like a graph, and whose definition is not read.
    Likely,
    /// A graph that is not compiled, which the server compiles.
    Builder,
    /// What this name holds, or what calling it returns.
    Same(String),
    /// Anything else.
    Other,
}

impl Value {
    /// The better of two values that a name can have.
    #[must_use]
    pub(super) fn or(self, other: Self) -> Self {
        let rank = |value: &Self| match value {
            Self::Graph => 0,
            Self::Builder => 1,
            Self::Same(_) => 2,
            Self::Likely => 3,
            Self::Other => 4,
        };
        if rank(&other) < rank(&self) { other } else { self }
    }

    /// The value of something without a definition in the file that is called `name`.
    pub fn called(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if LIKE_A_GRAPH.iter().any(|part| name.contains(part)) { Self::Likely } else { Self::Other }
    }
}

/// A name that importers get.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name.
    pub name: String,
    /// What it holds; of a factory, what it returns.
    pub value: Value,
    /// Whether it is a function that the server can call for a graph.
    pub is_factory: bool,
    /// Whether it holds what a call without `await` gives: of an asynchronous function, that is a coroutine.
    pub is_call: bool,
    /// The byte range of its definition.
    pub span: Range<usize>,
}

/// The names of a file.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// Those that are defined there, in source order.
    pub items: Vec<Item>,
    /// What functions return that are not for the server, since they have parameters.
    pub helpers: HashMap<String, Value>,
    /// Names from other modules: the module as written, with a dot a level, and the name there; empty for the module itself.
    pub imports: HashMap<String, (String, String)>,
    /// The same of imports in functions, which are made when the function is called.
    pub late_imports: HashMap<String, (String, String)>,
    /// The functions that have to be awaited.
    pub coroutines: HashSet<String>,
    /// The names that other code of the file uses.
    pub used: HashSet<String>,
}

/// Reads the text of a file, without a byte order mark, or says where it is broken.
pub fn read(language: Language, text: &str) -> Result<Values, Broken> {
    let read = || match language {
        Language::Python => python::values::read(text),
        _ => javascript::values::read(language, text),
    };
    with_stack_for(text, read).unwrap_or_else(|| Ok(Values::default()))
}
