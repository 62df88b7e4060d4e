//! The names that a Python module binds at its top level.

mod objects;
pub(super) mod values;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, Arguments, Comprehension, Expr, ExprCall, ExprContext, Pattern, PythonVersion, Stmt, StmtIf,
};
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::{Ranged, TextRange};
use std::collections::BTreeSet;

use super::{Broken, Import, Kind, Names, Parsed, fragment};

/// Names that lead to the names of a module wherever they are mentioned.
const WAYS: &[&str] =
    &["f_globals", "__globals__", "modules", "getmodule", "builtins", "__builtins__", "__import__"];

/// Functions that do so. A method of the same name is something else.
const FUNCTIONS: &[&str] = &["exec", "eval", "globals"];

/// Without an argument, or under another name, these return the names of the module at its top level.
const BARE: &[&str] = &["vars", "locals"];

/// Functions that are often called with `__name__` and leave the module alone, besides those for logging.
const HARMLESS: &[&str] =
    &["print", "Flask", "Blueprint", "Celery", "files", "version", "get_tracer", "get_meter"];

/// Parses `text` and collects its names.
pub(super) fn parse(text: &str, version: Option<super::PythonVersion>) -> Parsed {
    let version = version.map_or_else(PythonVersion::latest_preview, PythonVersion::from);
    let options = ParseOptions::from(Mode::Module).with_target_version(version);
    let parsed = ruff_python_parser::parse_unchecked(text, options);
    let broken = |message: String, range: TextRange| Broken::new(range.into(), fragment(&message));
    if let Some(error) = parsed.errors().first() {
        let syntax_error = Some(broken(error.error.to_string(), error.location));
        return Parsed { syntax_error, ..Parsed::default() };
    }
    let newer = parsed.unsupported_syntax_errors().first();
    let newer_syntax = newer.map(|error| broken(error.to_string(), error.range));
    let Some(module) = parsed.try_into_module() else { return Parsed::default() };
    let names = Scope::default().read(module.suite());
    let objects = objects::read(module.suite(), &names);
    let imports = module.suite().iter().flat_map(imported).collect();
    Parsed { names, imports, objects, syntax_error: None, newer_syntax }
}

/// The imports of a statement.
fn imported(statement: &Stmt) -> Vec<Import> {
    let whole = |alias: &Alias| Import {
        level: 0,
        module: alias.name.to_string(),
        names: Vec::new(),
        span: alias.name.range().into(),
    };
    match statement {
        Stmt::Import(it) => it.names.iter().map(whole).collect(),
        Stmt::ImportFrom(it) => {
            let module = it.module.as_ref().filter(|_| it.level == 0);
            vec![Import {
                level: it.level as usize,
                module: it.module.as_ref().map(ToString::to_string).unwrap_or_default(),
                names: it.names.iter().map(|alias| alias.name.to_string()).collect(),
                span: module.map_or(it.range, Ranged::range).into(),
            }]
        }
        _ => Vec::new(),
    }
}

/// The top level of a module. It visits functions and classes as well, since any code may change the module.
#[derive(Default)]
struct Scope {
    names: Names,
    deleted: BTreeSet<String>,
    /// The functions at the top level of which a call gives a coroutine.
    coroutines: BTreeSet<String>,
    /// The names at the top level that hold the result of a call, with the name of the function.
    results: Vec<(String, String)>,
    /// The undecorated function at the top level around the current node.
    function: Option<String>,
    /// The names that are declared global, each with that function.
    globals: Vec<(String, Option<String>)>,
    /// All names that are read.
    mentioned: BTreeSet<String>,
    /// Number of functions, classes and the like around the current node, whose names are not those of the module.
    depth: usize,
    /// Number of nodes around the current one in which `__name__` is harmless.
    quiet: usize,
}

impl Scope {
    fn read(mut self, suite: &[Stmt]) -> Names {
        self.visit_body(suite);
        let Self { mut names, deleted, coroutines, results, globals, mentioned, .. } = self;
        for (name, function) in globals {
            match function.filter(|function| !mentioned.contains(function)) {
                Some(function) => names.late.entry(name).or_default().push(function),
                None => names.unsure.extend([name]),
            }
        }
        for name in deleted {
            names.visible.shift_remove(&name);
            names.unsure.insert(name);
        }
        for (name, function) in results {
            let is_coroutine = coroutines.contains(&function) && names.is_bound_once(&function);
            if let Some(binding) = names.visible.get_mut(&name).filter(|it| is_coroutine && it.is_single) {
                binding.kind = Some(Kind::Literal("a coroutine"));
            }
        }
        let Names { visible, imported, .. } = &mut names;
        imported.retain(|name| visible.get(name).is_some_and(|binding| binding.is_single));
        names.is_lazy = names.visible.contains_key("__getattr__");
        names
    }

