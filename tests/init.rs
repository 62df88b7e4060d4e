//! `agentcli init`: what it finds, what it writes, and what it refuses.

use std::fs;

use crate::harness::TestEnv;
use crate::new::files;

const GRAPH: &str = "from langgraph.graph import StateGraph\n\nbuilder = StateGraph(dict).add_node(\"a\", print).add_edge(\"__start__\", \"a\")\napp = builder.compile()\n";

fn python() -> TestEnv {
    TestEnv::empty()
        .file("pyproject.toml", "[project]\nname = \"shopbot\"\nversion = \"1\"\nrequires-python = \">=3.12\"\ndependencies = [\"langgraph\"]\n")
        .file("src/shopbot/__init__.py", "")
        .file("src/shopbot/graph.py", GRAPH)
}

#[test]
fn says_what_it_found_and_writes_one_file() {
    let env = python().file(".env", "SHOP_NAME=a\nOPENAI_API_KEY=secret\n").file("uv.lock", "version = 1\n");
    let before = files(&env.path(""));
    let run = env.run("init");
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.out, "next:   agentcli dev\n");
    assert_eq!(
        run.err.lines().take(5).collect::<Vec<_>>(),
        [
            "found   src/shopbot/graph.py:app   graph shopbot, compiled graph in line 4",
            "found   pyproject.toml             package shopbot, Python >=3.12",
            "found   .env                       SHOP_NAME, OPENAI_API_KEY",
            "found   uv.lock                    lock file",
            "wrote   agent.json",
        ]
    );
    assert!(!run.err.contains("secret"), "{}", run.err);
    let expected = "{\n  \"dependencies\": [\".\"],\n  \"python_version\": \"3.12\",\n  \"graphs\": {\n    \
                    \"shopbot\": \"./src/shopbot/graph.py:app\"\n  },\n  \"env\": \".env\"\n}\n";
    assert_eq!(fs::read_to_string(env.path("agent.json")).unwrap(), expected);
    let mut after = files(&env.path(""));
    after.retain(|file| file != "agent.json");
    assert_eq!(after, before);
    assert_eq!(env.run("validate").code, 0);
}

#[test]
fn refuses_to_overwrite() {
    for name in ["agent.json", "langgraph.json"] {
        let env = python().file(name, "mine");
        for command in ["init", "init --langgraph"] {
            let run = env.run(command);
            assert_eq!((run.code, run.out.as_str()), (2, ""), "{name}: {command}");
            assert!(
                run.err.contains(&format!("`{name}` exists already; nothing was written")),
                "{}",
                run.err
            );
        }
        assert_eq!(fs::read_to_string(env.path(name)).unwrap(), "mine");
    }
}

#[test]
fn writes_the_configuration_of_the_existing_tool() {
    let env = python();
    assert_eq!(env.run("init --langgraph").code, 0);
    assert!(env.path("langgraph.json").exists() && !env.path("agent.json").exists());
    assert_eq!(env.run("validate").code, 0);
}

#[test]
fn typescript_exports_are_graphs() {
    let env = TestEnv::empty()
        .file("package.json", "{ \"name\": \"shop\", \"dependencies\": { \"@langchain/langgraph\": \"^1\" } }")
        .file(
            "src/agent.ts",
            "import { StateGraph } from '@langchain/langgraph';\nconst workflow = new StateGraph(State).addNode('a', a);\n\
             export const graph = workflow.compile();\nexport const other = 1;\n",
        );
    let run = env.run("init");
    assert_eq!(run.code, 0, "{}", run.err);
    let expected = "{\n  \"graphs\": {\n    \"agent\": \"./src/agent.ts:graph\"\n  }\n}\n";
    assert_eq!(fs::read_to_string(env.path("agent.json")).unwrap(), expected);
}

#[test]
fn a_file_that_imports_its_neighbours_is_named_by_its_module() {
    let env = python().file("src/shopbot/graph.py", format!("from .state import State\n{GRAPH}"));
    let env = env.file("src/shopbot/state.py", "State = dict\n");
    let run = env.run("init");
    assert_eq!(run.code, 0, "{}", run.err);
    let text = fs::read_to_string(env.path("agent.json")).unwrap();
    assert!(text.contains("\"shopbot\": \"shopbot.graph:app\""), "{text}");
}

#[test]
fn the_user_chooses_graphs() {
    let env = python();
    let run = env.run("init --graph a=./src/shopbot/graph.py:app --graph b=src/shopbot/graph.py:app");
    assert_eq!(run.code, 0, "{}", run.err);
    let text = fs::read_to_string(env.path("agent.json")).unwrap();
    assert!(
        text.contains("\"a\": \"./src/shopbot/graph.py:app\",\n    \"b\": \"./src/shopbot/graph.py:app\""),
        "{text}"
    );
    for wrong in ["a", "a=b", "=b:c", "a=:c", "a=b:"] {
        let run = env.run_with(&["init", "--graph", wrong]);
        assert_eq!(run.code, 2, "{wrong}");
        assert!(run.err.contains("agent=./src/agent.py:graph"), "{}", run.err);
    }
}

