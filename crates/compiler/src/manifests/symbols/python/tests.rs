use crate::manifests::symbols::Definition::{Defined, Lazy, Missing, Unknown};
use crate::manifests::symbols::{Kind, Language, Module, define};

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
        "from x import *\ndef __getattr__(name): ...",
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
        ("graph = None\ndef f():\n    global graph\n    graph = make()\nf()", None),
        ("graph = None\n@now\ndef f():\n    global graph\n    graph = make()", None),
        ("graph = None\nclass C:\n    def f(self):\n        global graph\n        graph = make()", None),
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
fn functions_that_nothing_here_calls_assign_later() {
    let text = "graph = None\nasync def f():\n    global graph\n    graph = make()\n";
    let module = Module::new(Language::Python, text.to_owned(), None);
    assert_eq!(module.kind("graph").map(|(kind, _)| kind), Some(Kind::Literal("`None`")));
    assert_eq!(module.assigned_in("graph"), ["f"]);
    let text = "def f():\n    global graph\n    graph = make()\n";
    assert_eq!(define(Language::Python, text, "graph"), Unknown);
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

#[test]
fn only_getattr_gives_the_name() {
    for text in [
        "def __getattr__(name): ...",
        "from lazy import __getattr__",
        "def __getattr__(name): ...\ngrpah = 1",
    ] {
        assert_eq!(define(Language::Python, text, "graph"), Lazy, "{text}");
    }
    assert_eq!(define(Language::Python, "def __getattr__(name): ...\ngraph = 1", "graph"), Defined);
}