    fn bind(&mut self, name: &str, kind: Option<Kind>, range: TextRange) {
        if self.depth == 0 {
            self.names.bind(name, kind, range.into());
        }
    }

    fn nested(&mut self, visit: impl FnOnce(&mut Self)) {
        self.depth += 1;
        visit(self);
        self.depth -= 1;
    }

    /// Binds the targets of an assignment and visits its value.
    fn assign<'a>(&mut self, targets: impl IntoIterator<Item = &'a Expr>, value: &'a Expr) {
        for target in targets {
            match target {
                Expr::Name(name) => {
                    let function = value.as_call_expr().and_then(|call| call.func.as_name_expr());
                    let result = function.map(|function| (name.id.to_string(), function.id.to_string()));
                    self.results.extend(result.filter(|_| self.depth == 0));
                    self.bind(&name.id, literal(value), target.range());
                }
                _ => self.visit_expr(target),
            }
        }
        self.visit_expr(value);
    }

    /// The block of `if TYPE_CHECKING:` never runs.
    fn branch(&mut self, test: Option<&Expr>, body: &[Stmt]) {
        test.into_iter().for_each(|test| self.visit_expr(test));
        if test.is_some_and(|test| last_name(test) == "TYPE_CHECKING") {
            self.nested(|scope| scope.visit_body(body))
        } else {
            self.visit_body(body)
        }
    }

    fn condition(&mut self, statement: &StmtIf) {
        self.branch(Some(&statement.test), &statement.body);
        for clause in &statement.elif_else_clauses {
            self.branch(clause.test.as_ref(), &clause.body);
        }
    }

    /// `import a.b` binds `a`.
    fn import(&mut self, alias: &Alias) {
        let bound = alias.asname.as_ref().unwrap_or(&alias.name);
        let first = bound.split('.').next().unwrap_or_default();
        if first == "*" {
            self.names.open |= self.depth == 0;
        } else {
            self.bind(first, None, alias.range);
            self.names.imported.insert(first.to_owned());
        }
        for name in alias.name.split('.').chain(alias.asname.as_deref()) {
            self.mention(name, false);
        }
    }

    /// Notes a name that may lead to the names of the module.
    fn mention(&mut self, name: &str, is_member: bool) {
        self.mentioned.insert(name.to_owned());
        self.names.open |= WAYS.contains(&name)
            || !is_member
                && (FUNCTIONS.contains(&name)
                    || BARE.contains(&name)
                    || name == "__name__" && self.quiet == 0);
    }

    fn quietly(&mut self, is_quiet: bool, visit: impl FnOnce(&mut Self)) {
        self.quiet += usize::from(is_quiet);
        visit(self);
        self.quiet -= usize::from(is_quiet);
    }

    fn call(&mut self, call: &ExprCall) {
        let Arguments { args, keywords, .. } = &call.arguments;
        let name = last_name(&call.func);
        let owner = call.func.as_attribute_expr().map_or("", |it| last_name(&it.value));
        // `setattr(find(module), "graph", 1)`
        self.names.open |= name == "setattr" && args.first().is_some_and(Expr::is_call_expr);
        let has_arguments = !args.is_empty() || !keywords.is_empty();
        let is_quiet = HARMLESS.contains(&name) || is_of_logging(name) || is_of_logging(owner);
        self.quietly(is_quiet, |scope| {
            if !(has_arguments && call.func.is_name_expr() && BARE.contains(&name)) {
                scope.visit_expr(&call.func);
            }
            scope.visit_arguments(&call.arguments);
        });
    }
}

