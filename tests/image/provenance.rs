//! `agentcli build --push --provenance`: a statement in the registry of what an image was built from.

use std::fs;

use serde_json::{Value, json};

use super::Copy;
use super::push::Stage;
use super::sbom::attached;
use crate::engine::{BASE, hosts_for, try_docker};
use crate::host::git_server::git;
use crate::registry::{PASSWORD, Registry};

const STATEMENT: &str = "application/vnd.in-toto+json";

/// Values that no statement may have.
const SECRETS: [&str; 4] = ["of-an-argument", "of-a-secret", "of-the-env", "of-the-remote"];

/// The statements about the image with this digest.
fn statements(registry: &Registry, digest: &str) -> Vec<Value> {
    let json = |path: &str| -> Value { serde_json::from_slice(&registry.get("team/agent", path)).unwrap() };
    let statement = |entry: &Value| {
        assert_eq!(entry["artifactType"], STATEMENT);
        assert_eq!(entry["annotations"]["in-toto.io/predicate-type"], "https://slsa.dev/provenance/v1");
        let manifest = json(&format!("manifests/{}", entry["digest"].as_str().unwrap()));
        assert_eq!(manifest["subject"]["digest"], digest);
        assert_eq!(manifest["annotations"], entry["annotations"]);
        assert_eq!(manifest["layers"][0]["mediaType"], STATEMENT);
        json(&format!("blobs/{}", manifest["layers"][0]["digest"].as_str().unwrap()))
    };
    attached(registry, digest).iter().map(statement).collect()
}

#[test]
fn a_statement_says_what_an_image_was_built_from() {
    let host = hosts_for("provenance").remove(0);
    let registry = Registry::start();
    let address = &registry.address;
    let stage = Stage::new(Copy::of("hello"), &host, address, PASSWORD);
    let root = stage.copy.directory.path();
    stage.copy.configure(&json!({
        "env": { "TOKEN": "of-the-env" },
        "dockerfile_lines": ["ARG WORD", "RUN --mount=type=secret,id=key test -n \"$WORD\""],
    }));
    fs::write(root.join("key"), "of-a-secret").unwrap();
    fs::write(root.join(".dockerignore"), "key\n.git\nignored\n").unwrap();
    git(root, &["init", "-q"]);
    git(root, &["add", "-A", "."]);
    git(root, &["reset", "-q", "key"]);
    git(root, &["commit", "-q", "-m", "a"]);
    git(root, &["remote", "add", "origin", "https://ada:of-the-remote@git.example/team/agent.git"]);
    let commit = git(root, &["rev-parse", "HEAD"]);
    let (base, local) = (stage.push_base(&registry), format!("{address}/local:1"));
    stage.docker(&host, &["tag", BASE, &local]);
    // Files that the image does not get are not of interest.
    fs::create_dir(root.join("ignored")).unwrap();
    fs::write(root.join("ignored/file"), "").unwrap();

    let agent = format!("{address}/team/agent");
    let options = "--no-pull --build-arg WORD=of-an-argument --secret id=key,src=key --label one=1";
    let build = |tag: &str, base: &str, more: &str| {
        format!("build --push --provenance -t {agent}:{tag} --base-image {base} {options} {more}")
    };
    let built = stage.run(&build("1", &base, &format!("-t {agent}:2")));
    assert_eq!(built.code, 0, "{}", built.err);
    assert_eq!(built.out.lines().count(), 2, "{}", built.out);
    let digest = registry.digest("team/agent", "1").unwrap();
    let found = statements(&registry, &digest);
    let [statement] = &found[..] else { panic!("{found:#?}") };
    let predicate = &statement["predicate"]["buildDefinition"];
    let hashes = [
        &predicate["externalParameters"]["configuration"]["sha256"],
        &predicate["internalParameters"]["dockerfile"]["sha256"],
    ];
    assert!(hashes.iter().all(|hash| hash.as_str().is_some_and(|it| it.len() == 64)), "{statement:#}");
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": agent, "digest": { "sha256": digest.trim_start_matches("sha256:") } }],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:agentcli:build:1",
                "externalParameters": {
                    "configuration": { "path": "agent.json", "sha256": hashes[0] },
                    "server": "licensed",
                    "options": {
                        "add-host": [],
                        "build-arg": ["WORD"],
                        "label": { "one": "1" },
                        "network": null,
                        "no-cache": false,
                        "no-engine": false,
                        "platform": null,
                        "secret": ["key"],
                        "source-date-epoch": null,
                        "ssh": [],
                    },
                },
                "internalParameters": { "dockerfile": { "sha256": hashes[1] } },
                "resolvedDependencies": [
                    {
                        "name": "source",
                        "uri": format!("git+https://git.example/team/agent.git@{commit}"),
                        "digest": { "gitCommit": commit },
                    },
                    {
                        "name": "base image",
                        "uri": format!("pkg:docker/{}/base@1", address.replace(':', "%3A")),
                        "digest": { "sha256": registry.digest("base", "1").unwrap().trim_start_matches("sha256:") },
                    },
                ],
            },
            "runDetails": {
                "builder": {
                    "id": format!("pkg:generic/agentcli@{version}"),
                    "version": { "agentcli": version },
                },
            },
        },
    });
    assert_eq!(*statement, expected);
    // The same again is the same statement.
    assert_eq!(stage.run(&build("1", &base, "")).code, 0);
    assert_eq!(statements(&registry, &digest).len(), 1);

    // An edit without an engine: from the image above, of no commit.
    fs::write(root.join("more.txt"), "new").unwrap();
    let replaced = stage.alone(&build("3", &base, &format!("--no-engine --from {agent}:1")));
    assert_eq!(replaced.code, 0, "{}", replaced.err);
    let reason = "the provenance names no commit: files of the build context are not committed";
    assert!(replaced.err.contains(reason), "{}", replaced.err);
    let found = statements(&registry, &registry.digest("team/agent", "3").unwrap());
    let predicate = &found[0]["predicate"]["buildDefinition"];
    assert_eq!(predicate["externalParameters"]["options"]["no-engine"], true);
    let dependencies = predicate["resolvedDependencies"].as_array().unwrap();
    let names: Vec<_> = dependencies.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["base image", "former image"]);
    assert_eq!(dependencies[0], expected["predicate"]["buildDefinition"]["resolvedDependencies"][1]);
    assert_eq!(dependencies[1]["digest"]["sha256"], digest.trim_start_matches("sha256:"));

    // A base image that no registry has.
    let uncertain = stage.run(&build("4", &local, ""));
    assert_eq!(uncertain.code, 0, "{}", uncertain.err);
    assert!(
        uncertain.err.contains(&format!("the provenance has no digest of `{local}`")),
        "{}",
        uncertain.err
    );
    let digest = registry.digest("team/agent", "4").unwrap();
    let others = statements(&registry, &digest);
    let dependency = &others[0]["predicate"]["buildDefinition"]["resolvedDependencies"][0];
    assert!(dependency["uri"].as_str().unwrap().ends_with("/local@1") && dependency["digest"].is_null());
    let all = format!("{expected}{found:?}{others:?}");
    SECRETS.iter().for_each(|secret| assert!(!all.contains(secret), "{secret}: {all}"));
    // BuildKit shows the arguments of a build in the names of its steps.
    let said = [built.err, replaced.err, uncertain.err].concat();
    SECRETS[1..].iter().for_each(|secret| assert!(!said.contains(secret), "{secret}: {said}"));

    for name in ["1", "2", "4"].map(|tag| format!("{agent}:{tag}")).iter().chain([&base, &local]) {
        drop(try_docker(&host, &["rmi", name]));
    }
}
