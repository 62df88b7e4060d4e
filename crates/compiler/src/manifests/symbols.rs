//! The names that a source file defines, found in its syntax tree. Nothing is run or imported.
//!
//! [`Definition::Missing`] is certain: no construct in the text could define the name at run time. Everything doubtful is
//! [`Definition::Unknown`].

mod invisible;
mod javascript;
mod python;
pub mod values;

pub(crate) use javascript::is_too_deep;

use std::collections::{BTreeSet, HashMap};
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
    /// Only a `__getattr__` of the module can give it. Python only.
    Lazy,
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

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Whether a call may leave it out.
    pub is_filled: bool,
    /// Its annotation. Python only.
    pub annotation: Annotation,
}

/// The annotation of a parameter, as far as it matters to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// The runtime of the server, `ServerRuntime`.
    Runtime,
    /// Certainly something else, or nothing.
    Other,
    /// It may be the runtime under another name.
    Unknown,
}

/// An import of a module.
#[derive(Clone, Debug)]
pub struct Import {
    /// Number of dots before the module; 0 if it is absolute. Python only.
    pub level: usize,
    /// The dotted name of the module, without the dots before it. In JavaScript, the text between the quotes.
    pub module: String,
    /// The names that are taken from it.
    pub names: Vec<String>,
    /// Byte range of the module; of the whole statement if it is relative, in Python.
    pub span: Range<usize>,
}

impl Import {
    /// The package or module that has the imported one.
    pub fn first(&self) -> &str {
        self.module.split('.').next().unwrap_or_default()
    }

    /// The dotted names that it loads, if they are modules: `a`, `a.b` and `a.b.c` for `from a.b import c`.
    pub fn loaded(&self) -> Vec<String> {
        let dots = self.module.match_indices('.').map(|(at, _)| &self.module[..at]);
        let module = Some(self.module.as_str()).filter(|module| !module.is_empty());
        let start = module.map(|module| format!("{module}.")).unwrap_or_default();
        let names = self.names.iter().map(|name| format!("{start}{name}"));
        dots.chain(module).map(str::to_owned).chain(names).collect()
    }
}

/// A source file, parsed once for all names that are looked up in it.
pub struct Module {
    text: String,
    names: Names,
    imports: Vec<Import>,
    objects: Objects,
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
        let Parsed { names, imports, objects, syntax_error, newer_syntax } = parsed.unwrap_or_default();
        let syntax_error = syntax_error.map(|error| invisible::explain(&text, error));
        Self { text, names, imports, objects, syntax_error, newer_syntax }
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

    /// The imports that always run.
    pub fn imports(&self) -> &[Import] {
        &self.imports
    }

    /// The parameters of the function that `name` certainly is, and the byte range of its name.
    pub fn parameters(&self, name: &str) -> Option<&(Vec<Parameter>, Range<usize>)> {
        self.objects.functions.get(name)
    }

    /// The component, such as `checkpointer`, that the graph `name` certainly is compiled with, and its byte range. Python only.
    pub fn own_component(&self, name: &str) -> Option<&(&'static str, Range<usize>)> {
        self.objects.persistent.get(name)
    }

    /// The functions that assign to `name`, which nothing in the module mentions. Python only.
    pub fn assigned_in(&self, name: &str) -> &[String] {
        self.names.late.get(name).map_or(&[], Vec::as_slice)
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

    /// The names that importers certainly find, in source order, with the kind of each.
    pub fn names(&self) -> impl Iterator<Item = (&str, Option<Kind>)> {
        self.names.visible.iter().map(|(name, binding)| (name.as_str(), binding.kind))
    }

    /// The names that importers certainly find, in source order, without those that it imports itself.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        let names = self.names.visible.keys().map(String::as_str);
        names.filter(|name| !self.names.imported.contains(*name))
    }

    /// The byte range of the first definition of `name`.
    pub fn definition(&self, name: &str) -> Option<Range<usize>> {
        self.names.visible.get(name).map(|binding| binding.span.clone())
    }

    /// The kind of value that `name` certainly has when no other module calls [`Module::assigned_in`], and the byte range of its
    /// definition.
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
    imports: Vec<Import>,
    objects: Objects,
    syntax_error: Option<Broken>,
    newer_syntax: Option<Broken>,
}

impl Default for Parsed {
    /// Nothing is known.
    fn default() -> Self {
        let names = Names { open: true, ..Names::default() };
        let objects = Objects::default();
        Self { names, imports: Vec::new(), objects, syntax_error: None, newer_syntax: None }
    }
}

/// The values of names that are bound once.
#[derive(Default)]
struct Objects {
    /// Functions, with their parameters and the byte ranges of their names.
    functions: HashMap<String, (Vec<Parameter>, Range<usize>)>,
    /// Graphs with a component of their own, such as `checkpointer`, and the byte range of it.
    persistent: HashMap<String, (&'static str, Range<usize>)>,
}

/// The names of one module.
#[derive(Default)]
struct Names {
    /// The names that importers get, in source order.
    visible: IndexMap<String, Binding>,
    /// The names that are bound but not exported.
    hidden: BTreeSet<String>,
    /// The names that may be defined or not, depending on what runs.
    unsure: BTreeSet<String>,
    /// Whether the module may define names that the text does not show.
    open: bool,
    /// The same for every name but `default`.
    open_but_default: bool,
    /// Whether a function of the module gives names that it does not bind.
    is_lazy: bool,
    /// The names that functions assign to which no part of the module mentions, with those functions. Python only.
    late: HashMap<String, Vec<String>>,
    /// The visible names that come from other modules. Python only.
    imported: BTreeSet<String>,
    /// All imports of the module, also those in functions. Python only.
    imports: Vec<Import>,
}

struct Binding {
    /// Absent if it is not certain.
    kind: Option<Kind>,
    is_single: bool,
    span: Range<usize>,
}

impl Names {
    /// Adds a visible name. A name that is bound twice can have either value.
    fn bind(&mut self, name: &str, kind: Option<Kind>, span: Range<usize>) {
        match self.visible.entry(name.to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(Binding { kind, is_single: true, span });
            }
            Entry::Occupied(mut entry) => {
                let binding = entry.get_mut();
                binding.kind = None;
                binding.is_single = false;
            }
        }
    }

    /// Whether `name` certainly has the value of its only binding.
    fn is_bound_once(&self, name: &str) -> bool {
        let is_single = self.visible.get(name).is_some_and(|binding| binding.is_single);
        is_single && !self.open && !self.may_change(name)
    }

    /// Whether code that may run or not binds `name`, or unbinds it.
    fn may_change(&self, name: &str) -> bool {
        self.unsure.contains(name) || self.late.contains_key(name)
    }

    fn define(&self, name: &str) -> Definition {
        if self.visible.contains_key(name) {
            Definition::Defined
        } else if self.open || self.open_but_default && name != "default" || self.may_change(name) {
            Definition::Unknown
        } else if self.hidden.contains(name) {
            Definition::NotExported
        } else if self.is_lazy {
            Definition::Lazy
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
mod tests;
