//! `agentcli new`: what each template makes, and what it never touches.

use std::fs;
use std::path::Path;

use crate::harness::TestEnv;

/// A run of a graph of a template.
#[cfg_attr(not(feature = "system-tests"), expect(dead_code, reason = "only these tests run graphs"))]
pub(crate) struct Example {
    pub(crate) template: &'static str,
    /// Directory of the configuration.
    pub(crate) directory: &'static str,
    pub(crate) graph: &'static str,
    /// JSON.
    pub(crate) input: &'static str,
    /// A part of the output.
    pub(crate) output: &'static str,
}

const QUESTION: &str = r#"{ "messages": [{ "role": "user", "content": "How long is this message?" }] }"#;
const ADA: &str = r#"{ "name": "Ada" }"#;
const TEXT: &str = r#"{ "text": "one  two" }"#;

/// A run of every graph of every template.
pub(crate) const EXAMPLES: &[Example] = &[
    Example { template: "python", directory: ".", graph: "agent", input: ADA, output: "Hello, Ada!" },
    Example {
        template: "python-agent",
        directory: ".",
        graph: "agent",
        input: QUESTION,
        output: "has 5 words",
    },
    Example { template: "javascript", directory: ".", graph: "agent", input: ADA, output: "Hello, Ada!" },
    Example {
        template: "monorepo",
        directory: "apps/greeter",
        graph: "greeter",
        input: ADA,
        output: "Hello, Ada!",
    },
    Example {
        template: "monorepo",
        directory: "apps/counter",
        graph: "counter",
        input: TEXT,
        output: "\"words\":2",
    },
];

/// The files below `directory`, as sorted paths relative to it.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path)
            } else {
                found.push(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned())
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_template_validates_and_compiles() {
    for Example { template, directory, .. } in EXAMPLES {
        let env = TestEnv::empty();
        let run = env.run(&format!("new shop --template {template}"));
        assert_eq!(run.code, 0, "{template}: {}", run.err);
        let env = TestEnv::inside(&env.path("shop").join(directory));
        let run = env.run("validate --deny-warnings");
        assert_eq!((run.code, run.out.as_str()), (0, ""), "{template}: {}", run.out);
        assert_eq!(run.err, "agent.json is valid (1 graph)\n", "{template}");
        for command in ["plan", "dockerfile -"] {
            let run = env.run(command);
            assert_eq!(run.code, 0, "{template}: {}", run.err);
            assert!(!run.err.contains("warning"), "{template}: {}", run.err);
            assert!(!run.out.contains("my-agent"), "{template}: {}", run.out);
        }
    }
}

#[test]
fn a_project_has_every_file_of_its_template() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/new");
    for source in fs::read_dir(templates).unwrap().map(|entry| entry.unwrap().path()) {
        let template = source.file_name().unwrap().to_str().unwrap();
        assert!(EXAMPLES.iter().any(|example| example.template == template), "{template} has no example");
        let env = TestEnv::empty();
        env.run(&format!("new my-agent -t {template}"));
        let expected = files(&source);
        for file in &expected {
            let read = |directory: &Path| fs::read_to_string(directory.join(file)).unwrap();
            assert_eq!(read(&env.path("my-agent")), read(&source), "{template}: {file}");
        }
        assert_eq!(files(&env.path("my-agent")), expected, "{template}");
    }
}

#[test]
fn a_directory_names_its_project() {
    for (directory, name) in [
        ("Sales Bot", "sales-bot"),
        ("42", "agent-42"),
        ("日本", "my-agent"),
        ("langgraph", "langgraph-project"),
    ] {
        for (template, manifest) in [("python", "pyproject.toml"), ("javascript", "package.json")] {
            let env = TestEnv::empty();
            let run = env.run_with(&["new", directory, "--template", template]);
            assert_eq!(run.code, 0, "{directory}: {}", run.err);
            let text = fs::read_to_string(env.path(directory).join(manifest)).unwrap();
            assert!(text.contains(&format!("\"{name}\"")), "{directory}: {text}");
            let run = TestEnv::inside(&env.path(directory)).run("validate --deny-warnings");
            assert_eq!(run.code, 0, "{directory}: {}", run.out);
        }
    }
}

