//! What a Python module binds at its top level.

mod dynamic;

use std::collections::HashSet;

use tree_sitter::Node;

use super::{Bindings, parts, source, walk};

/// Looks at the module `root`, the tree of `text`, as far as is needed to tell about `name`.
pub(super) fn look<'t>(root: Node<'_>, text: &'t str, name: &str) -> Bindings<'t> {
    let mut module =
        Module { text, found: Bindings::default(), deleted: HashSet::new(), skipped: HashSet::new() };
    walk(root, |node| module.enter(node));
    let Module { mut found, deleted, .. } = module;
    for name in deleted {
        found.visible.shift_remove(name);
        found.unsure.insert(name);
    }
    found.open |= found.visible.contains("__getattr__") || root.has_error();
    // The second walk goes through every function, so it is kept for names that are not plainly there.
    if !found.visible.contains(name) {
        // Python takes identifiers of the same NFKC form for the same.
        let is_odd = found.visible.iter().any(|bound| !bound.is_ascii());
        found.open = found.open || is_odd || dynamic::may_bind(root, text, name);
    }
    found
}

struct Module<'t> {
    text: &'t str,
    found: Bindings<'t>,
    deleted: HashSet<&'t str>,
    /// The ids of the nodes whose bindings are not the module's, noted before the walk reaches them.
    skipped: HashSet<usize>,
}

impl<'t> Module<'t> {
    /// Notes what `node` itself binds and says whether anything inside it can bind more.
    fn enter(&mut self, node: Node<'_>) -> bool {
        if self.skipped.contains(&node.id()) {
            return false;
        }
        match node.kind() {
            "function_definition" | "class_definition" => {
                self.bind_field(node, "name");
                self.skip(node, "body");
            }
            "lambda" => self.skip(node, "body"),
            "if_statement" | "elif_clause" if self.is_for_type_checkers(node) => {
                self.skip(node, "consequence")
            }
            "except_clause" => self.skip_alias(node),
            // An annotation alone (`graph: Graph`) binds nothing.
            "assignment" if node.child_by_field_name("right").is_none() => return false,
            "assignment" | "augmented_assignment" | "for_statement" => self.bind_field(node, "left"),
            "named_expression" => self.bind_field(node, "name"),
            // What `with` names, and what `*` and `**` collect in a `case`.
            "as_pattern_target" | "splat_pattern" => self.bind(node),
            // Outside imports, only a `case` has these: a bare name captures, a dotted one is a value.
            "dotted_name" if node.named_child_count() == 1 => self.bind(node),
            "class_pattern" => self.skip_first(node),
            "as_pattern" => self.bind_capture(node),
            "type_alias_statement" => {
                self.bind_alias(node);
                return false;
            }
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                self.import(node);
                return false;
            }
            "delete_statement" => {
                let names = self.names_in(node);
                self.deleted.extend(names);
                return false;
            }
            // What stands in an unreadable stretch may be anything.
            "ERROR" => return false,
            _ => {}
        }
        true
    }

    fn skip(&mut self, node: Node<'_>, field: &str) {
        self.skipped.extend(node.child_by_field_name(field).map(|child| child.id()));
    }

    /// The class in `case Point(x=0)` is looked up, not bound.
    fn skip_first(&mut self, pattern: Node<'_>) {
        self.skipped.extend(pattern.named_child(0).map(|class| class.id()));
    }

    /// `case … as name`, where the name is a bare identifier; elsewhere `as` has a target node.
    fn bind_capture(&mut self, pattern: Node<'_>) {
        if let Some(last) = parts(pattern).last().filter(|last| last.kind() == "identifier") {
            self.bind_name(*last);
        }
    }

    /// `except E as e` unbinds `e` again at its end.
    fn skip_alias(&mut self, clause: Node<'_>) {
        let alias = clause.child_by_field_name("value").and_then(|value| value.child_by_field_name("alias"));
        self.skipped.extend(alias.map(|alias| alias.id()));
    }

    /// Whether `statement` is `if TYPE_CHECKING:`, whose block never runs.
    fn is_for_type_checkers(&self, statement: Node<'_>) -> bool {
        let condition = statement.child_by_field_name("condition");
        condition.is_some_and(|condition| {
            let name = condition.child_by_field_name("attribute").unwrap_or(condition);
            source(name, self.text) == "TYPE_CHECKING"
        })
    }

    fn bind_field(&mut self, node: Node<'_>, field: &str) {
        if let Some(target) = node.child_by_field_name(field) {
            self.bind(target);
        }
    }

    fn bind(&mut self, target: Node<'_>) {
        let names = self.names_in(target);
        self.found.visible.extend(names);
    }

    fn bind_name(&mut self, name: Node<'_>) {
        self.found.visible.insert(source(name, self.text));
    }

    /// The names in an assignment's target: not those in `a.b` or `a[b]`, which bind nothing here.
    fn names_in(&self, target: Node<'_>) -> Vec<&'t str> {
        let mut names = Vec::new();
        walk(target, |node| {
            if node.kind() == "identifier" {
                names.push(source(node, self.text));
            }
            !matches!(node.kind(), "attribute" | "subscript" | "call" | "ERROR")
        });
        names
    }

    /// `type Name = …` and `type Name[T] = …`: the name is the first identifier.
    fn bind_alias(&mut self, statement: Node<'_>) {
        let Some(left) = statement.child_by_field_name("left") else { return };
        if let Some(name) = self.names_in(left).first() {
            self.found.visible.insert(name);
        }
    }

    fn import(&mut self, statement: Node<'_>) {
        self.found.open |= parts(statement).iter().any(|part| part.kind() == "wildcard_import");
        for name in statement.children_by_field_name("name", &mut statement.walk()) {
            // `import a.b` binds `a`; a name that `from` imports has one part.
            let bound = name.child_by_field_name("alias").or_else(|| name.named_child(0));
            if let Some(bound) = bound {
                self.bind_name(bound);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compiler::manifests::symbols::Definition::{Defined, Missing, Unknown};
    use crate::compiler::manifests::symbols::{Language, define};

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
            "graph = 1\ndef broken(:\n",
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
    fn these_do_not_tell_about_graph() {
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
            "ｇraph = 1",
            "def f():\n    global 𝓰raph\n    𝓰raph = 1",
            "def f():\n    global graph\n    graph = 1",
            "graph = 1\ndel graph",
            "graph = 1\ndel (a, [graph])",
            "def broken(:\n    pass\n",
            "x = (",
            "def f():\n  'unclosed\n",
        ] {
            assert_eq!(define(Language::Python, text, "graph"), Unknown, "{text}");
        }
    }

    #[test]
    fn of_a_dotted_name_only_the_first_part_is_looked_for() {
        let text = "obj = make()";
        assert_eq!(define(Language::Python, text, "obj.attr"), Unknown);
        assert_eq!(define(Language::Python, text, "other.obj"), Missing { names: vec!["obj".to_owned()] });
    }
}
