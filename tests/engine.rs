//! The engine room, on real engines: those that AGENTCLI_TEST_ENGINES names.

mod build;
mod connect;
mod credentials;
mod endless;
mod fake;
mod fresh;
mod ignore;
mod progress;
mod push;
mod sources;

use std::future::Future;
use std::path::Path;

use agentcli::compiler::manifests::dockerignore::Ignore;
use agentcli::context::Context;
use agentcli::engine::{BuildEvent, BuildRequest, Built, Engine, EngineEnv, Error, Settings};

use crate::harness::is_long;

/// The image with a shell that every test engine has.
pub(crate) const BASE: &str = "langchain/langgraph-api:3.11";

/// The addresses of the engines to test with.
pub(crate) fn hosts() -> Vec<String> {
    let hosts = std::env::var("AGENTCLI_TEST_ENGINES").unwrap_or_default();
    let hosts: Vec<String> = hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect();
    assert!(!hosts.is_empty(), "AGENTCLI_TEST_ENGINES is not set; run tests/run");
    hosts
}

/// Returns one of the engines for a test about the project and not about the engine, so that such tests are spread over
/// them; all engines in the long tests.
pub(crate) fn hosts_for(subject: &str) -> Vec<String> {
    let hosts = hosts();
    if is_long() {
        return hosts;
    }
    let sum: usize = subject.bytes().map(usize::from).sum();
    vec![hosts[sum % hosts.len()].clone()]
}

fn env(host: &str) -> EngineEnv {
    EngineEnv { host: Some(host.to_owned()), ..EngineEnv::default() }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A request to build `dockerfile` with the files of `root`.
pub(crate) fn request(root: &Path, dockerfile: &str) -> BuildRequest {
    BuildRequest {
        context: Context {
            root: root.to_owned(),
            ignore: Ignore::default(),
            extra: vec![("Dockerfile".to_owned(), dockerfile.as_bytes().to_vec())],
            configurations: Vec::new(),
        },
        dockerfile: "Dockerfile".to_owned(),
        configuration: None,
        tags: Vec::new(),
        platform: None,
        pull: false,
        no_cache: false,
        images: Vec::new(),
        images_known: false,
        steps: Vec::new(),
        settings: Settings::default(),
    }
}

/// Builds an image.
pub(crate) fn build(host: &str, request: BuildRequest) -> (Result<Built, Error>, Vec<BuildEvent>) {
    let mut events = Vec::new();
    let built = wait(async {
        let engine = Engine::connect(&env(host)).await.unwrap();
        engine.build(request, |event| events.push(event)).await
    });
    (built, events)
}

/// The output of a `docker` command.
pub(crate) fn docker(host: &str, arguments: &[&str]) -> String {
    try_docker(host, arguments).unwrap_or_else(|error| panic!("docker {arguments:?}: {error}"))
}

/// The output of `program` in a container of an image, the last of these arguments of `docker run`. A busy engine may lose the
/// output of a container that ends at once, so its end is marked, and the program runs again where the mark is missing.
pub(crate) fn output_in(host: &str, arguments: &[&str], program: &[&str]) -> String {
    const END: &str = "end of output\n";
    let script = format!("\"$@\" && printf '{}'", END.escape_default());
    let command =
        [&["run", "--rm", "--entrypoint", "sh"], arguments, &["-c", &script, "sh"], program].concat();
    let mut outputs = (0..5).map(|_| docker(host, &command));
    let complete = outputs.find_map(|output| output.strip_suffix(END).map(str::to_owned));
    complete.unwrap_or_else(|| panic!("the output of {program:?} is lost"))
}

/// Removes the containers, networks and volumes that have a label.
pub(crate) fn remove_labelled(host: &str, label: &str) {
    let filter = format!("label={label}");
    for (list, remove) in [
        (&["ps", "-aq"][..], &["rm", "-f", "-v"][..]),
        (&["network", "ls", "-q"], &["network", "rm"]),
        (&["volume", "ls", "-q"], &["volume", "rm"]),
    ] {
        let found = try_docker(host, &[list, &["--filter", &filter]].concat()).unwrap_or_default();
        for id in found.lines() {
            try_docker(host, &[remove, &[id]].concat()).ok();
        }
    }
}

/// The output of a `docker` command, or its errors if it fails.
pub(crate) fn try_docker(host: &str, arguments: &[&str]) -> Result<String, String> {
    let output = std::process::Command::new("docker").args(["-H", host]).args(arguments).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// A number that no earlier run has used, so that nothing is cached.
fn fresh() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}
