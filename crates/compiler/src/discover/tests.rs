use super::*;
use crate::files::MemoryFiles;

const LIBRARY: &str = "from langgraph.graph import StateGraph\nfrom langchain.agents import create_agent\n";

/// The graphs of a project with these files, as `ID = PATH:NAME`.
fn graphs(files: &[(&str, &str)]) -> Vec<String> {
    let files = Tree::new(MemoryFiles::new(files.iter().copied()));
    let found = discover(&files, MOST);
    found.graphs.iter().map(|graph| format!("{} = {}", graph.id, graph.shown())).collect()
}

/// The names of the graphs in one Python file.
fn python(text: &str) -> Vec<String> {
    let found = graphs(&[("a.py", &format!("{LIBRARY}{text}"))]);
    found.into_iter().map(|it| it.rsplit_once(':').unwrap().1.to_owned()).collect()
}

/// The names of the graphs in one TypeScript file.
fn typescript(text: &str) -> Vec<String> {
    let text = format!("import {{ StateGraph }} from '@langchain/langgraph';\n{text}");
    graphs(&[("a.ts", &text)]).into_iter().map(|it| it.rsplit_once(':').unwrap().1.to_owned()).collect()
}

#[test]
fn graphs_of_python() {
    for (text, expected) in [
        ("graph = StateGraph(dict).add_node(a).compile()", &["graph"][..]),
        ("b = StateGraph(dict)\nb.add_node(a)\ngraph = b.compile().with_config(x)", &["graph"]),
        ("b = StateGraph(dict)", &["b"]),
        ("agent = create_agent('m')", &["agent"]),
        ("def make(config):\n    return create_agent('m')", &["make"]),
        ("async def make():\n    g = StateGraph(dict)\n    yield g.compile()", &["make"]),
        ("@asynccontextmanager\nasync def make(root=None):\n    yield create_agent('m')", &["make"]),
        ("def build(model):\n    return create_agent(model)\nagent = build('m')", &["agent"]),
        ("def build():\n    return create_agent('m')\nagent = build()", &["agent"]),
        ("@entrypoint()\ndef flow(x):\n    return x", &["flow"]),
        ("graph: CompiledStateGraph = make()", &["graph"]),
        ("a = create_agent('m')\nb = StateGraph(dict).add_node(a).compile()", &["b"]),
        ("first = create_agent('m')\nagent = first", &["agent"]),
        ("agent = create_agent('m')\ngraph = agent", &["graph"]),
        ("a = create_agent('m')\nb = create_agent('n')\na.get_graph()", &["a", "b"]),
        ("try:\n    graph = create_agent('m')\nexcept E:\n    raise", &["graph"]),
        ("if __name__ == '__main__':\n    graph = create_agent('m')", &[]),
        ("_graph = create_agent('m')", &[]),
        ("import re\nagent = re.compile('x')", &[]),
        ("def build(model):\n    return create_agent(model)", &[]),
        ("app = FastAPI()", &[]),
        ("def create_agent():\n    return 1\nagent = create_agent()", &[]),
        ("a = b\nb = a", &[]),
    ] {
        assert_eq!(python(text), expected, "{text}");
    }
}

#[test]
fn graphs_of_typescript() {
    for (text, expected) in [
        ("export const graph = new StateGraph(S).addNode('a', a).compile();", &["graph"][..]),
        (
            "const w = new StateGraph(S);\nexport const graph = w.compile({ checkpointer }).withConfig({});",
            &["graph"],
        ),
        ("const graph = (await make()).compile() as any;\nexport default graph;", &["default"]),
        ("export const agent = createReactAgent({ llm });", &["agent"]),
        ("export const graph = make().agent?.graph;", &["graph"]),
        (
            "export async function graph(config) { const w = new StateGraph(S); return w.compile(); }",
            &["graph"],
        ),
        ("export const graph = (async () => w.compile())();", &["graph"]),
        ("const graph = createAgent({});\nexport { graph as agent };", &["agent"]),
        (
            "const w = make().compile();\nexport const graph = (w.withConfig as unknown as With)({});",
            &["graph"],
        ),
        ("const graph = createAgent({});", &[]),
        ("export const other = 1;", &[]),
        ("export type graph = string;", &[]),
        ("export function make(llm) { return createAgent({ llm }); }", &[]),
    ] {
        assert_eq!(typescript(text), expected, "{text}");
    }
}

