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

/// The message of a refusal with this hint.
fn refusal<'r>(run: &'r Output, hint: &str) -> &'r str {
    assert_eq!((run.code, &*run.out), (1, ""), "{}", run.err);
    let (message, actual) = run.err.rsplit_once("hint: ").unwrap();
    assert_eq!(actual.trim_end(), hint);
    message
}

/// The hint of a command that compares the file, and of those that use it.
const UNCHECKED: &str = "run the same command without --check";
const LOCK: &str = "run `agentcli lock`";

fn hint(command: &str) -> &'static str {
    if command.contains("--check") { UNCHECKED } else { LOCK }
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
        let plan = run("plan --json");
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
        assert_eq!(refusal(&run, hint(command)), base, "{command}");
    }
    let run = env.run("plan --locked --server memory");
    let server = "error: `agent.lock` is out of date:\n  - server licensed\n  + server memory 0.16.7\n  - langchain/langgraph-api:3.11\n  \
                  - pgvector/pgvector:pg16\n  - redis:6\n  + python:3.12-slim\n";
    assert_eq!(refusal(&run, "run `agentcli lock --server memory`"), server);
    let absent = TestEnv::project().run("dockerfile - --locked");
    assert_eq!(refusal(&absent, LOCK), "error: `agent.lock` does not exist\n");
    let absent = TestEnv::project().run("lock --check");
    assert_eq!(refusal(&absent, UNCHECKED), "error: `agent.lock` does not exist\n");
    // An option asks for another image, too.
    let run = project(&whole()).run("dockerfile - -c ./agent.json --locked --base-image a:1");
    assert_eq!(
        refusal(&run, "run `agentcli lock ./agent.json --base-image a:1`"),
        "error: `./agent.lock` is out of date:\n  - langchain/langgraph-api:3.11\n  + a:1\n"
    );
}

#[test]
fn services_are_needed_where_they_run() {
    let env = project(&text("licensed", &[(BASE, 'a')]));
    for command in ["dockerfile - --locked", "lock --check --no-services"] {
        assert_eq!(env.run(command).code, 0, "{command}");
    }
    let own = "--locked --secret-reference POSTGRES_URI=s/p --secret-reference REDIS_URI=s/r";
    assert_eq!(env.run(&format!("manifests - --name a --image r.example/a:1 {own}")).code, 0);
    let run = env.run("compose - --locked --postgres-uri postgres://db.example/a");
    assert_eq!(refusal(&run, LOCK), "error: `agent.lock` is out of date:\n  + redis:6\n");
    let missing = "error: `agent.lock` is out of date:\n  + redis:6\n  + pgvector/pgvector:pg16\n";
    for command in
        ["lock --check", "compose - --locked", "manifests - --name a --image r.example/a:1 --locked"]
    {
        assert_eq!(refusal(&env.run(command), hint(command)), missing, "{command}");
    }
}

/// A build that gets as far as the engine, which is not there.
const BUILD: &str = "build -t a";

#[test]
fn builds_in_jobs_of_ci_services_use_a_file_that_is_there() {
    let stale = text("licensed", &[("langchain/langgraph-api:3.10", 'a')]);
    for (variable, value, is_used) in [("CI", "true", true), ("GITLAB_CI", "1", true), ("CI", "false", false)]
    {
        let job = |env: TestEnv| env.variable(variable, value).variable("DOCKER_HOST", "unix:///none");
        let run = job(project(&whole())).run(BUILD);
        assert_eq!(run.code, 4, "{}", run.err);
        let note = format!(
            "note: using the images of agent.lock because {variable} is set; pass --no-lock to ignore it\n"
        );
        assert_eq!(run.err.contains(&note), is_used, "{}", run.err);
        assert_eq!(job(project(&stale)).run(BUILD).code, if is_used { 1 } else { 4 });
        assert_eq!(job(project(&stale)).run("build -t a --no-lock").code, 4);
        let without = job(TestEnv::project()).run(BUILD);
        assert!(without.code == 4 && !without.err.contains("agent.lock"), "{}", without.err);
    }
}

#[test]
fn written_files_are_the_same_in_jobs_of_ci_services() {
    for (option, other) in [("", "--locked"), ("--locked", "")] {
        let env = project(&whole()).variable("DOCKER_HOST", "unix:///none");
        let files = [("compose", "compose.yaml"), ("dockerfile", "Dockerfile")];
        for (command, file) in files {
            assert_eq!(env.run(&format!("{command} {option} {file}")).code, 0);
        }
        let job = env.variable("CI", "true");
        for (command, file) in files {
            let check = |option: &str| job.run(&format!("{command} {option} --check {file}"));
            assert_eq!(check(option).code, 0, "{command} {option}");
            assert_eq!(check(other).code, 1, "{command} {option}");
        }
        // The digests of the images are no reason to write it again.
        for build in [BUILD, "build -t a --locked"] {
            let run = job.run(build);
            assert!(run.code == 4 && !run.err.contains("out of date"), "{}", run.err);
        }
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
            "`agent.lock:8:10`: invalid digest; expected `sha256:` and 64 hex digits",
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
    for command in
        ["--locked --platform linux/amd64", "--locked --platform linux/x86_64", "--platform linux/arm64"]
    {
        let run = env.run(&format!("build -t a {command}"));
        assert!(run.code == 4 && run.err.contains("unix:///none"), "{}", run.err);
    }
}

#[test]
fn what_cannot_be_locked_is_refused() {
    let env = project(&whole()).file("agents/agent.json", VALID);
    let run = env.run("lock --upgrade agents/agent.json");
    let hint = "hint: name the configuration first: `agentcli lock agents/agent.json --upgrade`\n";
    assert!(run.code == 2 && run.err.ends_with(hint), "{}", run.err);
    let run = env.run("lock --upgrade redis --no-services");
    let message = format!("error: --upgrade: agent.lock has no image `redis`\nhint: name one of `{BASE}`\n");
    assert_eq!((run.code, run.err), (2, message));
    assert_eq!(std::fs::read_to_string(env.path("agent.lock")).unwrap(), whole());
    let run = env.run(&format!("lock --base-image a@sha512:{}", "0".repeat(128)));
    assert!(run.code == 2 && run.err.contains("its digest is not of SHA-256"), "{}", run.err);
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
