//! What the top level of a Python module shows about its functions and its graphs.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef, StmtWith};
use ruff_text_size::Ranged;

use super::last_name;
use crate::manifests::symbols::{Annotation, Names, Objects, Parameter};

/// Decorators that keep the parameters of a function.
const TRANSPARENT: &[&str] = &["asynccontextmanager", "contextmanager"];

/// Types that are always there, and no runtime of the server.
const BUILTINS: &[&str] = &[
    "None",
    "bool",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "list",
    "object",
    "set",
    "str",
    "tuple",
    "type",
];

/// First parts of modules that give the runtime of the server no other name.
const LIBRARIES: &[&str] = &[
    "collections",
    "dataclasses",
    "langchain",
    "langchain_anthropic",
    "langchain_community",
    "langchain_core",
    "langchain_openai",
    "langgraph",
    "pathlib",
    "pydantic",
    "typing",
    "typing_extensions",
];

/// Name of the runtime that the server passes to factories.
const RUNTIME: &str = "ServerRuntime";

/// Reads the statements of a module whose names are `names`.
pub(super) fn read(suite: &[Stmt], names: &Names) -> Objects {
    let mut reader = Reader {
        names,
        plain: plain_types(suite),
        components: HashMap::new(),
        returned: HashMap::new(),
        found: Objects::default(),
    };
    reader.read(suite);
    reader.found
}

struct Reader<'a> {
    names: &'a Names,
    /// Names of types that are certainly no runtime of the server.
    plain: HashSet<&'a str>,
    /// Names of checkpointers and stores.
    components: HashMap<&'a str, &'static str>,
    /// The components of graphs that functions return. The server gives such a graph its own if the function is called by it.
    returned: HashMap<&'a str, (&'static str, Range<usize>)>,
    found: Objects,
}

impl<'a> Reader<'a> {
    fn read(&mut self, suite: &'a [Stmt]) {
        for statement in suite {
            match statement {
                Stmt::FunctionDef(function) => self.function(function),
                Stmt::Assign(it) => it.targets.iter().for_each(|target| self.assign(target, &it.value)),
                Stmt::AnnAssign(it) => it.value.iter().for_each(|value| self.assign(&it.target, value)),
                Stmt::With(it) => self.with(it),
                _ => {}
            }
        }
    }

    fn function(&mut self, function: &'a StmtFunctionDef) {
        let is_transparent = |it: &Expr| TRANSPARENT.contains(&last_name(it));
        let is_single = self.names.is_bound_once(&function.name);
        if !is_single || !function.decorator_list.iter().all(|it| is_transparent(&it.expression)) {
            return;
        }
        let parameters = function.parameters.iter().map(|parameter| Parameter {
            is_filled: parameter.is_variadic() || parameter.default().is_some(),
            annotation: self.annotation(parameter.annotation()),
        });
        let parameters = parameters.collect();
        if let Some(own) = self.returned(function) {
            self.returned.insert(&function.name, own);
        }
        self.found.functions.insert(function.name.to_string(), (parameters, function.name.range.into()));
    }

    /// The first component of its own of the graph that a function without branches returns.
    fn returned(&self, function: &'a StmtFunctionDef) -> Option<(&'static str, Range<usize>)> {
        let mut scope = Reader {
            names: self.names,
            plain: HashSet::new(),
            components: self.components.clone(),
            returned: self.returned.clone(),
            found: Objects::default(),
        };
        function.parameters.iter().for_each(|it| scope.rebind(it.name().as_str(), None));
        for statement in &function.body {
            match statement {
                Stmt::Return(it) => return scope.own_components(it.value.as_deref()?),
                Stmt::Assign(it) => {
                    let names = it.targets.iter().filter_map(Expr::as_name_expr);
                    names.for_each(|name| scope.rebind(&name.id, Some(&it.value)));
                }
                Stmt::Expr(_) | Stmt::FunctionDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => {}
                _ => return None,
            }
        }
        None
    }

    /// Gives the name of a variable another value, which may be unknown.
    fn rebind(&mut self, name: &'a str, value: Option<&'a Expr>) {
        self.components.remove(name);
        let own = value.and_then(|value| self.own_components(value));
        self.found.persistent.remove(name);
        if let Some(component) = value.and_then(|value| self.component(value)) {
            self.components.insert(name, component);
        } else if let Some(own) = own {
            self.found.persistent.insert(name.to_owned(), own);
        }
    }

    fn annotation(&self, annotation: Option<&Expr>) -> Annotation {
        match annotation {
            None => Annotation::Other,
            Some(it) if last_name(it) == RUNTIME => Annotation::Runtime,
            Some(Expr::Subscript(it)) if last_name(&it.value) == RUNTIME => Annotation::Runtime,
            Some(it) if self.is_plain(it) => Annotation::Other,
            Some(_) => Annotation::Unknown,
        }
    }

