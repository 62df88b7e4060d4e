//! The names that a source file defines, found in its syntax tree. Nothing is run or imported.
//!
//! [`Definition::Missing`] is certain: no construct in the text could define the name at run time. Everything doubtful is
//! [`Definition::Unknown`].

mod javascript;
mod python;

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use indexmap::IndexMap;
use indexmap::map::Entry;

use super::Broken;
use super::stack::with_stack_for;

/// A language whose files can be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX, in which some TypeScript means something else.
    Tsx,
}

impl Language {
    /// The language of the file at `path`, by its extension.
    pub fn of(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "py" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            _ => None,
        }
    }
}

/// Whether importers of a module find a name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// It is bound at the top level of the module (Python) or exported as a value (JavaScript, TypeScript).
    Defined,
    /// It is certainly not defined.
    Missing {
        /// The names that are.
        names: Vec<String>,
    },
    /// It is bound at the top level of the module but not exported. JavaScript and TypeScript only.
    NotExported,
    /// It cannot be known: the module binds names dynamically, or could not be parsed.
    Unknown,
}

/// A value that is certain from its definition alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A literal, with the name of its type and an article, such as `a number`.
    Literal(&'static str),
    /// A function. Python only.
    Function,
    /// A class. Python only.
    Class,
}

/// A version of Python: major and minor.
pub type PythonVersion = (u8, u8);

/// A source file, parsed once for all names that are looked up in it.
pub struct Module {
    text: String,
    names: Names,
    syntax_error: Option<Broken>,
    newer_syntax: Option<Broken>,
}

impl Module {
    /// Parses `text`. If it is Python, its syntax is compared with that of `version`.
    pub fn new(language: Language, mut text: String, version: Option<PythonVersion>) -> Self {
        if text.starts_with('\u{feff}') {
            text.remove(0);
        }
        let parsed = with_stack_for(&text, || match language {
            Language::Python => python::parse(&text, version),
            _ => javascript::parse(language, &text),
        });
        let Parsed { names, syntax_error, newer_syntax } = parsed.unwrap_or_default();
        Self { text, names, syntax_error, newer_syntax }
    }

    /// Its text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first error that keeps the language from reading the file.
    pub fn syntax_error(&self) -> Option<&Broken> {
        self.syntax_error.as_ref()
    }

    /// The first syntax that the version of Python does not support.
    pub fn newer_syntax(&self) -> Option<&Broken> {
        self.newer_syntax.as_ref()
    }

    /// Looks up `name`. The rest of a dotted name is an attribute of some value, so it is [`Definition::Unknown`] if its
    /// first part is defined.
    pub fn define(&self, name: &str) -> Definition {
        match name.split_once('.') {
            None => self.names.define(name),
            Some((first, _)) => match self.names.define(first) {
                Definition::Defined => Definition::Unknown,
                verdict => verdict,
            },
        }
    }

    /// The kind of value that `name` certainly has, and the byte range of its definition.
    pub fn kind(&self, name: &str) -> Option<(Kind, Range<usize>)> {
        let names = &self.names;
        let binding = names.visible.get(name).filter(|_| !names.open && !names.unsure.contains(name))?;
        Some((binding.kind?, binding.span.clone()))
    }
}

/// Looks up one name in a text.
#[cfg(test)]
fn define(language: Language, text: &str, name: &str) -> Definition {
    Module::new(language, text.to_owned(), None).define(name)
}

/// The result of parsing one file.
struct Parsed {
    names: Names,
    syntax_error: Option<Broken>,
    newer_syntax: Option<Broken>,
}

impl Default for Parsed {
    /// Nothing is known.
    fn default() -> Self {
        Self { names: Names { open: true, ..Names::default() }, syntax_error: None, newer_syntax: None }
    }
}

/// The names of one module.
#[derive(Default)]
struct Names {
    /// The names that importers get, in source order.
    visible: IndexMap<String, Binding>,
    /// The names that are bound but not exported.
    hidden: HashSet<String>,
    /// The names that may be defined or not, depending on what runs.
    unsure: HashSet<String>,
    /// Whether the module may define names that the text does not show.
    open: bool,
    /// The same for every name but `default`.
    open_but_default: bool,
}

