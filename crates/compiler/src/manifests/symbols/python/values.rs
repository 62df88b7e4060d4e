//! What the top-level names of a Python module hold.

use std::collections::HashMap;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Decorator, Expr, ExprCall, ExprContext, Parameters, Stmt, StmtFunctionDef, StmtImport, StmtImportFrom,
};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;

use super::last_name;
use crate::manifests::symbols::values::{Item, Value, Values};
use crate::manifests::symbols::{Broken, fragment};

/// Functions of libraries that return a graph.
const MAKERS: &[&str] =
    &["async_create_deep_agent", "create_agent", "create_deep_agent", "create_react_agent"];

/// Classes and functions of libraries that make a graph which is not compiled.
const BUILDERS: &[&str] = &["MessageGraph", "StateGraph", "create_supervisor", "create_swarm"];

/// Methods that return the graph that they are called on.
const CHAINED: &[&str] = &["bind", "with_config", "with_listeners", "with_retry", "with_types"];

/// Decorators that keep what a function returns or yields.
const CONTEXTS: &[&str] = &["asynccontextmanager", "contextmanager"];

/// Types of graphs in annotations.
const TYPES: &[&str] = &["CompiledGraph", "CompiledStateGraph", "Pregel"];

/// Parts of the names and types of parameters that the server fills.
const FILLED: &[&str] = &["config", "runtime"];

/// Reads `text`.
pub(in crate::manifests::symbols) fn read(text: &str) -> Result<Values, Broken> {
    let parsed = parse_module(text);
    let module =
        parsed.map_err(|error| Broken::new(error.location.into(), fragment(&error.error.to_string())))?;
    let mut reader = Reader::default();
    reader.body(module.suite());
    Uses { found: &mut reader.found, depth: 0 }.visit_body(module.suite());
    Ok(reader.found)
}

/// The values of names in a function or module.
type Scope = HashMap<String, Value>;

/// How a name gives what it holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Value,
    Call,
    Factory,
}

impl Kind {
    fn of(value: &Expr) -> Self {
        let is_call = value.as_call_expr().is_some_and(|call| call.func.is_name_expr());
        if is_call { Self::Call } else { Self::Value }
    }
}

#[derive(Default)]
struct Reader {
    scope: Scope,
    found: Values,
}

impl Reader {
    fn body(&mut self, suite: &[Stmt]) {
        for statement in suite {
            match statement {
                Stmt::FunctionDef(function) => self.function(function),
                Stmt::Assign(it) => it.targets.iter().for_each(|target| self.assign(target, &it.value)),
                Stmt::AnnAssign(it) => self.annotated(&it.target, &it.annotation, it.value.as_deref()),
                Stmt::Import(it) => self.import(it),
                Stmt::ImportFrom(it) => self.found.imports.extend(imported(it)),
                Stmt::Try(it) => {
                    [&it.body, &it.orelse, &it.finalbody].into_iter().for_each(|it| self.body(it))
                }
                Stmt::With(it) => self.body(&it.body),
                Stmt::If(it) if !is_main(&it.test) => {
                    self.body(&it.body);
                    it.elif_else_clauses.iter().for_each(|clause| self.body(&clause.body));
                }
                _ => {}
            }
        }
    }

    fn import(&mut self, import: &StmtImport) {
        for alias in &import.names {
            let bound = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
            self.found.imports.insert(bound, (alias.name.to_string(), String::new()));
        }
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        let name = function.name.to_string();
        if function.is_async {
            self.found.coroutines.insert(name.clone());
        }
        let decorated = function.decorator_list.iter().find(|it| !is_one_of(it, CONTEXTS));
        let value = match decorated {
            Some(it) if is_one_of(it, &["entrypoint"]) => {
                self.item(name, Value::Graph, Kind::Value, function.name.range().into());
                return;
            }
            Some(_) => return,
            None => self.returned(function),
        };
        // `async with make_graph()` is the server's way, too; with an argument of its own, it is the first that is filled.
        let is_context = !function.decorator_list.is_empty() && function.parameters.len() <= 1;
        if is_context || is_filled(&function.parameters) {
            self.item(name, value, Kind::Factory, function.name.range().into());
        } else {
            self.found.helpers.insert(name, value);
        }
    }