#[test]
fn the_next_commands_are_results() {
    for (arguments, expected) in [
        (&["new", "shop"][..], "cd shop\nagentcli dev\n"),
        (&["new", "a/b c", "-t", "javascript"], "cd 'a/b c'\nagentcli dev\n"),
        (&["new", "shop", "-t", "monorepo"], "cd shop/apps/greeter\nagentcli dev\n"),
    ] {
        let run = TestEnv::empty().run_with(arguments);
        assert_eq!((run.code, run.out.as_str()), (0, expected), "{}", run.err);
    }
    let env = TestEnv::empty();
    fs::create_dir(env.path("shop")).unwrap();
    let run = TestEnv::inside(&env.path("shop")).run("new");
    assert_eq!(run.out, "agentcli dev\nagentcli build -t shop\n");
    assert!(run.err.lines().any(|line| line == "wrote src/agent/graph.py"), "{}", run.err);
    assert!(run.err.ends_with("\nnext:\n"), "{}", run.err);
}

#[test]
fn a_directory_with_files_is_refused() {
    let env = TestEnv::empty().file("shop/.git/HEAD", "").file("full/agent.json", "mine");
    let env = env.file("full/a", "").file("full/b", "").file("full/c", "");
    for (path, expected) in [
        ("shop", "the directory is not empty (.git)"),
        ("full", "the directory is not empty (a, agent.json, b and 1 more)"),
        ("full/agent.json", "agent.json`: not a directory"),
        ("full/agent.json/below", "below`: not a directory"),
    ] {
        let before = files(&env.path(""));
        let run = env.run(&format!("new {path}"));
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{path}");
        assert!(run.err.starts_with("error: cannot create a project in `"), "{path}: {}", run.err);
        assert!(
            run.err.contains(expected) && run.err.contains("hint: choose another"),
            "{path}: {}",
            run.err
        );
        assert_eq!(files(&env.path("")), before, "{path}");
    }
    let run = env.run("new shop --template java");
    assert_eq!(run.code, 2);
    assert!(run.err.contains("[possible values: python, python-agent, javascript, monorepo]"), "{}", run.err);
}

#[test]
fn force_adds_files_and_keeps_existing_ones() {
    let env = TestEnv::empty().file("shop/README.md", "mine").file("shop/src/agent/graph.py", "graph = 1\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("nowhere", env.path("shop/.gitignore")).unwrap();
    let run = env.run("new shop --force");
    assert_eq!(run.code, 0, "{}", run.err);
    let kept: Vec<&str> = run.err.lines().filter_map(|line| line.strip_prefix("kept ")).collect();
    #[cfg(unix)]
    assert_eq!(kept, ["shop/.gitignore", "shop/README.md", "shop/src/agent/graph.py"]);
    assert!(kept.ends_with(&["shop/README.md", "shop/src/agent/graph.py"]), "{}", run.err);
    assert_eq!(fs::read_to_string(env.path("shop/README.md")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(env.path("shop/src/agent/graph.py")).unwrap(), "graph = 1\n");
    assert!(run.err.contains("wrote shop/agent.json\n") && env.path("shop/agent.json").exists());
    let again = env.run("new shop --force");
    assert!(again.code == 0 && !again.err.contains("wrote"), "{}", again.err);
}

/// The third directory of the template cannot be created, since there is a file in its place.
#[test]
fn a_failure_leaves_nothing_behind() {
    let env = TestEnv::empty().file("shop/tests", "a file");
    let run = env.run("new shop --force");
    assert_eq!(run.code, 1);
    assert!(run.err.contains("test_graph.py`: not a directory"), "{}", run.err);
    assert_eq!(files(&env.path("")), ["shop/tests"]);
    assert_eq!(fs::read_dir(env.path("shop")).unwrap().count(), 1);
}