struct Binding {
    /// Absent if it is not certain.
    kind: Option<Kind>,
    span: Range<usize>,
}

impl Names {
    /// Adds a visible name. A name that is bound twice can have either value.
    fn bind(&mut self, name: &str, kind: Option<Kind>, span: Range<usize>) {
        match self.visible.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(Binding { kind, span });
            }
            Entry::Occupied(mut entry) => entry.get_mut().kind = None,
        }
    }

    fn define(&self, name: &str) -> Definition {
        if self.visible.contains_key(name) {
            Definition::Defined
        } else if self.open || self.open_but_default && name != "default" || self.unsure.contains(name) {
            Definition::Unknown
        } else if self.hidden.contains(name) {
            Definition::NotExported
        } else {
            Definition::Missing { names: self.visible.keys().cloned().collect() }
        }
    }
}

/// The message of a parser as a lowercase fragment.
fn fragment(message: &str) -> String {
    let mut letters = message.trim_end_matches('.').chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::compiler::manifests::setup_py::setup_call;

    const ALL: [Language; 4] = [Language::Python, Language::JavaScript, Language::TypeScript, Language::Tsx];

    #[test]
    fn languages_have_extensions() {
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
    fn deep_nesting_is_safe() {
        for open in [
            "(",
            "[",
            "{",
            "{a:",
            "a=",
            "exports=",
            "f(x=>",
            "f(function(){",
            "if x:\n ",
            "-",
            "not ",
            "a.b(",
            "a.",
            "case [",
            "`${",
            "f'{",
            "a?b:",
            "a?",
            "a?(b)=>c:",
            "a?(b):",
            "x=>",
            "async (",
            "(x=",
            "if(a)",
            "if(a){}else ",
            "do ",
            "a:",
            "class A extends ",
            "class A{a(){",
            "new ",
            "typeof ",
            "await ",
            "let x:A<",
            "let x:(",
            "let x:keyof ",
            "let{a:",
            "<a>",
            "<a b={",
            "<T,>(",
            "a<",
            "a**",
            "a+",
            "a||",
            "a and ",
            "lambda:",
            "x if y else ",
            "@a ",
            "namespace a{",
            "type A<T extends ",
            "let x:a extends b?c:",
            "(a:(",
            "switch(a){case ",
            "try{",
            "for(;;)",
            "enum a{b=",
        ] {
            for language in ALL {
                let started = std::time::Instant::now();
                define(language, &open.repeat(4_000), "graph");
                define(language, &format!("{}graph", open.repeat(4_000)), "");
                assert!(started.elapsed().as_secs() < 5, "{language:?}: {open}");
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
                "export let NAME = `${1}`;",
            ],
        }
    }

    fn module() -> impl Strategy<Value = (Language, BTreeMap<String, usize>)> {
        let bound = prop::collection::btree_map("v_[a-z]{1,6}", 0..6usize, 0..12);
        (prop::sample::select(&ALL[..]), bound)
    }

    proptest! {
        #[test]
        fn no_text_and_no_name_panics(text in "\\PC{0,200}", name in "\\PC{0,20}") {
            for language in ALL {
                define(language, &text, &name);
            }
            setup_call(&text);
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
            setup_call(&text);
        }

        #[test]
        fn exactly_the_bound_names_are_defined((language, bound) in module()) {
            let lines = bound.iter().map(|(name, way)| bindings(language)[*way].replace("NAME", name));
            let text = lines.collect::<Vec<_>>().join("\n");
            for name in bound.keys() {
                prop_assert_eq!(define(language, &text, name), Definition::Defined);
            }
            let distinct: BTreeSet<_> = bound.into_keys().collect();
            match define(language, &text, "absent") {
                Definition::Missing { names } => prop_assert_eq!(BTreeSet::from_iter(names), distinct),
                other => prop_assert!(false, "{:?}: {}", other, text),
            }
        }
    }
}