#[test]
fn other_files_give_graphs() {
    let made = format!("{LIBRARY}def build(model):\n    return create_agent(model)\n");
    let found = graphs(&[
        ("src/bot/build.py", &made),
        ("src/bot/main.py", "from bot.build import build\nagent = build('m')\n"),
    ]);
    assert_eq!(found, ["agent = src/bot/main.py:agent"]);
    let builder = format!("{LIBRARY}def build():\n    return StateGraph(dict)\n");
    let compiled = [
        ("bot/graph.py", builder.as_str()),
        ("bot/main.py", "from .graph import build\nbuilder = build()\napp = builder.compile()\n"),
    ];
    assert_eq!(graphs(&compiled), ["bot = bot/main.py:app"]);
    let relative =
        [("bot/build.py", made.as_str()), ("bot/main.py", "from .build import build\nagent = build('m')\n")];
    assert_eq!(graphs(&relative), ["agent = bot/main.py:agent"]);
    let graph = format!("{LIBRARY}graph = create_agent('m')\n");
    let again = [("bot/__init__.py", "from bot.graph import graph\n"), ("bot/graph.py", graph.as_str())];
    assert_eq!(graphs(&again), ["bot = bot/graph.py:graph"]);
    let handed =
        [("bot/made.py", graph.as_str()), ("main.py", "from bot.made import graph\nagent = graph\n")];
    assert_eq!(graphs(&handed), ["agent = main.py:agent"]);
    let late = "def make(config):\n    from .made import graph as made\n    return made\n";
    let late = [("bot/agent.py", late), ("bot/made.py", graph.as_str())];
    assert_eq!(graphs(&late), ["agent = bot/agent.py:make", "made = bot/made.py:graph"]);
    let main = format!("{LIBRARY}from bot.sub import graph as sub\ngraph = create_agent('m', tools=[sub])\n");
    let part = [("bot/sub.py", graph.as_str()), ("bot/main.py", main.as_str())];
    assert_eq!(graphs(&part), ["bot = bot/main.py:graph"]);
}

/// A script imports the graph that it tries, which is served all the same.
#[test]
fn what_tries_a_graph_is_no_server() {
    let graph = format!("{LIBRARY}graph = create_agent('m')\n");
    let trial = format!("{LIBRARY}from bot.graph import graph as bot\njudge = create_agent('m', [bot])\n");
    let files = [("src/bot/graph.py", graph.as_str()), ("scripts/judge.py", trial.as_str())];
    assert_eq!(graphs(&files), ["bot = src/bot/graph.py:graph"]);
    let files = [
        ("scripts/judge.py", trial.as_str()),
        ("apps/bot/pyproject.toml", "[project]\nname = 'bot'\n"),
        ("apps/bot/graph.py", graph.as_str()),
    ];
    let files = Tree::new(MemoryFiles::new(files));
    let found = discover(&files, MOST);
    assert_eq!((found.graphs, found.projects), (vec![], vec!["apps/bot".to_owned()]));
    let examples = [("examples/a.py", graph.as_str()), ("examples/b.py", trial.as_str())];
    assert_eq!(graphs(&examples).len(), 2);
}

#[test]
fn a_program_that_shows_a_graph_is_no_server() {
    let made = format!("{LIBRARY}def build():\n    return create_agent('m')\n");
    let screen = "import streamlit as st\nfrom bot.graph import build\ngraph = build()\n";
    let files = [("bot/graph.py", made.as_str()), ("bot/screen.py", screen)];
    assert_eq!(graphs(&files), ["bot = bot/graph.py:build"]);
}

