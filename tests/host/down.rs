//! A service with a deployment on a real engine: what a failed revision tells, and what `host down` removes.

use std::fs;

use tempfile::TempDir;

use super::runner::OwnHost;
use super::service::{Host, KEY};
use crate::engine::{docker, hosts};
use crate::harness::{TestEnv, copy, fixtures};

/// Names of what the engine has of a host, by kind.
fn left(own: &OwnHost, kind: &[&str], format: &str) -> Vec<String> {
    let label = format!("label=agentcli.host={}", own.id);
    let listed = docker(&own.engine, &[kind, &["--filter", &label, "--format", format]].concat());
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn a_failed_revision_is_told_and_everything_can_be_removed() {
    let engine = hosts().remove(0);
    let host = Host::on_engine(&engine);
    let own = OwnHost { engine: engine.clone(), id: host.id(), directory: TempDir::new().unwrap() };
    // The last one is dropped first: while the host runs, it may start its databases again.
    let (own, host) = (own, host);
    let project = TestEnv::empty()
        .file(".env", "PLAIN=value\n")
        .variable("AGENT_HOST_URL", &host.url())
        .variable("AGENT_HOST_API_KEY", KEY)
        .variable("DOCKER_HOST", &engine);
    copy(&fixtures("databases"), &project.path("."));
    let name = own.name();
    let deploy = || project.run(&format!("deploy --name {name} --remote --yes"));
    let output = deploy();
    assert_eq!(output.code, 0, "{}", output.err);

    let graph = project.path("graph.py");
    let text = fs::read_to_string(&graph).unwrap();
    fs::write(&graph, format!("import os\n\nKEY = os.environ[\"SHOP_KEY\"]\n{text}")).unwrap();
    let output = deploy();
    assert_eq!(output.code, 1, "{}", output.err);
    let told: Vec<&str> = output.err.lines().collect();
    let [.., status, note, error, hint] = &told[..] else { panic!("{}", output.err) };
    assert!(status.contains("DEPLOY_FAILED"), "{}", output.err);
    assert!(
        note.starts_with(&format!("note: revision 1 still serves at http://{name}.localhost:")),
        "{note}"
    );
    assert!(
        error.starts_with(&format!(
            "error: revision 2 of `{name}` did not start: the server exited with code "
        )),
        "{error}"
    );
    assert!(error.ends_with(": graph.py:3: KeyError: 'SHOP_KEY'"), "{error}");
    assert!(hint.starts_with("hint: run `agentcli deploy logs "), "{hint}");

    let data = host.data().display().to_string();
    let refused = project.run(&format!("host down --all --data {data}"));
    assert!(refused.code != 0 && refused.err.contains("stop it, or choose another directory"), "{refused:?}");
    let containers = || left(&own, &["ps", "-a"], "{{.Names}}");
    let servers = || containers().into_iter().filter(|it| it.contains(&name)).count();
    let images = || {
        let below = format!("reference=agentcli-host-{}/*", own.id);
        docker(&engine, &["images", "--filter", &below, "--format", "{{.Repository}}:{{.Tag}}"])
            .lines()
            .count()
    };
    assert!(servers() > 0 && images() > 0, "{:?}", containers());
    let stopped = host.stop();
    let data = stopped.path().display().to_string();
    let down = |options: &str| {
        let output = project.run(&format!("host down --data {data} {options}"));
        assert_eq!(output.code, 0, "{options}: {output:?}");
        output
    };
    down("");
    assert_eq!(servers(), 0, "{:?}", containers());
    assert_eq!(containers().len(), 2, "the databases run on: {:?}", containers());
    let output = down("--all");
    assert_eq!(
        (containers(), left(&own, &["network", "ls"], "{{.Name}}"), images()),
        (Vec::new(), Vec::new(), 0)
    );
    let volumes = || left(&own, &["volume", "ls"], "{{.Name}}");
    let [volume] = &volumes()[..] else { panic!("{:?}", volumes()) };
    assert!(
        output.err.contains(&format!("stays in the volume {volume}; --volumes removes it")),
        "{output:?}"
    );
    assert_eq!(down("--all --volumes").out, "removed 1 volume\n");
    assert_eq!(volumes(), [""; 0]);
    assert_eq!(down("--all --volumes").out, "nothing to remove\n");
    assert_eq!(project.run("host down --data nowhere").code, 2);
}
