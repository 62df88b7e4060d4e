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
        /// What is there instead.
        names: Vec<String>,
    },
    /// It is bound at the module's top level, and importers do not see it. JavaScript and TypeScript only.
    NotExported,
    /// The text does not tell: it binds names dynamically, or could not be read as a whole.
    Unknown,
}

/// A source file, parsed once for all the names that are looked for in it.
pub struct Module {
    language: Language,
    text: String,
    tree: Option<Tree>,
}

impl Module {
    /// Parses `text`.
    pub fn new(language: Language, text: &str) -> Self {
        let text = plain(text).into_owned();
        let tree = parse(language, &text);
        Self { language, text, tree }
    }

    /// Its text, with `\n` for every line end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Looks for `name`. Of a dotted name only the first part can be looked for: the rest is an attribute of some
    /// value, so a found first part gives [`Definition::Unknown`].
    pub fn define(&self, name: &str) -> Definition {
        let Some(root) = self.tree.as_ref().map(Tree::root_node) else { return Definition::Unknown };
        let (first, dotted) = name.split_once('.').map_or((name, false), |(first, _)| (first, true));
        let bindings = match self.language {
            Language::Python => python::look(root, &self.text, first),
            _ => javascript::look(root, &self.text, first),
        };
        match bindings.verdict(first) {
            Definition::Defined if dotted => Definition::Unknown,
            verdict => verdict,
        }
    }
}

/// Looks for one name in a text.
#[cfg(test)]
fn define(language: Language, text: &str, name: &str) -> Definition {
    Module::new(language, text).define(name)
}

/// What a look at one module has found out.
#[derive(Default)]
struct Bindings<'t> {
    /// The names that importers get.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const ALL: [Language; 4] = [Language::Python, Language::JavaScript, Language::TypeScript, Language::Tsx];

    #[test]
    fn a_language_is_told_by_its_ending() {
        for (path, expected) in [
            ("src/agent.py", Some(Language::Python)),
            ("./a.js", Some(Language::JavaScript)),
            ("a.mjs", Some(Language::JavaScript)),
            ("a.cjs", Some(Language::JavaScript)),
            ("a.jsx", Some(Language::JavaScript)),
            ("a.d.ts", Some(Language::TypeScript)),
            ("a.mts", Some(Language::TypeScript)),
            ("a.cts", Some(Language::TypeScript)),
            ("a.b.tsx", Some(Language::Tsx)),
            ("a.pyc", None),
            ("py", None),
            (".py", None),
            ("a.py/b", None),
            ("", None),
        ] {
            assert_eq!(Language::of(path), expected, "{path}");
        }
    }

    #[test]
    fn deep_nesting_and_empty_names_are_survived() {
        let deep = 20_000;
        for open in ["(", "[", "{a:", "a=", "exports=", "f(x=>", "if x:\n ", "-", "a.b(", "case [", "`${"] {
            for language in ALL {
                define(language, &open.repeat(deep), "graph");
                define(language, &format!("{}graph", open.repeat(deep)), "");
            }
        }
        assert_eq!(define(Language::Python, "", ""), Definition::Missing { names: vec![] });
    }

    /// One way to bind `NAME`, by language.
    fn bindings(language: Language) -> &'static [&'static str] {
        match language {
            Language::Python => &[
                "NAME = 1",
                "NAME: int = (1 +\n  2)",
                "def NAME(x):\n    y = x",
                "@x\nclass NAME:\n    z = 1",
                "from m import (q as NAME)",
                "if x:\n    pass\nelse:\n    NAME = 'if TYPE_CHECKING:'",
            ],
            _ => &[
                "export const NAME = 1;",
                "export function NAME() { const y = 1 }",
                "const { a_NAME: [NAME] } = x; export { NAME };",
                "export { y as NAME } from './y';",
                "export class NAME {}",
                "exports.NAME = `${1}`;",
            ],
        }
    }

    fn module() -> impl Strategy<Value = (Language, Vec<(String, usize)>)> {
        let bound = ("v_[a-z]{1,6}", 0..6usize);
        (prop::sample::select(&ALL[..]), prop::collection::vec(bound, 0..12))
    }

    proptest! {
        #[test]
        fn no_text_and_no_name_panics(text in "\\PC{0,200}", name in "\\PC{0,20}") {
            for language in ALL {
                define(language, &text, &name);
            }
            setup_py::setup_call(&text);
        }

        #[test]
        fn no_mix_of_tokens_panics(
            tokens in prop::collection::vec(prop::sample::select(&[
                "export", "default", "type", "{", "}", "(", ")", "[", "]", "*", "as", "from", "'a'", "=", ":", ",",
                ";", "graph", "exports", "module", ".", "\n", "\n  ", "\r", "def", "class", "if", "TYPE_CHECKING",
                "import", "case", "match", "del", "global", "lambda", "with", "setup", "\u{0}", "é", "`", "\"\"\"",
                "\\", "const", "declare", "namespace", "enum", "async", "for", "in", ":=", "**", "@", "<", ">", "...",
            ][..]), 0..40),
        ) {
            let text = tokens.join(" ");
            for language in ALL {
                define(language, &text, "graph");
            }
            setup_py::setup_call(&text);
        }

        #[test]
        fn what_is_bound_is_found_and_nothing_else((language, bound) in module()) {
            let lines = bound.iter().map(|(name, way)| bindings(language)[*way].replace("NAME", name));
            let text = lines.collect::<Vec<_>>().join("\n");
            for (name, _) in &bound {
                prop_assert_eq!(define(language, &text, name), Definition::Defined);
            }
            let distinct: BTreeSet<_> = bound.into_iter().map(|(name, _)| name).collect();
            match define(language, &text, "absent") {
                Definition::Missing { names } => prop_assert_eq!(BTreeSet::from_iter(names), distinct),
                other => prop_assert!(false, "{:?}: {}", other, text),
            }
        }
    }
}
