//! Does a name exist in this source text? A static look at the syntax tree: nothing is run or imported.
//!
//! The answer is meant to be trusted: [`Definition::Missing`] is said only where no construct in the text
//! could bring the name in at run time, and everything doubtful is [`Definition::Unknown`].

mod javascript;
mod python;
pub mod setup_py;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;

use indexmap::IndexSet;
use tree_sitter::{Node, Parser, Tree};

/// A language whose modules can be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX, which is a grammar of its own.
    Tsx,
}

impl Language {
    /// The language that the ending of `path` names.
    pub fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            _ => None,
        }
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
        }
        .into()
    }
}

/// Whether importers of a module find a name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// It is bound at the module's top level (Python) or exported as a value (JavaScript, TypeScript).
    Defined,
    /// It is surely not there.
    Missing {
        /// What is there instead, in source order.
        names: Vec<String>,
    },
    /// It is bound at the module's top level, and importers do not see it. JavaScript and TypeScript only.
    NotExported,
    /// The text does not tell: it binds names dynamically, or could not be read as a whole.
    Unknown,
}

/// Looks for `name` in the module `text`. Of a dotted name only the first part can be looked for: the rest
/// is an attribute of some value, so a found first part gives [`Definition::Unknown`].
pub fn define(language: Language, text: &str, name: &str) -> Definition {
    let text = plain(text);
    let Some(tree) = parse(language, &text) else { return Definition::Unknown };
    let (first, dotted) = name.split_once('.').map_or((name, false), |(first, _)| (first, true));
    let bindings = match language {
        Language::Python => python::look(tree.root_node(), &text, first),
        _ => javascript::look(tree.root_node(), &text, first),
    };
    match bindings.verdict(first) {
        Definition::Defined if dotted => Definition::Unknown,
        verdict => verdict,
    }
}

/// What a look at one module has found out.
#[derive(Default)]
struct Bindings<'t> {
    /// The names that importers get, in source order.
    visible: IndexSet<&'t str>,
    /// The names that are bound and that importers do not get.
    hidden: HashSet<&'t str>,
    /// The names that may be there or not, depending on what runs.
    unsure: HashSet<&'t str>,
    /// Whether something may bring in names that the text does not show.
    open: bool,
}

impl Bindings<'_> {
    fn verdict(mut self, name: &str) -> Definition {
        // The parser mends a broken text with empty identifiers.
        self.visible.shift_remove("");
        if self.visible.contains(name) {
            Definition::Defined
        } else if self.open || self.unsure.contains(name) {
            Definition::Unknown
        } else if self.hidden.contains(name) {
            Definition::NotExported
        } else {
            Definition::Missing { names: self.visible.into_iter().map(str::to_owned).collect() }
        }
    }
}

/// `text` as the grammars expect it: without a byte order mark, and with `\n` for every line end. They take a
/// lone `\r` for a blank, which would let a comment swallow the lines after it.
fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

thread_local! {
    // A parser keeps its buffers, and a configuration may name thousands of small files.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

fn parse(language: Language, text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar()).ok()?;
        parser.parse(text, None)
    })
}

/// Visits `root` and the nodes below in source order; `enter` says whether to go into a node. A loop, because
/// the nesting of a text is its author's to choose and must not exhaust our stack.
fn walk<'t>(root: Node<'t>, mut enter: impl FnMut(Node<'t>) -> bool) {
    let mut cursor = root.walk();
    loop {
        if enter(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// The named children of `node` without its comments.
fn parts<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    node.named_children(&mut node.walk()).filter(|child| !child.is_extra()).collect()
}

/// The source text of `node`, which is a node of the tree of `text`.
fn source<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}
