//! Which steps of a build run again, and why.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::Copy;
use crate::engine::{hosts_for, try_docker};
use crate::harness::{Output, TestEnv};

struct Project {
    copy: Copy,
    host: String,
    cache: TempDir,
}

impl Project {
    fn run(&self, more: &str) -> Output {
        let env = TestEnv::inside(self.copy.directory.path()).variable("DOCKER_HOST", &self.host);
        let cache = self.cache.path().to_str().unwrap();
        let run = env
            .variable("XDG_CACHE_HOME", cache)
            .run(&format!("build -t agentcli-test-why --no-pull {more}"));
        assert_eq!(run.code, 0, "{}", run.err);
        run
    }

    fn why(&self, more: &str) -> Vec<String> {
        self.run(&format!("--why {more}")).out.lines().map(str::to_owned).collect()
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.copy.directory.path().join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
}

/// Lines of the progress about steps that run again.
fn again(output: &Output) -> Vec<String> {
    output.err.lines().filter_map(|line| line.trim().strip_prefix("again  ")).map(str::to_owned).collect()
}

/// Whether the lines are these, whatever the durations.
fn assert_lines(lines: &[String], expected: &[&str]) {
    let is_same = |(line, expected): (&String, &&str)| match line.strip_prefix(*expected) {
        Some(rest) => {
            let seconds = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix("s last time)"));
            seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok())
        }
        None => false,
    };
    let same = lines.len() == expected.len() && lines.iter().zip(expected).all(is_same);
    assert!(same, "{lines:#?}\n{expected:#?}");
}

#[test]
fn a_step_that_runs_again_names_what_changed() {
    for host in hosts_for("why") {
        let project = Project { copy: Copy::of("hello"), host, cache: TempDir::new().unwrap() };
        // Steps of its own, which no other build has cached.
        let number = fastrand::u64(..);
        project.copy.configure(&json!({ "dockerfile_lines": ["ARG WORD", format!("RUN : {number}")] }));
        assert_eq!(project.why(""), ["agentcli-test-why: no build of this name is recorded on this machine"]);
        assert_eq!(again(&project.run("")), [""; 0], "there was none before");
        let none = "agentcli-test-why: no step before the source runs again";
        assert_eq!(project.why(""), [none]);
        project.edit("src/hello/graph.py", "\n", "\n# edited\n");
        assert_eq!(project.why(""), [none]);
        assert_eq!(again(&project.run("")), [""; 0]);

        project.edit("pyproject.toml", "\"langgraph>=0.3\"", "\"langgraph>=0.3\", \"tomli-w>=1.0\"");
        let expected = ["Packages with their requirements", "Package tools are not needed at run time"]
            .map(|step| format!("{step}: `pyproject.toml` adds `tomli-w`"));
        let expected = expected.each_ref().map(String::as_str);
        assert_lines(&project.why(""), &expected);
        assert_lines(&again(&project.run("")), &expected);
        assert_eq!(project.why(""), [none]);
        let events = project.run("--why --no-cache --progress json").out;
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for event in &events {
            let cause = (&event["event"], &event["cause"]);
            assert_eq!(cause, (&json!("runs_again"), &json!("--no-cache is given")));
        }
        // Steps that other builds have run, too, did not run in one of this name.
        assert!(events.iter().any(|event| event["seconds"].as_f64().is_some()), "{events:?}");

        // The lines and everything after them.
        let found = project.why("--build-arg WORD=other");
        assert!(
            found.iter().all(|line| line.contains(": the build argument `WORD` changed (")),
            "{found:#?}"
        );
        for step in ["lines of `dockerfile_lines`", "Packages with their requirements"] {
            assert!(found.iter().any(|line| line.starts_with(step)), "{step}: {found:#?}");
        }
        let based = project.why("--base-image other.example/base:1");
        assert!(
            based.iter().all(|line| line.contains("the base image is `other.example/base:1`")),
            "{based:?}"
        );
        assert!(!based.is_empty());
        let digest = format!("sha256:{}", "0".repeat(64));
        let image = "langchain/langgraph-api:3.11";
        let lock = project.copy.directory.path().join("agent.lock");
        let text = format!(
            "version = 1\n[server]\nname = \"licensed\"\n[[image]]\nname = \"{image}\"\ndigest = \"{digest}\"\n"
        );
        fs::write(&lock, text).unwrap();
        assert_eq!(project.why(""), [none]);
        let locked = project.why("--locked");
        let cause = format!("the base image is `{image}@{digest}`");
        assert!(!locked.is_empty() && locked.iter().all(|line| line.contains(&cause)), "{locked:?}");
        fs::remove_file(lock).unwrap();
        // No secret of a file or an argument is recorded.
        project.run("--build-arg WORD=hidden-word");
        for entry in fs::read_dir(project.cache.path().join("agentcli/steps")).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(text.contains("tomli-w") && !text.contains("hidden-word"), "{text}");
        }
        try_docker(&project.host, &["rmi", "agentcli-test-why"]).ok();
    }
}