    /// What a function returns or yields.
    fn returned(&self, function: &StmtFunctionDef) -> Value {
        if function.returns.as_deref().is_some_and(mentions_type) {
            return Value::Graph;
        }
        let mut body = Body { reader: self, scope: Scope::new(), value: Value::Other };
        for parameter in &function.parameters {
            body.scope.insert(parameter.name().to_string(), Value::Other);
        }
        body.visit_body(&function.body);
        body.value
    }

    fn assign(&mut self, target: &Expr, value: &Expr) {
        let Some(target) = target.as_name_expr() else { return };
        let kind = Kind::of(value);
        let value = match value {
            // It stays another name of the same thing.
            Expr::Name(name) if name.id != target.id => Value::Same(name.id.to_string()),
            _ => self.value(value, &self.scope),
        };
        self.scope.insert(target.id.to_string(), value.clone());
        self.item(target.id.to_string(), value, kind, target.range.into());
    }

    fn annotated(&mut self, target: &Expr, annotation: &Expr, value: Option<&Expr>) {
        let (Some(target), Some(value)) = (target.as_name_expr(), value) else { return };
        let typed = if mentions_type(annotation) { Value::Graph } else { Value::Other };
        let kind = Kind::of(value);
        let value = if value.is_none_literal_expr() {
            Value::Other
        } else {
            self.value(value, &self.scope).or(typed)
        };
        self.scope.insert(target.id.to_string(), value.clone());
        self.item(target.id.to_string(), value, kind, target.range.into());
    }

    /// Adds a name, or its new value.
    fn item(&mut self, name: String, value: Value, kind: Kind, span: std::ops::Range<usize>) {
        self.found.items.retain(|item| item.name != name);
        let (is_factory, is_call) = (kind == Kind::Factory, kind == Kind::Call);
        self.found.items.push(Item { name, value, is_factory, is_call, span });
    }

    /// The value of an expression where names have the values in `scope`.
    fn value(&self, expression: &Expr, scope: &Scope) -> Value {
        match expression {
            Expr::Await(it) => self.value(&it.value, scope),
            Expr::If(it) => self.value(&it.body, scope).or(self.value(&it.orelse, scope)),
            Expr::BoolOp(it) => {
                it.values.iter().fold(Value::Other, |value, it| value.or(self.value(it, scope)))
            }
            Expr::Name(it) => {
                scope.get(it.id.as_str()).cloned().unwrap_or_else(|| Value::Same(it.id.to_string()))
            }
            Expr::Attribute(it) => Value::called(&it.attr),
            Expr::Call(call) => self.called(call, scope),
            _ => Value::Other,
        }
    }

    fn called(&self, call: &ExprCall, scope: &Scope) -> Value {
        let name = last_name(&call.func);
        let is_own = scope.contains_key(name)
            || self.found.helpers.contains_key(name)
            || self.found.items.iter().any(|item| item.name == name);
        match &*call.func {
            _ if BUILDERS.contains(&name) && !is_own => Value::Builder,
            _ if MAKERS.contains(&name) && !is_own => Value::Graph,
            Expr::Attribute(method) => {
                let receiver = self.value(&method.value, scope);
                match name {
                    "compile" if self.is_module(&method.value) => Value::Other,
                    "compile" => Value::Graph,
                    _ if CHAINED.contains(&name) || name.starts_with("add_") || name.starts_with("set_") => {
                        receiver
                    }
                    _ if name == "run" && last_name(&method.value) == "asyncio" => {
                        call.arguments.args.first().map_or(Value::Other, |it| self.value(it, scope))
                    }
                    _ => Value::called(name),
                }
            }
            Expr::Name(_) => Value::Same(name.to_owned()),
            _ => Value::Other,
        }
    }

