//! SOURCE_DATE_EPOCH: one tree, one digest.

use std::fs;
use std::process::Command;

use super::Copy;
use super::push::Stage;
use crate::engine::{docker, hosts, output_in};
use crate::harness::TestEnv;
use crate::registry::{PASSWORD, Registry};

const NAME: &str = "agentcli-test-digest";
const TIME: (&str, &str) = ("SOURCE_DATE_EPOCH", "1700000000");

/// Builds the same project in another directory, with other times and `permissions` of its files; returns the ID, the time of
/// the image, and what was said.
fn build(host: &str, permissions: &str, options: &str) -> (String, String, String) {
    let project = Copy::of("hello");
    let chmod = Command::new("chmod").args(["-R", permissions]).arg(project.directory.path()).status();
    assert!(chmod.unwrap().success());
    let env = TestEnv::inside(project.directory.path());
    let env = env.variable("DOCKER_HOST", host).variable(TIME.0, TIME.1);
    let built = env.run(&format!("build --no-pull -t {NAME} {options}"));
    assert_eq!(built.code, 0, "{}", built.err);
    let format = "{{.Id}} {{.Created}}";
    let shown = docker(host, &["image", "inspect", "-f", format, NAME]);
    docker(host, &["rmi", "-f", NAME]);
    let (id, created) = shown.trim().split_once(' ').unwrap();
    (id.to_owned(), created.to_owned(), built.err)
}

/// Docker's own image store keeps the times of files, which a warning says.
#[test]
fn one_tree_has_one_digest_where_the_engine_sets_the_times_of_files() {
    for host in hosts() {
        let sets_times = docker(&host, &["info", "-f", "{{.DriverStatus}}"]).contains("containerd");
        let options = if sets_times { "--no-cache" } else { "" };
        let (id, created, said) = build(&host, "u=rwX,go=rX", options);
        let warns = said.contains("warning: SOURCE_DATE_EPOCH does not set the times of files");
        assert_eq!(warns, !sets_times, "{host}: {said}");
        if sets_times {
            assert_eq!(created, "2023-11-14T22:13:20Z", "{host}");
            assert_eq!(build(&host, "go=", options).0, id, "{host}");
            push_with_an_engine_and_without(&host);
        }
    }
}

/// Pushes an image and one of an edited source, each with the engine and from the first without it. The second project has
/// files that are copied before the source, too.
fn push_with_an_engine_and_without(host: &str) {
    for (fixture, source) in [("hello", "src/hello/graph.py"), ("requirements-only", "agent.py")] {
        push_project(host, fixture, source);
    }
}

fn push_project(host: &str, fixture: &str, source: &str) {
    let registry = Registry::start();
    let address = &registry.address;
    let stage = Stage::new(Copy::of(fixture), host, address, PASSWORD).variable(TIME.0, TIME.1);
    let base = stage.push_base(&registry);
    let image = |tag: &str| format!("{address}/team/agent:{tag}");
    let push = |tag: &str, options: &str| {
        let arguments = format!("build --push -t {} --base-image {base} {options}", image(tag));
        let pushed =
            if options.contains("--no-engine") { stage.alone(&arguments) } else { stage.run(&arguments) };
        assert_eq!(pushed.code, 0, "{}", pushed.err);
        let digest = registry.digest("team/agent", tag).unwrap();
        assert!(pushed.out.ends_with(&format!("{address}/team/agent@{digest}\n")), "{}", pushed.out);
        digest
    };
    let alone = format!("--no-engine --from {}", image("1"));
    let first = push("1", "--no-pull --no-cache");
    assert_eq!(push("2", &alone), first);
    let file = stage.copy.directory.path().join(source);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, format!("{text}\n# edited\n")).unwrap();
    let edited = push("3", "--no-pull --no-cache");
    assert_ne!(edited, first);
    assert_eq!(push("4", &alone), edited);
    docker(host, &["rmi", "-f", &image("3")]);
    stage.docker(host, &["pull", "-q", &image("3")]);
    let last = format!("/deps/app/{source}");
    let shown = output_in(host, &[&image("3")], &["tail", "-n", "1", &last]);
    assert_eq!(shown, "# edited\n");
    docker(host, &["rmi", "-f", &base, &image("1"), &image("3")]);
}
