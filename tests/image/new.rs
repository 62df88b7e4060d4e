//! The projects of `agentcli new` as images.

use tempfile::TempDir;

use super::{Container, Copy};
use crate::engine::hosts_for;
use crate::harness::TestEnv;
use crate::new::{EXAMPLES, Example};

#[test]
fn projects_build_and_run() {
    for Example { template, directory, graph, input, output } in EXAMPLES {
        let project = Copy { directory: TempDir::new().unwrap() };
        let created = TestEnv::inside(project.directory.path()).run(&format!("new --template {template}"));
        assert_eq!(created.code, 0, "{template}: {}", created.err);
        for host in hosts_for(template) {
            let tag = format!("agentcli-test-new-{template}-{graph}");
            let built = project.build(&host, &tag, &format!("-c {directory}/agent.json"));
            assert_eq!(built.code, 0, "{template} on {host}: {}{}", built.out, built.err);
            let container = Container::start(&host, &tag);
            let answer = container.run_with(graph, &serde_json::from_str(input).unwrap());
            assert!(answer.to_string().contains(output), "{template} on {host}: {answer}");
        }
    }
}