    /// Whether `expression` is a module such as `re`.
    fn is_module(&self, expression: &Expr) -> bool {
        let name = expression.as_name_expr().and_then(|it| self.found.imports.get(it.id.as_str()));
        name.is_some_and(|(_, name)| name.is_empty())
    }
}

/// The names that an import binds, with the module and the name there.
fn imported(import: &StmtImportFrom) -> impl Iterator<Item = (String, (String, String))> {
    let dots = ".".repeat(import.level as usize);
    let module = format!("{dots}{}", import.module.as_deref().unwrap_or_default());
    import.names.iter().map(move |alias| {
        let bound = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
        (bound, (module.clone(), alias.name.to_string()))
    })
}

/// The body of a function.
struct Body<'r> {
    reader: &'r Reader,
    scope: Scope,
    value: Value,
}

impl Body<'_> {
    fn give(&mut self, expression: Option<&Expr>) {
        let value = expression.map_or(Value::Other, |it| self.reader.value(it, &self.scope));
        self.value = std::mem::replace(&mut self.value, Value::Other).or(value);
    }
}

impl<'a> Visitor<'a> for Body<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(it) => _ = self.scope.insert(it.name.to_string(), Value::Other),
            Stmt::ClassDef(_) => {}
            Stmt::Return(it) => self.give(it.value.as_deref()),
            Stmt::Assign(it) => {
                for target in it.targets.iter().filter_map(Expr::as_name_expr) {
                    let value = self.reader.value(&it.value, &self.scope);
                    self.scope.insert(target.id.to_string(), value);
                }
            }
            Stmt::AnnAssign(it) => {
                if let (Some(target), Some(value)) = (it.target.as_name_expr(), &it.value) {
                    let value = self.reader.value(value, &self.scope);
                    self.scope.insert(target.id.to_string(), value);
                }
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Yield(it) = expression {
            self.give(it.value.as_deref());
        }
    }
}

/// The names that are used, but for those whose methods the module calls at its top level, as in `graph.get_graph()`.
struct Uses<'f> {
    found: &'f mut Values,
    depth: usize,
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // `if __name__ == "__main__":` tries the graph.
            Stmt::If(it) if is_main(&it.test) => {}
            Stmt::Assign(it) if it.value.is_name_expr() => {}
            Stmt::ImportFrom(it) if self.depth > 0 => self.found.late_imports.extend(imported(it)),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {
                self.depth += 1;
                visitor::walk_stmt(self, statement);
                self.depth -= 1;
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Attribute(it) if self.depth == 0 && it.value.is_name_expr() => {}
            Expr::Name(name) if name.ctx == ExprContext::Load => {
                self.found.used.insert(name.id.to_string());
            }
            _ => visitor::walk_expr(self, expression),
        }
    }
}

fn is_main(test: &Expr) -> bool {
    let left = test.as_compare_expr().and_then(|it| it.left.as_name_expr());
    left.is_some_and(|name| name.id == "__name__")
}

fn is_one_of(decorator: &Decorator, names: &[&str]) -> bool {
    let expression = decorator.expression.as_call_expr().map_or(&decorator.expression, |call| &call.func);
    names.contains(&last_name(expression))
}

/// Whether an annotation has the type of a graph.
fn mentions_type(annotation: &Expr) -> bool {
    match annotation {
        Expr::StringLiteral(it) => TYPES.iter().any(|name| it.value.to_str().contains(name)),
        Expr::Subscript(it) => mentions_type(&it.value) || mentions_type(&it.slice),
        Expr::BinOp(it) => mentions_type(&it.left) || mentions_type(&it.right),
        Expr::Tuple(it) => it.iter().any(mentions_type),
        _ => TYPES.contains(&last_name(annotation)),
    }
}

/// Whether the server fills the parameters of a function.
fn is_filled(parameters: &Parameters) -> bool {
    let is_filled = |text: &str| FILLED.iter().any(|part| text.to_ascii_lowercase().contains(part));
    let mut all = parameters.iter();
    parameters.len() <= 2
        && all.all(|it| is_filled(it.name()) || it.annotation().is_some_and(|it| is_filled(last_name(it))))
}