/// What `make` gives without `await` is no graph.
#[test]
fn coroutines_are_no_graphs() {
    let made = format!("{LIBRARY}async def make():\n    return create_agent('m')\n");
    for (call, expected) in [("make()", "graph.py:make"), ("asyncio.run(make())", "run.py:agent")] {
        let run = format!("import asyncio\nfrom graph import make\nagent = {call}\n");
        let found = graphs(&[("graph.py", made.as_str()), ("run.py", &run)]);
        assert!(found.len() == 1 && found[0].ends_with(expected), "{found:?}");
    }
}

#[test]
fn one_of_many_peers_is_served_although_another_one_has_it_as_a_part() {
    let graph = "import { createAgent } from 'langchain';\nexport const graph = createAgent({});\n";
    let main = format!("import {{ graph as search }} from '@/search/index';\n{graph}");
    let mut files = vec![("src/main/index.ts", main.as_str()), ("src/search/index.ts", graph)];
    assert_eq!(graphs(&files).len(), 1);
    files.push(("src/sum/index.ts", graph));
    assert_eq!(graphs(&files).len(), 2);
    files.push(("src/title/index.ts", graph));
    assert_eq!(graphs(&files).len(), 4);
}

#[test]
fn ids_differ() {
    let graph = format!("{LIBRARY}graph = create_agent('m')\n");
    let two = format!("{LIBRARY}sales_agent = create_agent('m')\nhelp_agent = create_agent('n')\n");
    let files = [
        ("pyproject.toml", "[project]\nname = 'shop'\n"),
        ("src/a/graph.py", graph.as_str()),
        ("src/b/graph.py", graph.as_str()),
        ("c/b/graph.py", graph.as_str()),
        ("graph.py", graph.as_str()),
        ("two.py", two.as_str()),
    ];
    assert_eq!(
        graphs(&files),
        [
            "c_b = c/b/graph.py:graph",
            "shop = graph.py:graph",
            "a = src/a/graph.py:graph",
            "shop_b = src/b/graph.py:graph",
            "sales_agent = two.py:sales_agent",
            "help_agent = two.py:help_agent",
        ]
    );
}

#[test]
fn some_directories_have_no_source() {
    let graph = format!("{LIBRARY}graph = create_agent('m')\n");
    for path in ["tests/a.py", "test_a.py", "node_modules/a.py", ".venv/a.py", "env/a.py", "dist/a.py"] {
        assert_eq!(graphs(&[(path, &graph)]), [""; 0], "{path}");
    }
    assert_eq!(graphs(&[("own/pyvenv.cfg", ""), ("own/a.py", &graph)]), [""; 0]);
    assert_eq!(graphs(&[(".gitignore", "/out.py\n"), ("out.py", &graph)]), [""; 0]);
    assert_eq!(graphs(&[(".gitignore", "*\n"), ("all.py", &graph)]).len(), 1);
}

#[test]
fn a_byte_order_mark_moves_no_line() {
    let text = format!("\u{feff}{LIBRARY}graph = create_agent('m')\n");
    let files = Tree::new(MemoryFiles::new([("a.py", text.as_str())]));
    assert_eq!(discover(&files, MOST).graphs[0].origin, Some((3, "compiled graph")));
}

#[test]
fn the_version_of_python_is_the_pinned_or_the_oldest_one() {
    for (range, pinned, expected) in [
        (">=3.11", "", None),
        (">=3.12", "", Some("3.12")),
        (">=3.11", "3.13.1\n", Some("3.13")),
        (">=3.11,<3.13", "3.14", None),
        (">=3.9", "3.9", None),
    ] {
        let manifest = format!("[project]\nname = 'a'\nrequires-python = '{range}'\n");
        let files =
            Tree::new(MemoryFiles::new([("pyproject.toml", manifest.as_str()), (".python-version", pinned)]));
        let (text, _) = configuration(&[Graph::given("a", "a.py", "graph")], &files);
        let version = text.split_once("python_version\": \"").map(|(_, rest)| &rest[..4]);
        assert_eq!(version, expected, "{range} {pinned}");
    }
}
