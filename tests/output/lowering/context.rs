//! The files of the build context, and those that are excluded from it.

use agentcli::compiler::Options;
use agentcli::compiler::back::emit::dockerfile::{dockerfile, dockerignore};
use agentcli::compiler::files::MemoryFiles;
use agentcli::compiler::tree::Tree;

use super::{GRAPHS, Nested, PYTHON, has, has_not, in_order, javascript, plan, plan_with, python, sees};

#[test]
fn the_pip_configuration_is_in_no_layer() {
    // Its name could not be quoted in a mount.
    let files = [("it's a ü,$x.conf", ""), ("requirements.txt", "a")];
    let plan = python(r#", "pip_config_file": "./it's a ü,$x.conf""#, &files);
    has(&plan, "secret it's a ü,$x.conf\n");
    let text = dockerfile(&plan);
    assert!(text.contains("--mount=type=bind,from=secrets,source=/pip.conf,target=/etc/pip.conf "), "{text}");
    assert!(text.contains(r"RUN rm -f '/source/it'\''s a ü,$x.conf'"), "{text}");
    assert!(text.ends_with("COPY --from=source /source/ ./\n"), "{text}");
    assert!(sees(&plan, "it's a ü,$x.conf"));
    // If no step reads it, it is not in the context.
    let uv = python(r#", "pip_config_file": "./pip.conf", "pip_installer": "uv""#, &[("pip.conf", "")]);
    let unused =
        javascript(r#", "pip_config_file": "./pip.conf""#, &[("pip.conf", ""), ("package.json", "{}")]);
    for plan in [uv, unused] {
        has_not(&plan, "pip.conf");
        assert!(!sees(&plan, "pip.conf"));
    }
}

#[test]
fn the_env_file_is_never_in_the_context() {
    for file in [".env", "settings.env", "conf/prod.env", "#env", "!env", "[x]*.env", "a b", "ünï"] {
        let files = [("requirements.txt", ""), PYTHON, (file, "SECRET=1"), (".dockerignore", "*.tmp\n")];
        let plan = plan(&format!(r#""dependencies": ["."], {GRAPHS}, "env": "./{file}""#), &files);
        assert!(!sees(&plan, file), "{file}: {}", dockerignore(&plan));
        assert!(sees(&plan, "agent.py") && sees(&plan, "conf/other.txt"), "{file}");
        assert!(!dockerfile(&plan).contains("SECRET"), "{file}");
    }
    // Its values are in no output either where they stand in the configuration.
    let plan = python(r#", "env": {"TOKEN": "very secret"}"#, &[]);
    let all = format!("{}{}", serde_json::to_string(&plan).unwrap(), dockerfile(&plan));
    assert!(!all.contains("very secret") && plan.env.names == ["TOKEN"]);
}

#[test]
fn the_default_ignore_rules_give_way_to_the_projects_own() {
    let plan = python("", &[]);
    for path in [
        ".git/config",
        "node_modules/a",
        "sub/.venv/x",
        "a/__pycache__/b.pyc",
        ".env",
        "x/.env.local",
        ".envrc",
    ] {
        assert!(!sees(&plan, path), "{path}");
    }
    for path in ["agent.py", "environment.yml", "src/env/a.py", "venv.py"] {
        assert!(sees(&plan, path), "{path}");
    }
    let own = python("", &[(".dockerignore", "# mine\n*.md\n!keep.md\n")]);
    assert!(!sees(&own, "a.md") && sees(&own, "keep.md") && !sees(&own, "node_modules/a"));
    let own = python("", &[(".dockerignore", "!node_modules\n")]);
    assert!(sees(&own, "node_modules/a") && !sees(&own, "a/__pycache__/b.pyc"));
    assert_eq!(own.context.ignore_from, [".dockerignore"]);
    let own = python("", &[(".dockerignore", "!**/.agentcli\n")]);
    assert!(!sees(&own, ".agentcli/python/bin/python") && !sees(&own, "sub/.langgraph_api/store.pckl"));
}

/// Those of this machine would lie over those of the image.
#[test]
fn installed_javascript_packages_stay_where_they_are() {
    let here = |ignore: &str, manifest: &str| {
        javascript("", &[("package.json", manifest), ("package-lock.json", "{}"), (".dockerignore", ignore)])
    };
    for ignore in [".git\n", "!README.md\n", "*\n!**\n", "sub/node_modules\n"] {
        for manifest in ["{}", r#"{"scripts": {"prepare": "x"}}"#] {
            let plan = here(ignore, manifest);
            assert!(!sees(&plan, "node_modules/a/b.js"), "{}", dockerignore(&plan));
            let sees_others = sees(&plan, "libs/node_modules/a");
            assert!(
                sees(&plan, "graph.ts") && sees_others == ignore.contains("!**"),
                "{}",
                dockerignore(&plan)
            );
            let is_again = dockerignore(&plan).contains("\n# The image installs its own");
            assert_eq!(is_again, ignore.contains("!**"));
        }
    }
    // The project's own rules take precedence.
    let own = here("node_modules\n!node_modules/own\n", "{}");
    assert!(!sees(&own, "node_modules/a") && sees(&own, "node_modules/own/a"));
    let own = here("!node_modules/own\nnode_modules/own/docs", "{}");
    assert!(!sees(&own, "node_modules/a") && sees(&own, "node_modules/own/a"));
    assert!(!sees(&own, "node_modules/own/docs/a"));
    assert!(sees(&here("!node_modules\n", "{}"), "node_modules/a"));
    // Nobody installs them otherwise, and the default rules give way to those of the project.
    let plain = python("", &[("package.json", "{}"), (".dockerignore", "!node_modules\n")]);
    assert!(sees(&plain, "node_modules/a"));
    let without = javascript("", &[(".dockerignore", "!node_modules\n")]);
    assert!(sees(&without, "node_modules/a"));
    let mixed = python(r#", "node_version": "20""#, &[("package.json", "{}"), (".dockerignore", ".git\n")]);
    assert!(!sees(&mixed, "node_modules/a"));
}

#[test]
fn included_requirements_are_copied() {
    let project = format!(r#""dependencies": ["."], {GRAPHS}"#);
    let copied = plan(
        &project,
        &[
            PYTHON,
            ("requirements.txt", "-r \"my req/b.txt\"  # more\n-c base.txt # x\n"),
            ("my req/b.txt", "a"),
            ("base.txt", "a<2"),
        ],
    );
    ["requirements.txt", "my req/b.txt", "base.txt"]
        .iter()
        .for_each(|file| has(&copied, &format!("copy {file}\n")));
    let files = [PYTHON, ("requirements.txt", "-e libs/shared\n"), ("libs/shared/setup.py", "")];
    let local = plan(&project, &files);
    in_order(&local, "source", "-e libs/shared");
    let files = [PYTHON, ("requirements.txt", "--pre\nx.whl\n"), ("x.whl", "")];
    in_order(&plan(&project, &files), "source", "install -r requirements.txt");
    let files = MemoryFiles::new([
        ("apps/agent/agent.py", PYTHON.1),
        ("apps/agent/requirements.txt", "-r ../../constraints/base.txt # shared"),
        ("constraints/base.txt", "a"),
    ]);
    let nested = plan_with(&project, &Tree::new(Nested(files)), &Options::default());
    assert!(sees(&nested, "constraints/base.txt") && !sees(&nested, "constraints/other.txt"));
    has(&nested, "copy constraints/base.txt\n");
}

#[test]
fn a_monorepos_context_holds_what_is_named_and_nothing_else() {
    let nested = Tree::new(Nested(MemoryFiles::new([
        ("apps/agent/agent.py", "graph = object()"),
        ("apps/agent/requirements.txt", "-r ../../requirements/base.txt\n"),
        ("requirements/base.txt", "-c limits.txt\nhttpx\n"),
        ("requirements/limits.txt", "httpx<1\n"),
        ("libs/a/pyproject.toml", "[project]\nname = 'a'\nversion = '1'\n"),
        ("libs/a/.dockerignore", "secret\n"),
        ("libs/b/pyproject.toml", "[project]\nname = 'b'\nversion = '1'\n"),
        ("libs/c/pyproject.toml", ""),
    ])));
    let config = format!(r#""dependencies": [".", "../../libs/a", "../../libs/b"], {GRAPHS}"#);
    let plan = plan_with(&config, &nested, &Options::default());
    let wanted = ["apps/agent", "libs/a", "libs/b", "requirements/base.txt", "requirements/limits.txt"];
    assert_eq!(plan.context.include, wanted);
    for path in
        ["apps/agent/agent.py", "libs/a/x/y.py", "libs/b/x.py", "requirements/base.txt", "libs/b/secret"]
    {
        assert!(sees(&plan, path), "{path}: {}", dockerignore(&plan));
    }
    for path in ["libs/c/x.py", "apps/web/x", "README.md", "requirements/dev.txt", "libs/a/secret", "libs/x"]
    {
        assert!(!sees(&plan, path), "{path}: {}", dockerignore(&plan));
    }
    has(&plan, "copy requirements/base.txt\ncopy requirements/limits.txt\n");
    has(&plan, "-r apps/agent/requirements.txt");
    assert_eq!(plan.contract["LANGSERVE_GRAPHS"]["agent"], "/deps/app/apps/agent/agent.py:graph");
}
