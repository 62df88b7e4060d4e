//! `build --verify`: the same project makes the same files, whatever is cached.

use std::fs;

use serde_json::{Value, json};

use super::{Copy, docker, hosts};
use crate::harness::{TestEnv, is_long};

/// Fixtures whose images have packages of uv and pip. In images of the JavaScript server, the TypeScript loader leaves a
/// cache in /tmp that differs at times.
const PROJECTS: [(&str, &str); 2] = [("hello", "uv"), ("requirements-only", "pip")];

#[test]
fn a_build_without_a_cache_has_the_same_files() {
    for (number, (fixture, installer)) in PROJECTS.into_iter().enumerate() {
        let host = &hosts()[number % hosts().len()];
        let project = Copy::of(fixture);
        if installer == "pip" {
            project.configure(&json!({ "pip_installer": "pip" }));
        }
        let tag = format!("agentcli-test-verify-{installer}");
        let built = project.build(host, &tag, "");
        assert_eq!(built.code, 0, "{}", built.err);
        let env = TestEnv::inside(project.directory.path()).variable("DOCKER_HOST", host);
        let verify = format!("build --no-pull --verify {tag}");
        let same = env.run(&format!("{verify} --progress json"));
        assert_eq!(same.code, 0, "{fixture}: {}", same.err);
        let last: Value = serde_json::from_str(same.out.lines().last().unwrap()).unwrap();
        assert_eq!((&last["event"], &last["image"]), (&json!("verified"), &json!(tag)));
        assert!(last["files"].as_u64().unwrap() > 10_000, "{last}");
        assert!(!docker(host, &["images"]).contains("agentcli-verify"));
        // The report of differences is the same for both installers.
        if installer == "pip" && !is_long() {
            continue;
        }

        fs::write(project.directory.path().join("added.txt"), "").unwrap();
        project.configure(&json!({ "dockerfile_lines": ["ENV ADDED=1"] }));
        let other = env.run(&verify);
        assert_eq!(other.code, 1, "{fixture}: {}{}", other.out, other.err);
        for line in [
            format!("error: `{tag}` is not what this project builds now:\n"),
            "\n  ~ Env of the image\n".to_owned(),
            "\n  + /deps/app/added.txt\n".to_owned(),
            "\n  ~ /deps/app/agent.json: content\n".to_owned(),
        ] {
            assert!(other.err.contains(&line), "{fixture}: {line} is missing in {}", other.err);
        }
        assert!(!docker(host, &["images"]).contains("agentcli-verify"));
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let host = &hosts()[0];
    let env = TestEnv::project().variable("DOCKER_HOST", host);
    let absent = env.run("build --verify agentcli-test-absent");
    assert!(absent.code == 1 && absent.err.contains("there is no local image"), "{}", absent.err);
    for options in ["-t a --verify b", "--verify b --push", "--verify b --why", "--verify b --no-cache"] {
        assert_eq!(env.run(&format!("build {options}")).code, 2, "{options}");
    }
    let several = env.run("build --verify a --platform linux/amd64,linux/arm64");
    assert!(several.code == 2 && several.err.contains("--verify compares one image"), "{}", several.err);
}