    fn is_plain(&self, annotation: &Expr) -> bool {
        match annotation {
            Expr::NoneLiteral(_) => true,
            Expr::Name(it) => {
                let name = it.id.as_str();
                self.plain.contains(name)
                    || BUILTINS.contains(&name) && !self.names.visible.contains_key(name)
            }
            Expr::Subscript(it) => {
                let is_wrapper = last_name(&it.value) == "Annotated";
                !is_wrapper && self.is_plain(&it.value) && self.is_plain(&it.slice)
            }
            Expr::Tuple(it) => it.iter().all(|part| self.is_plain(part)),
            Expr::BinOp(it) => self.is_plain(&it.left) && self.is_plain(&it.right),
            _ => false,
        }
    }

    fn assign(&mut self, target: &'a Expr, value: &'a Expr) {
        let Some(target) = target.as_name_expr().filter(|it| self.names.is_bound_once(&it.id)) else {
            return;
        };
        if let Some(component) = self.component(value) {
            self.components.insert(&target.id, component);
        } else if let Some(own) = self.own_components(value) {
            self.found.persistent.insert(target.id.to_string(), own);
        }
    }

    /// `with SqliteSaver.from_conn_string("…") as checkpointer:`
    fn with(&mut self, statement: &'a StmtWith) {
        for item in &statement.items {
            let target = item.optional_vars.as_deref().and_then(Expr::as_name_expr);
            let class = item.context_expr.as_call_expr().and_then(|call| class_of(&call.func));
            let component = class.and_then(component);
            if let (Some(target), Some(component)) = (target, component)
                && self.names.is_bound_once(&target.id)
            {
                self.components.insert(&target.id, component);
            }
        }
        self.read(&statement.body);
    }

    /// The kind of component that `value` certainly is.
    fn component(&self, value: &Expr) -> Option<&'static str> {
        match value {
            Expr::Call(call) => component(last_name(&call.func)).or_else(|| component(class_of(&call.func)?)),
            Expr::Name(name) => self.components.get(name.id.as_str()).copied(),
            _ => None,
        }
    }

    /// The first component of its own that the graph `value` is compiled with, with its byte range.
    fn own_components(&self, value: &Expr) -> Option<(&'static str, Range<usize>)> {
        if let Expr::Name(name) = value {
            return self.found.persistent.get(name.id.as_str()).cloned();
        }
        let called = value.as_call_expr().and_then(|call| call.func.as_name_expr());
        if let Some(own) = called.and_then(|name| self.returned.get(name.id.as_str())) {
            return Some(own.clone());
        }
        let call = compiled(value)?;
        let first = call.arguments.args.first().filter(|_| last_name(&call.func) == "compile");
        let named = call.arguments.keywords.iter().filter_map(|keyword| {
            let name = keyword.arg.as_ref()?.as_str();
            ["checkpointer", "store"].contains(&name).then_some(&keyword.value)
        });
        first.into_iter().chain(named).find_map(|it| Some((self.component(it)?, it.range().into())))
    }
}

/// The names that come from libraries, or are defined as the like of [`BUILTINS`].
fn plain_types(suite: &[Stmt]) -> HashSet<&str> {
    let imports = suite.iter().filter_map(Stmt::as_import_from_stmt).filter(|it| it.level == 0);
    let from_library = imports.filter(|it| {
        let first = it.module.as_ref().and_then(|module| module.split('.').next());
        first.is_some_and(|first| LIBRARIES.contains(&first))
    });
    let names = from_library.flat_map(|it| &it.names).filter(|alias| !alias.name.contains("Runtime"));
    names.map(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str()).collect()
}

/// The call that makes a graph.
fn compiled(value: &Expr) -> Option<&ExprCall> {
    let call = value.as_call_expr()?;
    match last_name(&call.func) {
        "with_config" => compiled(&call.func.as_attribute_expr()?.value),
        name => (name == "compile" || name.starts_with("create_")).then_some(call),
    }
}

/// `PostgresSaver` of `PostgresSaver.from_conn_string`.
fn class_of(function: &Expr) -> Option<&str> {
    function.as_attribute_expr().map(|method| last_name(&method.value))
}

/// The kind of component that a class of this name is.
fn component(class: &str) -> Option<&'static str> {
    let is_class = class.starts_with(char::is_uppercase);
    match class {
        _ if is_class && class.ends_with("Saver") => Some("checkpointer"),
        _ if is_class && class.ends_with("Store") => Some("store"),
        _ => None,
    }
}