impl<'a> Visitor<'a> for Scope {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(it) => {
                let kind = it.decorator_list.is_empty().then_some(Kind::Function);
                let is_coroutine = it.is_async && kind.is_some() && self.depth == 0;
                self.coroutines.extend(is_coroutine.then(|| it.name.to_string()));
                self.bind(&it.name, kind, it.name.range);
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&it.parameters);
                it.returns.iter().for_each(|returns| self.visit_annotation(returns));
                let is_outer = self.depth == 0 && it.decorator_list.is_empty();
                self.function = self.function.take().or_else(|| is_outer.then(|| it.name.to_string()));
                self.nested(|scope| scope.visit_body(&it.body));
                self.function = self.function.take().filter(|_| self.depth > 0);
            }
            Stmt::ClassDef(it) => {
                // A metaclass can return anything.
                let is_plain = it.decorator_list.is_empty()
                    && it.arguments.as_ref().is_none_or(|it| it.keywords.is_empty());
                self.bind(&it.name, is_plain.then_some(Kind::Class), it.name.range);
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                it.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                self.nested(|scope| scope.visit_body(&it.body));
            }
            Stmt::Assign(it) => self.assign(&it.targets, &it.value),
            Stmt::AnnAssign(it) => {
                self.visit_annotation(&it.annotation);
                // An annotation alone (`graph: Graph`) binds nothing.
                it.value.iter().for_each(|value| self.assign([&*it.target], value));
            }
            Stmt::If(it) => self.condition(it),
            Stmt::Import(it) => {
                self.names.imports.extend(imported(statement));
                it.names.iter().for_each(|alias| self.import(alias));
            }
            Stmt::ImportFrom(it) => {
                self.names.imports.extend(imported(statement));
                let module = it.module.as_deref().unwrap_or_default();
                module.split('.').for_each(|part| self.mention(part, false));
                it.names.iter().for_each(|alias| self.import(alias));
            }
            Stmt::Global(it) => {
                let names = it.names.iter().map(|name| (name.to_string(), self.function.clone()));
                self.globals.extend(names);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(it) => {
                match it.ctx {
                    ExprContext::Store => self.bind(&it.id, None, it.range),
                    ExprContext::Del if self.depth == 0 => self.deleted.extend([it.id.to_string()]),
                    _ => {}
                }
                self.mention(&it.id, false);
            }
            Expr::Attribute(it) => {
                // `find(module).graph = 1`
                if it.ctx.is_store() && it.value.is_call_expr() {
                    self.names.unsure.insert(it.attr.to_string());
                }
                self.mention(&it.attr, true);
                self.visit_expr(&it.value);
            }
            Expr::Lambda(it) => {
                it.parameters.iter().for_each(|parameters| self.visit_parameters(parameters));
                self.nested(|scope| scope.visit_expr(&it.body));
            }
            // `__name__ == "__main__"`
            Expr::Compare(it) => {
                let mut sides = it.comparators.iter().chain([&*it.left]);
                let is_quiet = sides.any(|side| side.as_name_expr().is_some_and(|it| it.id == "__name__"));
                self.quietly(is_quiet, |scope| visitor::walk_expr(scope, expression));
            }
            Expr::Call(it) => self.call(it),
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a Comprehension) {
        self.nested(|scope| scope.visit_expr(&comprehension.target));
        self.visit_expr(&comprehension.iter);
        comprehension.ifs.iter().for_each(|condition| self.visit_expr(condition));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(it) => it.name.as_ref(),
            Pattern::MatchStar(it) => it.name.as_ref(),
            Pattern::MatchMapping(it) => it.rest.as_ref(),
            _ => None,
        };
        name.into_iter().for_each(|name| self.bind(name, None, name.range));
        visitor::walk_pattern(self, pattern);
    }
}

/// The kind of a value that is neither a graph nor an app, function or object of any library.
fn literal(value: &Expr) -> Option<Kind> {
    let name = match value {
        Expr::StringLiteral(_) | Expr::FString(_) => "a string",
        Expr::BytesLiteral(_) => "a bytes object",
        Expr::NumberLiteral(_) => "a number",
        Expr::BooleanLiteral(_) => "a boolean",
        Expr::NoneLiteral(_) => "`None`",
        Expr::List(_) | Expr::ListComp(_) => "a list",
        Expr::Tuple(_) => "a tuple",
        Expr::Dict(_) | Expr::DictComp(_) => "a dictionary",
        Expr::Set(_) | Expr::SetComp(_) => "a set",
        _ => return None,
    };
    Some(Kind::Literal(name))
}

/// `b` of `a.b`; empty if it is not a name.
fn last_name(expression: &Expr) -> &str {
    match expression {
        Expr::Name(it) => &it.id,
        Expr::Attribute(it) => &it.attr,
        _ => "",
    }
}

/// `getLogger`, `structlog.get_logger`, `self.logger.info`.
fn is_of_logging(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    ["log", "logger", "logging", "getLogger", "get_logger", "getChild"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
