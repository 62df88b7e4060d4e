//! The file is used, or refused with the differences; nobody is contacted.

use super::{digest, text};
use crate::harness::{Output, TestEnv, VALID};

const BASE: &str = "langchain/langgraph-api:3.11";
const SERVICES: [(&str, char); 2] = [("pgvector/pgvector:pg16", 'b'), ("redis:6", 'c')];

/// A project with a file.
fn project(text: &str) -> TestEnv {
    TestEnv::project().file("agent.lock", text)
}

/// The file of [`TestEnv::project`].
fn whole() -> String {
    text("licensed", &[&[(BASE, 'a')][..], &SERVICES].concat())
}

/// The message of a refusal, without the hint.
fn refusal(run: &Output) -> &str {
    assert_eq!((run.code, &*run.out), (1, ""), "{}", run.err);
    let (message, hint) = run.err.rsplit_once("hint: ").unwrap();
    assert_eq!(hint, "run `agentcli lock` again\n");
    message
}

#[test]
fn images_have_the_digests_of_the_file() {
    let env = project(&whole());
    assert_eq!(env.run("lock --check").code, 0);
    let base = format!("FROM {BASE}@{}\n", digest('a'));
    let services = SERVICES.map(|(name, digit)| format!("{name}@{}", digest(digit)));
    let manifests = "manifests - --name agent --image registry.example/agent:1";
    for locked in [true, false] {
        let run = |command: &str| {
            let run = env.run(&format!("{command} {}", if locked { "--locked" } else { "" }));
            assert_eq!(run.code, 0, "{}", run.err);
            run.out
        };
        assert_eq!(run("dockerfile -").contains(&base), locked);
        for file in [run("compose -"), run(manifests)] {
            assert_eq!(services.iter().all(|image| file.contains(image)), locked, "{file}");
            assert_eq!(file.contains("sha256:ccc"), locked, "{file}");
        }
        let plan = run("plan");
        assert_eq!(plan.contains(&format!("\"redis:6\": \"redis:6@{}\"", digest('c'))), locked, "{plan}");
    }
}

#[test]
fn the_file_is_not_in_the_image() {
    let env = project(&whole()).file(".dockerignore", "!agent.lock\n");
    assert_eq!(env.run("dockerfile --locked Dockerfile").code, 0);
    let ignored = std::fs::read_to_string(env.path("Dockerfile.dockerignore")).unwrap();
    assert!(ignored.lines().rev().take_while(|line| *line != "!agent.lock").any(|it| it == "**/agent.lock"));
}