#[test]
fn what_is_not_valid_is_not_written() {
    let env = python();
    let run = env.run("init --graph a=./src/shopbot/graph.py:absent");
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("unknown-name") || run.err.contains("does not define"), "{}", run.err);
    assert!(run.err.ends_with("nothing was written: `agent.json` would have 1 error\n"), "{}", run.err);
    assert!(!env.path("agent.json").exists());
}

#[test]
fn a_project_without_a_graph_gets_a_sentence() {
    let broken = format!("{GRAPH}\ndef broken(:\n");
    for (path, text, expected) in [
        ("notes.txt", "", "there is no source file here that could have a graph"),
        ("main.py", "graph = 1\n", "no graph found in 1 source file"),
        ("a/graph.py", broken.as_str(), "cannot look for graphs in `a/graph.py`, line 6: "),
        (
            "apps/one/pyproject.toml",
            "[project]\nname = \"one\"\n",
            "the graphs here are those of the project in `apps/one`",
        ),
    ] {
        let mut env = TestEnv::empty().file(path, text);
        if path.starts_with("apps") {
            env = env.file("apps/one/graph.py", GRAPH);
        }
        let before = files(&env.path(""));
        let run = env.run("init");
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{path}: {}", run.err);
        assert!(
            run.err.contains(expected) && run.err.contains("; nothing was written\nhint: "),
            "{}",
            run.err
        );
        assert_eq!(files(&env.path("")), before, "{path}");
    }
}

/// The one broken file of a large project matters only if it may have graphs.
#[test]
fn a_broken_file_without_graphs_is_passed_over() {
    let mut env = python().file("src/shopbot/old.py", "print 'agent'\n");
    for number in 0..200 {
        env = env.file(&format!("src/shopbot/m{number}.py"), "agent = 1\n");
    }
    let run = env.run("init");
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn home_and_root_are_no_projects() {
    let env = python();
    let home = env.path("").display().to_string();
    let run = python().variable("HOME", &home).run_with(&["init", &home]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("this is your home directory, not a project; nothing was written"),
        "{}",
        run.err
    );
    #[cfg(unix)]
    assert!(python().run("init /").err.contains("this is the root of the file system"));
}

#[test]
fn a_monorepo_asks_for_one_of_its_projects() {
    let member = |name: &str| {
        format!("[project]\nname = \"{name}\"\nversion = \"1\"\ndependencies = [\"langgraph\"]\n")
    };
    let mut env = TestEnv::empty().file("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"apps/*\"]\n");
    for name in ["one", "two"] {
        env = env.file(&format!("apps/{name}/pyproject.toml"), member(name));
        env = env.file(&format!("apps/{name}/src/{name}/__init__.py"), "");
        env = env.file(&format!("apps/{name}/src/{name}/graph.py"), GRAPH);
    }
    let run = env.run("init");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.contains("2 projects here have graphs"), "{}", run.err);
    assert!(run.err.contains("agentcli init apps/one\nagentcli init apps/two\n"), "{}", run.err);
    let run = env.run("init two");
    assert_eq!((run.code, run.out.as_str()), (0, "next:   cd apps/two && agentcli dev\n"), "{}", run.err);
    assert!(env.path("apps/two/agent.json").exists() && !env.path("apps/one/agent.json").exists());
    assert_eq!(env.run("init apps/one").code, 0);
    let run = env.run("init three");
    assert!(run.err.contains("hint: the workspace has `one` and `two`"), "{}", run.err);
}

#[test]
fn commands_without_a_configuration_name_the_graph() {
    let env = python();
    for command in ["validate", "dev", "build -t a", "dockerfile -", "compose -", "plan"] {
        let run = env.run(command);
        assert_eq!(run.code, 1, "{command}: {}", run.err);
        let said = format!("{}{}", run.out, run.err);
        assert!(
            said.contains("`agentcli init` writes one for `src/shopbot/graph.py:app`"),
            "{command}: {said}"
        );
    }
    let run = env.run("new");
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(
        run.err.contains("this is a project already, with the graph `src/shopbot/graph.py:app`"),
        "{}",
        run.err
    );
    assert!(run.err.contains("hint: write its configuration with `agentcli init`"), "{}", run.err);
}

#[test]
fn a_collector_is_named_by_its_url() {
    for wrong in ["--otlp=", "--otlp=collector:4318", "--otlp=http://"] {
        let run = python().run(&format!("dev {wrong}"));
        assert_eq!(run.code, 2, "{wrong}");
        assert!(run.err.contains("http"), "{wrong}: {}", run.err);
    }
}
