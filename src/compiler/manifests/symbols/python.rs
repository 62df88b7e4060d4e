//! The names that a Python module binds at its top level.

use std::collections::HashSet;

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, Arguments, Comprehension, Expr, ExprCall, ExprContext, Pattern, PythonVersion, Stmt, StmtIf,
};
use ruff_python_parser::{Mode, ParseOptions};
use ruff_text_size::{Ranged, TextRange};

use super::{Broken, Kind, Names, Parsed, fragment};

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
    Parsed { names: Scope::default().read(module.suite()), syntax_error: None, newer_syntax }
}

/// The top level of a module. It visits functions and classes as well, since any code may change the module.
#[derive(Default)]
struct Scope {
    names: Names,
    deleted: HashSet<String>,
    /// Number of functions, classes and the like around the current node, whose names are not those of the module.
    depth: usize,
    /// Number of nodes around the current one in which `__name__` is harmless.
    quiet: usize,
}

impl Scope {
    fn read(mut self, suite: &[Stmt]) -> Names {
        self.visit_body(suite);
        let Self { mut names, deleted, .. } = self;
        for name in deleted {
            names.visible.shift_remove(&name);
            names.unsure.insert(name);
        }
        names.open |= names.visible.contains_key("__getattr__");
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
                Expr::Name(name) => self.bind(&name.id, literal(value), target.range()),
                _ => self.visit_expr(target),
            }
        }
        self.visit_expr(value);
    }

    /// The block of `if TYPE_CHECKING:` never runs.
    fn branch(&mut self, test: Option<&Expr>, body: &[Stmt]) {
        test.into_iter().for_each(|test| self.visit_expr(test));
        match test.is_some_and(|test| last_name(test) == "TYPE_CHECKING") {
            true => self.nested(|scope| scope.visit_body(body)),
            false => self.visit_body(body),
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
        }
        for name in alias.name.split('.').chain(alias.asname.as_deref()) {
            self.mention(name, false);
        }
    }

    /// Notes a name that may lead to the names of the module.
    fn mention(&mut self, name: &str, is_member: bool) {
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
                self.bind(&it.name, kind, it.name.range);
                it.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&it.parameters);
                it.returns.iter().for_each(|returns| self.visit_annotation(returns));
                self.nested(|scope| scope.visit_body(&it.body));
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
            Stmt::Import(it) => it.names.iter().for_each(|alias| self.import(alias)),
            Stmt::ImportFrom(it) => {
                let module = it.module.as_deref().unwrap_or_default();
                module.split('.').for_each(|part| self.mention(part, false));
                it.names.iter().for_each(|alias| self.import(alias));
            }
            Stmt::Global(it) => {
                self.names.unsure.extend(it.names.iter().map(|name| name.to_string()));
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
mod tests {
    use crate::compiler::manifests::symbols::Definition::{Defined, Missing, Unknown};
    use crate::compiler::manifests::symbols::{Kind, Language, Module, define};

    #[test]
    fn these_bind_graph() {
        for text in [
            "graph = 1",
            "\u{feff}graph = 1",
            "x = 1\r\ngraph = 2\r\n",
            "# comment\rgraph = 2\r",
            "graph: Graph = make()",
            "graph += 1",
            "a = graph = 1",
            "(graph) = 1",
            "a, (b, [graph, *c]) = d",
            "a, *graph = d",
            "[graph] = d",
            "def graph(): pass",
            "async def graph():\n\tpass",
            "@decorate(1)\ndef graph(): pass",
            "class graph: pass",
            "@decorate\nclass graph(Base): pass",
            "import graph",
            "import graph.sub",
            "import a.b as graph",
            "from . import graph",
            "from a import b, graph",
            "from a import (\n    b as graph,  # why\n)",
            "from __future__ import graph",
            "type graph = int",
            "type graph[T] = list[T]",
            "if x:\n    graph = 1",
            "if x:\n    pass\nelif y:\n    graph = 1",
            "if x: pass\nelse: graph = 1",
            "try:\n    graph = 1\nexcept E:\n    pass",
            "try:\n    pass\nexcept E:\n    graph = None",
            "try:\n    pass\nexcept* E as e:\n    graph = None",
            "try:\n    pass\nfinally:\n    graph = None",
            "try:\n    pass\nexcept E: pass\nelse:\n    graph = None",
            "for graph in x: pass",
            "for a, (b, graph) in x: pass",
            "for a in x:\n    graph = a",
            "for a in x: pass\nelse: graph = 1",
            "while x:\n    graph = 1",
            "with x as graph: pass",
            "with x as (a, graph): pass",
            "with (x as a, y as [b, *graph]):\n    pass",
            "with x:\n    graph = 1",
            "match x:\n    case 1:\n        graph = 1",
            "match x:\n    case graph: pass",
            "match x:\n    case [a, *graph]: pass",
            "match x:\n    case {'k': 1, **graph}: pass",
            "match x:\n    case Point(x=graph): pass",
            "match x:\n    case A(graph) | B(graph): pass",
            "match x:\n    case Point() as graph: pass",
            "print(graph := 1)",
            "if (graph := x): pass",
            "x = [y for z in w if (graph := z)]",
            "def f(x=(graph := 1)): pass",
            "class C(x := (graph := 1)): pass",
            "if TYPE_CHECKING:\n    from x import graph\nelse:\n    graph = None",
            "if not TYPE_CHECKING:\n    graph = 1",
            "x = 1; graph = 2",
            "match = 1\ntype = 2\ngraph = match",
            "graph = 1\nexec('x')",
            "ｇraph = 1",
        ] {
            assert_eq!(define(Language::Python, text, "graph"), Defined, "{text}");
        }
    }

    #[test]
    fn these_do_not_bind_graph() {
        for (text, names) in [
            ("", &[][..]),
            ("graph", &[]),
            ("graph: Graph", &[]),
            ("'graph = 1'", &[]),
            ("# graph = 1", &[]),
            ("x = '''\ngraph = 1\n'''", &["x"]),
            ("x = f'{graph}'", &["x"]),
            ("def f():\n    graph = 1", &["f"]),
            ("def f(graph): pass", &["f"]),
            ("def f():\n    def graph(): pass\n    import graph", &["f"]),
            ("class C:\n    graph = 1\n    def graph(self): pass", &["C"]),
            ("x = lambda graph: (graph := 1)", &["x"]),
            ("x = [graph for graph in y]", &["x"]),
            ("a.graph = 1", &[]),
            ("a[graph] = 1", &[]),
            ("a.graph, b[graph] = 1", &[]),
            ("f(graph=1)", &[]),
            ("x = {'graph': 1}", &["x"]),
            ("import a.graph", &["a"]),
            ("import graph as g", &["g"]),
            ("from graph import g", &["g"]),
            ("from a import graph as g", &["g"]),
            ("from .graph import g", &["g"]),
            ("for x in graph: pass", &["x"]),
            ("with graph as x: pass", &["x"]),
            ("try: pass\nexcept graph as e: pass", &[]),
            ("try: pass\nexcept E as graph: pass", &[]),
            ("match x:\n    case graph(): pass", &[]),
            ("match x:\n    case graph.b: pass", &[]),
            ("match x:\n    case Point(graph=1): pass", &[]),
            ("match x:\n    case Point(x=1) if graph: pass", &[]),
            ("type x = graph", &["x"]),
            ("type x[graph] = int", &["x"]),
            ("if TYPE_CHECKING:\n    from x import graph, y\nz = 1", &["z"]),
            ("if typing.TYPE_CHECKING:\n    from x import *", &[]),
            ("if x: pass\nelif TYPE_CHECKING:\n    import graph", &[]),
            ("graphs = 1\nGraph = 2\n_graph = 3", &["graphs", "Graph", "_graph"]),
            ("def f():\n    global other\n    other = 1", &["f"]),
            ("def f():\n    sys.path.append(vars(x))", &["f"]),
            ("import logging\nlog = logging.getLogger(__name__)", &["logging", "log"]),
            ("log = structlog.get_logger(f'{__name__}.graph')", &["log"]),
            ("app = Flask(__name__)", &["app"]),
            ("def f():\n    self.logger.info('%s', __name__)\n    print(__name__)", &["f"]),
            ("if __name__ == '__main__':\n    f()", &[]),
            ("if __name__ != \"__main__\" and x: f()", &[]),
            ("x = tool.__name__", &["x"]),
            ("model.eval()\nsession.exec(x)\nf(exec=1, modules=2)", &[]),
            ("'globals()'", &[]),
            ("b = 1\na = 2\nb = 3", &["b", "a"]),
        ] {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(define(Language::Python, text, "graph"), Missing { names }, "{text}");
        }
    }

    #[test]
    fn these_leave_graph_unknown() {
        for text in [
            "from x import *",
            "try:\n    from x import *\nexcept ImportError: pass",
            "def __getattr__(name): ...",
            "from lazy import __getattr__",
            "globals()['graph'] = 1",
            "globals().update(x)",
            "def f():\n    globals()[x] = 1",
            "vars()['graph'] = 1",
            "locals().update(x)",
            "setattr(sys.modules[__name__], x, 1)",
            "sys.modules[__name__] = Lazy()",
            "exec('graph = 1')",
            "eval('globals().update(graph=1)')",
            "import builtins\nbuiltins.exec('graph = 1')",
            "from builtins import exec as run\nrun('graph = 1')",
            "g = globals\ng()['graph'] = 1",
            "v = vars\nv()['graph'] = 1",
            "sys._getframe(0).f_globals.update(graph=1)",
            "inspect.currentframe().f_globals['graph'] = 1",
            "def f():\n    return 1\nf.__globals__['graph'] = 1",
            "from sys import modules\nmodules[__name__].graph = 1",
            "import sys as s\ns.modules['a'].graph = 1",
            "importlib.import_module(__name__).graph = 1",
            "setattr(importlib.import_module(__name__), 'graph', 1)",
            "__import__(__name__).graph = 1",
            "import a\na.install(__name__, 'graph')",
            "me = __name__",
            "log = getLogger(__name__)\ninstall(__name__)",
            "def f():\n    global 𝓰raph\n    𝓰raph = 1",
            "def f():\n    global graph\n    graph = 1",
            "graph = 1\ndel graph",
            "graph = 1\ndel (a, [graph])",
            "import inspect\ndef put(f):\n    inspect.getmodule(f).graph = 1\n    return f\n@put\ndef a(): pass",
            "from inspect import getmodule as of\nof(f).graph = 1",
            "find_module(f).graph = 1",
            "setattr(find_module(f), 'graph', 1)",
            "graph = 1\ndef broken(:\n",
            "def broken(:\n    pass\n",
            "x = (",
            "def f():\n  'unclosed\n",
        ] {
            assert_eq!(define(Language::Python, text, "graph"), Unknown, "{text}");
        }
    }

    #[test]
    fn only_the_first_part_of_a_dotted_name_is_looked_up() {
        let text = "obj = make()";
        assert_eq!(define(Language::Python, text, "obj.attr"), Unknown);
        assert_eq!(define(Language::Python, text, "other.obj"), Missing { names: vec!["obj".to_owned()] });
    }

    #[test]
    fn kinds_are_certain() {
        for (text, expected) in [
            ("graph = 1", Some(Kind::Literal("a number"))),
            ("graph: str = f'{x}'", Some(Kind::Literal("a string"))),
            ("a = graph = [x for x in y]", Some(Kind::Literal("a list"))),
            ("if x:\n    graph = None", Some(Kind::Literal("`None`"))),
            ("def graph(): pass", Some(Kind::Function)),
            ("class graph(Base): pass", Some(Kind::Class)),
            ("@tool\ndef graph(): pass", None),
            ("class graph(metaclass=M): pass", None),
            ("graph = 1\ngraph = make()", None),
            ("try:\n    from a import graph\nexcept ImportError:\n    graph = None", None),
            ("graph = []\ngraph += make()", None),
            ("graph = None\ndef f():\n    global graph\n    graph = make()", None),
            ("graph = None\nglobals().update(x)", None),
            ("graph = None\ninstall(__name__)", None),
            ("graph, a = 1, 2", None),
            ("graph = x", None),
            ("import graph", None),
        ] {
            let module = Module::new(Language::Python, text.to_owned(), None);
            assert_eq!(module.kind("graph").map(|(kind, _)| kind), expected, "{text}");
        }
    }

    #[test]
    fn newer_syntax_depends_on_the_version() {
        let newer = |text: &str, version| {
            let module = Module::new(Language::Python, text.to_owned(), version);
            module.newer_syntax().map(|newer| text[newer.span.clone()].to_owned())
        };
        let alias = "x = 1\ntype A = int\n";
        assert_eq!(newer(alias, Some((3, 11))).as_deref(), Some("type"));
        assert_eq!(newer(alias, Some((3, 12))), None);
        assert_eq!(newer(alias, None), None);
        assert_eq!(newer("x = t'a'\n", Some((3, 13))).as_deref(), Some("t'a'"));
    }
}