#[test]
fn a_stale_file_is_refused_with_the_differences() {
    let env = project(&whole())
        .variable("DOCKER_HOST", "unix:///none")
        .file("agent.json", VALID.replacen('{', r#"{ "python_version": "3.12", "#, 1));
    let base = "error: `agent.lock` is out of date:\n  - langchain/langgraph-api:3.11\n  + langchain/langgraph-api:3.12\n";
    for command in [
        "lock --check",
        "dockerfile - --locked",
        "plan --locked",
        "build -t a --locked",
        "up --locked",
        "compose - --locked",
    ] {
        let run = env.run(command);
        assert_eq!(refusal(&run), base, "{command}");
    }
    let run = env.run("plan --locked --server memory");
    let server = "error: `agent.lock` is out of date:\n  - server licensed\n  + server memory 0.16.7\n  - langchain/langgraph-api:3.11\n  \
                  - pgvector/pgvector:pg16\n  - redis:6\n  + python:3.12-slim\n";
    assert_eq!(refusal(&run), server);
    let absent = TestEnv::project().run("dockerfile - --locked");
    assert_eq!(refusal(&absent), "error: `agent.lock` does not exist\n");
    assert_eq!(refusal(&TestEnv::project().run("lock --check")), "error: `agent.lock` does not exist\n");
    // An option asks for another image, too.
    let run = project(&whole()).run("dockerfile - --locked --base-image a:1");
    assert_eq!(
        refusal(&run),
        "error: `agent.lock` is out of date:\n  - langchain/langgraph-api:3.11\n  + a:1\n"
    );
}

#[test]
fn services_are_needed_where_they_run() {
    let env = project(&text("licensed", &[(BASE, 'a')]));
    for command in ["dockerfile - --locked", "lock --check --no-services"] {
        assert_eq!(env.run(command).code, 0, "{command}");
    }
    let missing = "error: `agent.lock` is out of date:\n  + redis:6\n  + pgvector/pgvector:pg16\n";
    for command in
        ["lock --check", "compose - --locked", "manifests - --name a --image r.example/a:1 --locked"]
    {
        assert_eq!(refusal(&env.run(command)), missing, "{command}");
    }
}

#[test]
fn jobs_of_ci_services_use_a_file_that_is_there() {
    let stale = text("licensed", &[("langchain/langgraph-api:3.10", 'a')]);
    for (variable, value, is_used) in [("CI", "true", true), ("GITLAB_CI", "1", true), ("CI", "false", false)]
    {
        let run = project(&whole()).variable(variable, value).run("dockerfile -");
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(run.out.contains(&digest('a')), is_used, "{variable}={value}");
        let note =
            format!("note: agent.lock decides the images because {variable} is set; --no-lock ignores it\n");
        assert_eq!(run.err == note, is_used, "{}", run.err);
        assert_eq!(project(&stale).variable(variable, value).run("dockerfile -").code, u8::from(is_used));
        assert_eq!(project(&stale).variable(variable, value).run("dockerfile - --no-lock").code, 0);
        let without = TestEnv::project().variable(variable, value).run("dockerfile -");
        assert_eq!((without.code, &*without.err), (0, ""));
    }
}

#[test]
fn a_broken_file_is_refused_with_the_place() {
    for (from, to, error, hint) in [
        (
            "version = 1",
            "version = 7",
            "`agent.lock:1:11`: it has version 7, and this agentcli reads 1",
            "use the agentcli that wrote it, or a newer one",
        ),
        (
            "digest = ",
            "digest : ",
            "`agent.lock:8:8`: key with no value, expected `=`",
            "correct it, or remove it and run `agentcli lock`",
        ),
        (
            "sha256:a",
            "sha256:",
            "`agent.lock:8:10`: this is not `sha256:` with 64 hex digits",
            "correct it, or remove it and run `agentcli lock`",
        ),
    ] {
        let env = project(&whole().replacen(from, to, 1));
        for command in ["lock", "lock --check", "dockerfile - --locked"] {
            let run = env.run(command);
            assert_eq!(run.code, 1, "{}", run.err);
            assert_eq!(run.err, format!("error: cannot use {error}\nhint: {hint}\n"), "{command}");
        }
        assert_eq!(env.run("dockerfile -").code, 0);
    }
    let env = TestEnv::project().file("agent.lock/file", "");
    let run = env.run("plan --locked");
    assert!(
        run.code == 1 && run.err.contains("cannot use `agent.lock`: it is not a text file"),
        "{}",
        run.err
    );
}

#[test]
fn the_platforms_of_the_file_can_be_built() {
    let env = project(&whole()).variable("DOCKER_HOST", "unix:///none");
    let refused = env.run("build -t a --locked --platform linux/amd64,linux/arm64");
    assert_eq!(refused.code, 2, "{}", refused.err);
    let message = format!("the base image `{BASE}` is locked for `linux/amd64`, not for `linux/arm64`");
    assert!(refused.err.contains(&message), "{}", refused.err);
    for command in ["--locked --platform linux/amd64", "--platform linux/arm64"] {
        let run = env.run(&format!("build -t a {command}"));
        assert!(run.code == 4 && run.err.contains("unix:///none"), "{}", run.err);
    }
}

/// A file that has everything is not changed, and nobody is asked.
#[test]
fn nothing_is_locked_twice() {
    let lines = r#"{ "dockerfile_lines": ["COPY --from=registry.example/tool:1 /tool /tool"], "#;
    let text = whole().replace('\n', "\r\n");
    let env = project(&text).file("agent.json", VALID.replacen('{', lines, 1));
    let run = env.run("lock");
    assert_eq!(run.code, 0, "{}", run.err);
    let [note, last] = run.err.lines().collect::<Vec<_>>()[..] else { panic!("{}", run.err) };
    assert!(note.starts_with("note: images and files that `dockerfile_lines` take from elsewhere"), "{note}");
    assert_eq!(last, "agent.lock is up to date");
    assert_eq!(std::fs::read_to_string(env.path("agent.lock")).unwrap(), text);
}

#[test]
fn what_is_not_built_here_has_no_locked_images() {
    let env = project(&whole()).variable("AGENT_HOST_API_KEY", "key");
    let run = env.run("deploy --remote --locked");
    assert!(run.code == 2 && run.err.contains("cannot be used with"), "{}", run.err);
    let run = env.run("deploy --image a:1 --locked");
    assert!(run.code == 2 && run.err.contains("--locked is for images that are built here"), "{}", run.err);
}
