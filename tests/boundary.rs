//! What commands read of the machine: the files of the project, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use agentcli::compiler::files::{FileKind, Files, Refusal};
use agentcli::project::{Boundary, DiskFiles, MAX_CONFIGURATION, MAX_FILE};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use crate::harness::{Output, PATIENCE, TestEnv, VALID};
use crate::reports::formats;

/// A text that no output may contain.
const SECRET: &str = "hunter2";

/// Every file that a command reads by its name.
const READ_BY_NAME: &[&str] = &[
    ".dockerignore",
    ".env",
    ".npmrc",
    "agent.json",
    "agent.py",
    "agent.ts",
    "lib/pyproject.toml",
    "lib/setup.cfg",
    "lib/uv.lock",
    "package-lock.json",
    "package.json",
    "pip.conf",
    "pyproject.toml",
    "requirements.txt",
];

/// A configuration that names or implies all of them.
const ALL: &str = r#"{
  "dependencies": [".", "./lib"],
  "graphs": { "py": "./agent.py:graph", "ts": "./agent.ts:graph" },
  "env": ".env",
  "pip_config_file": "pip.conf"
}"#;

/// A repository with the project in `app/`, and a file beside the repository.
fn repository() -> TestEnv {
    TestEnv::empty()
        .file("outside/secret", format!("{SECRET} = {SECRET} {SECRET}\n"))
        .file("repo/.git/HEAD", "")
        .file("repo/app/agent.json", ALL)
        .file("repo/app/agent.py", "graph = object()\n")
        .file("repo/app/agent.ts", "export const graph = {};\n")
        .file("repo/app/lib/pyproject.toml", "[project]\nname = 'lib'\nversion = '1'\n")
        .file("repo/app/package.json", "{}\n")
        .file("repo/app/pip.conf", "")
        .file("repo/app/.env", "A=1\n")
}

fn link(env: &TestEnv, target: &str, path: &str) {
    let path = env.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::remove_file(&path).ok();
    symlink(target, path).unwrap();
}

fn pipe(env: &TestEnv, path: &str) {
    fs::remove_file(env.path(path)).ok();
    mknodat(CWD, env.path(path), FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// The codes of the findings of `validate` for a configuration.
fn codes(env: &TestEnv, config: &str) -> Vec<String> {
    let run = env.run(&format!("validate {config} --format json"));
    let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{run:?}"));
    let findings = report["diagnostics"].as_array().unwrap_or_else(|| panic!("{report}"));
    findings.iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect()
}

/// Runs a command that must end on its own.
fn run(env: TestEnv, arguments: &'static str) -> (TestEnv, Output) {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let output = env.run(arguments);
        sender.send((env, output)).ok();
    });
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("`{arguments}` does not end"))
}

#[test]
fn files_that_are_links_out_of_the_repository_are_named_and_not_shown() {
    for name in READ_BY_NAME {
        let env = repository();
        let up = "../".repeat(2 + name.matches('/').count());
        link(&env, &format!("{up}outside/secret"), &format!("repo/app/{name}"));
        for format in formats() {
            let run = env.run(&format!("validate repo/app/agent.json --format {format}"));
            let all = format!("{}{}", run.out, run.err);
            assert!(!all.contains(SECRET), "{name} as {format}: {all}");
            assert!(all.contains(name) && all.contains("path-outside-project"), "{name} as {format}: {all}");
            assert_eq!(run.code, 1, "{name}");
        }
        for command in ["plan", "dockerfile -", "validate --diff"] {
            let option = if command.starts_with("validate") { "" } else { "--config" };
            let run = env.run(&format!("{command} {option} repo/app/agent.json"));
            assert!(!format!("{run:?}").contains(SECRET), "{command} with {name}: {run:?}");
        }
    }
}

