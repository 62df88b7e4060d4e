//! The checks of the server's protocol in the directory that AGENTCLI_PROTOCOL names, with one and with three pods on one
//! database.

use std::fs::{self, File};
use std::process::Stdio;

use super::{Place, beside_others, load, replace, succeeds};
use crate::engine::hosts;
use crate::harness::{TestEnv, copy, outside};
use crate::registry::Registry;

/// The project of the checks.
fn project() -> TestEnv {
    let env = TestEnv::empty();
    copy(&outside("AGENTCLI_PROTOCOL").join("project"), &env.path("."));
    fs::rename(env.path("langgraph.json"), env.path("agent.json")).unwrap();
    // Python 3.11 has no schema of the other one.
    for file in ["graph.py", "more.py"] {
        replace(&env.path(file), "from typing import TypedDict", "from typing_extensions import TypedDict");
    }
    env
}

/// The checks that fail, from inside of a pod of the revision, where webhooks of all pods reach them.
fn failed(place: &Place, revision: u32) -> Vec<String> {
    let labels = format!("app.kubernetes.io/component=server,agentcli/revision={revision}");
    let pods = place.get(&["pods", "-l", &labels]);
    let pod = &pods["items"][0];
    let address = pod["status"]["podIP"].as_str().unwrap();
    let checks = fs::read_to_string(outside("AGENTCLI_PROTOCOL").join("sdk_checks.py")).unwrap();
    assert_eq!(checks.matches("127.0.0.1").count(), 2);
    let program = place.record.path().join("checks.py");
    fs::write(&program, checks.replace("127.0.0.1", address)).unwrap();
    let name = pod["metadata"]["name"].as_str().unwrap();
    let mut command = place.kubectl_command(&["exec", "-i", name, "--", "python3", "-", "http://checks"]);
    let answer = succeeds(command.stdin(File::open(program).unwrap()).stderr(Stdio::piped()));
    eprintln!("{answer}");
    let failed: Vec<String> =
        answer.lines().filter_map(|line| line.strip_prefix("  - ")).map(str::to_owned).collect();
    assert!(answer.contains(&format!("ok {} of 78", 78 - failed.len())), "{answer}");
    failed
}

#[test]
fn one_and_three_pods_on_a_database_pass_all_checks() {
    let _turn = beside_others();
    let registry = Registry::start_open();
    load(&hosts().pop().unwrap(), &[], &["pgvector/pgvector:pg16", "redis:6"]);
    let place = Place::new("protocol", project());
    let words = format!("--name checks --server pg --push-to {}/checks --no-pull --yes", registry.address);
    place.succeeds(&words);
    assert_eq!(failed(&place, 1), Vec::<String>::new());
    place.succeeds("update checks --resource min_scale=3 --yes");
    assert_eq!(failed(&place, 2), Vec::<String>::new());
    // It is built and pushed, and is what serves.
    assert!(place.succeeds(&words).contains("revision 2 is up to date"));
}