#[test]
fn included_files_outside_are_named_and_not_shown() {
    for (line, code) in [
        ("-r ../../outside/secret", "path-outside-project"),
        ("-c ../../outside/secret", "path-outside-project"),
        ("-r ../../../../../../../../etc/passwd", "path-outside-project"),
        ("-r linked/secret", "path-outside-project"),
        ("-r /etc/passwd", "absolute-include"),
        ("--requirement=/proc/self/environ", "absolute-include"),
    ] {
        let env = repository().file("repo/app/requirements.txt", format!("{line}\n"));
        if line.contains("linked") {
            link(&env, "../../outside", "repo/app/linked");
        }
        fs::remove_dir_all(env.path("repo/app/lib")).unwrap();
        let env = env.file("repo/app/agent.json", VALID);
        let run = env.run("validate repo/app/agent.json");
        let (_, path) = line.split_once([' ', '=']).unwrap();
        assert!(run.out.contains(path) && run.out.contains(&format!("[{code}]")), "{line}: {}", run.out);
        assert!(!run.out.contains(SECRET) && !run.out.contains("root:"), "{line}: {}", run.out);
        assert_eq!(run.out.matches("\n --> ").count(), 1, "{line}: {}", run.out);
    }
}

#[test]
fn a_refused_path_is_one_error_and_nothing_is_searched_for_it() {
    for (path, code) in [
        ("/", "absolute-path"),
        ("//", "absolute-path"),
        (r"\\\\.", "absolute-path"),
        ("/..", "absolute-path"),
        ("/etc", "absolute-path"),
        ("../../outside", "path-outside-project"),
        ("../../../../../../../..", "path-outside-project"),
        ("./linked", "path-outside-project"),
    ] {
        let config = format!(r#"{{"dependencies": [".", "{path}"], "graphs": {{"a": "./agent.py:graph"}}}}"#);
        for (root, boundary) in [("repo/app", "repository"), ("plain/app", "directory")] {
            let env = repository()
                .file(&format!("{root}/agent.json"), &config)
                .file(&format!("{root}/agent.py"), "graph = object()\n");
            if path.contains("linked") {
                link(&env, "../../outside", &format!("{root}/linked"));
            }
            assert_eq!(codes(&env, &format!("{root}/agent.json")), [code], "{path} in a {boundary}");
        }
    }
}

#[test]
fn every_path_of_a_configuration_stays_in_the_repository() {
    for (key, value) in [
        ("graphs", r#"{"a": "../../outside/secret.py:x"}"#),
        ("env", r#""/etc/environment""#),
        ("env", r#""../../outside/secret""#),
        ("pip_config_file", r#""../../outside/secret""#),
        ("auth", r#"{"path": "../../outside/secret.py:x"}"#),
        ("http", r#"{"app": "../../outside/secret.py:x"}"#),
        ("source", r#"{"kind": "uv", "root": "../../outside"}"#),
    ] {
        let mut config: Value = serde_json::from_str(VALID).unwrap();
        config[key] = serde_json::from_str(value).unwrap();
        if key == "source" {
            config.as_object_mut().unwrap().remove("dependencies");
        }
        let env = repository()
            .file("repo/app/agent.json", config.to_string())
            .file("outside/secret.py", "")
            .file("outside/uv.lock", "");
        assert_eq!(codes(&env, "repo/app/agent.json"), ["path-outside-project"], "{key}: {value}");
    }
}

#[test]
fn the_project_is_the_nearest_repository() {
    let config = VALID.replace("[\".\"]", "[\".\", \"../lib\"]");
    let tree = |git: &str| {
        TestEnv::empty()
            .file(git, "gitdir: /nowhere\n")
            .file("outer/apps/one/agent.json", &config)
            .file("outer/apps/one/agent.py", "graph = object()\n")
            .file("outer/apps/lib/requirements.txt", "-r ../../common.txt\n")
            .file("outer/common.txt", "httpx\n")
    };
    // A worktree has a file, and a submodule is a repository of its own.
    for (git, expected) in [
        ("outer/.git", &[][..]),
        ("outer/.git/HEAD", &[]),
        ("outer/apps/.git/HEAD", &["path-outside-project"]),
        ("outer/apps/one/.git", &["path-outside-project"]),
        ("unrelated/.git/HEAD", &["path-outside-project"]),
    ] {
        assert_eq!(codes(&tree(git), "outer/apps/one/agent.json"), expected, "{git}");
    }
}

#[test]
fn a_project_without_a_repository_is_its_directory_or_a_workspace_that_lists_it() {
    let graph = "graph = object()\n";
    let package = |name: &str, rest: &str| {
        format!(
            "[project]\nname = '{name}'\nversion = '1'\n{rest}\n[build-system]\nrequires = ['hatchling']\nbuild-backend = 'hatchling.build'\n"
        )
    };
    let requires = "dependencies = ['shared']\n[tool.uv.sources]\nshared = {path = '../../libs/shared'}\n";
    let member = "dependencies = ['shared']\n[tool.uv.sources]\nshared = {workspace = true}\n";
    let listed = VALID.replace("[\".\"]", "[\".\", \"../../libs/shared\"]");
    let trees = [
        ("listed", listed, package("app", "")),
        ("required", VALID.to_owned(), package("app", requires)),
        ("workspace", VALID.to_owned(), package("app", member)),
    ];
    for (name, config, manifest) in trees {
        let env = TestEnv::empty()
            .file("w/apps/one/agent.json", config)
            .file("w/apps/one/agent.py", graph)
            .file("w/apps/one/app/__init__.py", "")
            .file("w/apps/one/pyproject.toml", manifest)
            .file("w/libs/shared/shared/__init__.py", "")
            .file("w/libs/shared/pyproject.toml", package("shared", ""));
        let env = match name {
            "workspace" => {
                env.file("w/pyproject.toml", "[tool.uv.workspace]\nmembers = ['apps/*', 'libs/*']\n")
            }
            _ => env,
        };
        let outside = codes(&env, "w/apps/one/agent.json");
        assert_eq!(outside.is_empty(), name == "workspace", "{name}: {outside:?}");
        // A link to the directory changes nothing.
        link(&env, "w/apps/one", "linked");
        assert_eq!(codes(&env, "linked/agent.json"), outside, "{name}, through a link");
        // The user can say what belongs to it.
        assert_eq!(codes(&env, "w/apps/one/agent.json --project-root w"), [""; 0], "{name}");
        let elsewhere = codes(&env, "w/apps/one/agent.json --project-root w/libs");
        assert!(elsewhere.contains(&"path-outside-project".to_owned()), "{name}: {elsewhere:?}");
    }
}

#[test]
fn links_within_a_project_are_followed() {
    let env = repository().file("repo/shared/agent.py", "graph = object()\n");
    link(&env, "../shared/agent.py", "repo/app/agent.py");
    let absolute = env.path("repo/shared").canonicalize().unwrap();
    link(&env, absolute.to_str().unwrap(), "repo/app/absolute");
    link(&env, "../../repo/shared", "repo/app/around");
    link(&env, "self", "repo/app/self");
    link(&env, "nowhere", "repo/app/dangling");
    link(&env, "../../outside/nowhere", "repo/app/dangling-outside");
    link(&env, "../../outside", "repo/app/out");
    link(&env, "../repo/app", "outside/back");
    link(&env, "out/back/agent.ts", "repo/app/out-and-back");
    let files = DiskFiles::new(env.path("repo/app"));
    for path in
        ["agent.py", "absolute/agent.py", "around/agent.py", "../shared/agent.py", "../../repo/app/agent.py"]
    {
        assert_eq!(files.read(path).unwrap(), "graph = object()\n", "{path}");
        assert_eq!(files.refusal(path), None, "{path}");
    }
    for path in ["self", "dangling", "nothing", "agent.py/x", "nothing/../x"] {
        assert_eq!((files.kind(path), files.refusal(path)), (None, None), "{path}");
    }
    for path in
        ["dangling-outside", "out", "out/secret", "../../outside/secret", "/etc/passwd", "..\u{0}/../../x"]
    {
        assert_eq!((files.kind(path), files.content(path)), (None, None), "{path}");
        assert!(files.list(path).is_empty() && files.links(path).is_empty(), "{path}");
    }
    for path in ["dangling-outside", "out", "out/secret", "../../outside/secret", "/etc/passwd"] {
        assert_eq!(files.refusal(path), Some(Refusal::Outside), "{path}");
    }
    assert_eq!(files.link("../../outside/back"), None);
    // What is read in the end is a file of the project.
    assert_eq!(files.kind("out-and-back"), Some(FileKind::File));
    assert!(!files.list(".").iter().any(|(name, _)| name == "out" || name.starts_with("dangling")));
    assert_eq!(files.linked_directories("."), ["absolute", "around"]);
    let refused = files.refused();
    assert!(
        refused.iter().all(|(path, _)| path.starts_with("dangling") || path.starts_with("out")),
        "{refused:?}"
    );
}

#[test]
fn another_boundary_than_the_repository() {
    let env = repository();
    let files = DiskFiles::within(env.path("repo/app"), Boundary::Directory(&env.path("")));
    assert_eq!(files.kind("../../outside/secret"), Some(FileKind::File));
    let files = DiskFiles::within(env.path("repo/app"), Boundary::Directory(&env.path("repo/app")));
    assert_eq!((files.kind("lib"), files.kind("..")), (Some(FileKind::Directory), None));
    assert_eq!(DiskFiles::new(Path::new("/")).kind("etc"), None);
}

#[test]
fn pipes_in_place_of_files_are_findings_and_nothing_waits_for_them() {
    for name in READ_BY_NAME {
        let env = repository();
        pipe(&env, &format!("repo/app/{name}"));
        let (_, run) = run(env, "validate repo/app/agent.json");
        assert!(run.out.contains("[not-a-regular-file]") && run.out.contains(name), "{name}: {}", run.out);
        assert_eq!(run.code, 1, "{name}");
    }
}

#[test]
fn files_above_the_limit_are_findings_and_are_not_read() {
    // Only the build reads those.
    for name in READ_BY_NAME.iter().filter(|name| !["pip.conf", "package-lock.json"].contains(name)) {
        let env = repository();
        let limit = if *name == "agent.json" { MAX_CONFIGURATION } else { MAX_FILE };
        let file = fs::File::create(env.path(&format!("repo/app/{name}"))).unwrap();
        // Much more than the memory that reading it may take.
        file.set_len(if *name == "agent.ts" { 1 << 40 } else { limit + 1 }).unwrap();
        let (env, run) = run(env, "validate repo/app/agent.json");
        assert!(run.out.contains("[file-too-large]") && run.out.contains(name), "{name}: {}", run.out);
        assert_eq!(
            codes(&env, "repo/app/agent.json").iter().filter(|code| **code == "file-too-large").count(),
            1
        );
    }
}

#[test]
fn all_files_together_have_a_limit() {
    let include = |number: usize| format!("-r part-{number}.txt\n");
    let env = repository().file("repo/app/agent.json", VALID);
    let mut env = env.file("repo/app/requirements.txt", (0..6).map(include).collect::<String>());
    for number in 0..6 {
        let lines = "# a comment that fills the file\n".repeat(MAX_FILE as usize / 32);
        env = env.file(&format!("repo/app/part-{number}.txt"), lines);
    }
    let run = env.run("validate repo/app/agent.json");
    assert!(
        run.out.contains("the files of the project up to `./part-3.txt` are larger than 32 MiB"),
        "{}",
        run.out
    );
}

#[test]
fn all_lines_and_values_together_have_a_limit() {
    let list = |value: &str| value.repeat(1 << 20);
    for (name, text) in [
        ("requirements.txt", list("a\n")),
        ("requirements.txt", "-r a.txt\n-r b.txt\n".to_owned()),
        ("pyproject.toml", format!("x = [{}]", list("1,"))),
        (".env", list("A=\n")),
        ("agent.py", format!("graph = [{}]", list("1,"))),
        ("agent.py", format!("graph = 1;{}", list("a;"))),
    ] {
        let config = r#"{ "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" }, "env": ".env" }"#;
        let mut env =
            repository().file("repo/app/agent.json", config).file(&format!("repo/app/{name}"), text);
        for part in ["a.txt", "b.txt"] {
            env = env.file(&format!("repo/app/{part}"), "a\n".repeat(1 << 19));
        }
        let run = env.run("validate repo/app/agent.json");
        let is_told = run.out.contains("[file-too-large]") && run.out.contains("have more than 1000000");
        assert!(is_told && run.code == 1, "{name}: {}", run.out);
        assert!(run.out.len() < 10_000, "{name}: {}", run.out.len());
    }
}
