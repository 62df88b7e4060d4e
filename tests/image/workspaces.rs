//! Projects in JavaScript workspaces, installed with the real package managers.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Container, Copy, found_in};
use crate::engine::{docker, hosts, hosts_for};
use crate::harness::wheel::write_wheel;
use crate::harness::{Output, TestEnv};

/// The member with the configuration.
pub(crate) const MEMBER: &str = "apps/agent";

/// Rewrites a copy of `workspace-pnpm` at `root` for another package manager, with a lock file by it.
pub(crate) fn rewrite_for(manager: &str, root: &Path) {
    for file in ["pnpm-workspace.yaml", "pnpm-lock.yaml"] {
        fs::remove_file(root.join(file)).unwrap();
    }
    fs::remove_dir_all(root.join("packages/drafts")).unwrap();
    let members = json!(["apps/*", "packages/*"]);
    let members = if ["npm", "bun"].contains(&manager) { members } else { json!({ "packages": members }) };
    let mut manifest = json!({ "private": true, "workspaces": members });
    if manager == "yarn-4" {
        manifest["packageManager"] = json!("yarn@4.9.1");
        // Else it takes the directory for a part of the project around it, if there is one.
        fs::write(root.join("yarn.lock"), "").unwrap();
    }
    fs::write(root.join("package.json"), manifest.to_string()).unwrap();
    let member = root.join(MEMBER).join("package.json");
    let text = fs::read_to_string(&member).unwrap().replace("workspace:*", "*");
    fs::write(member, text).unwrap();
    let lock: &[&str] = match manager {
        "npm" => &["npm", "install", "--package-lock-only", "--no-audit", "--no-fund"],
        "bun" => &["npx", "--yes", "bun@1", "install", "--lockfile-only"],
        "yarn" => &["npx", "--yes", "yarn@1.22.22", "install", "--non-interactive"],
        _ => &["npx", "--yes", "@yarnpkg/cli-dist@4.9.1", "install"],
    };
    // Where CI is set, Yarn does not write a lock file; and Node.js does not know the machine's certificates by itself.
    let mut command = Command::new(lock[0]);
    let command = command.args(&lock[1..]).env("YARN_ENABLE_IMMUTABLE_INSTALLS", "false");
    let command = command.env("NODE_EXTRA_CA_CERTS", "/etc/ssl/certs/ca-certificates.crt");
    let output = command.current_dir(root).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    for directory in ["node_modules", ".yarn"] {
        fs::remove_dir_all(root.join(directory)).ok();
    }
    for file in [".pnp.cjs", ".pnp.loader.mjs"] {
        fs::remove_file(root.join(file)).ok();
    }
}

fn build(project: &Copy, host: &str, tag: &str) -> Output {
    let env = TestEnv::inside(&project.directory.path().join(MEMBER)).variable("DOCKER_HOST", host);
    env.run(&format!("build -t {tag} --no-pull"))
}

/// Builds and runs the workspace, and builds it again after an edit of another member.
fn assert_runs(manager: &str, install: &str, hosts: &[String]) {
    for host in hosts {
        let project = Copy::of("workspace-pnpm");
        let root = project.directory.path();
        if manager != "pnpm" {
            rewrite_for(manager, root);
        }
        let tag = format!("agentcli-test-workspace-{manager}");
        let built = build(&project, host, &tag);
        assert_eq!(built.code, 0, "{manager} on {host}: {}", built.err);
        let greeting = |image: &Container| image.run("agent")["greeting"].clone();
        let container = Container::start(host, &tag);
        assert_eq!(greeting(&container), "Hello, Ada!", "{manager} on {host}");
        // Only another member, and not the root, requires this package.
        let found = container.shell("find /deps/app -type d -name is-odd -not -path '*/is-odd/*' | wc -l");
        let is_focused = ["pnpm", "npm", "yarn-4"].contains(&manager);
        assert_eq!(found.trim() == "0", is_focused, "{manager} on {host}: {found}");

        let source = root.join("packages/shared/src/index.ts");
        let text = fs::read_to_string(&source).unwrap();
        // The oldest engine can lose a step that was built beside others ("index pointing to missing record" in its log),
        // so that a build after an edit runs it once more, even twice in a row.
        let loses_steps = docker(host, &["version", "-f", "{{.Server.Version}}"]).starts_with("20.");
        let edits = if loses_steps { 5 } else { 2 };
        let is_cached = |word: &&str| {
            fs::write(&source, text.replace("Hello", word)).unwrap();
            let built = build(&project, host, &tag);
            let step = built.err.lines().find(|line| line.contains(install)).unwrap_or_default();
            step.trim_start().starts_with("cached")
        };
        let word = ["Salut", "Bonjour", "Hola", "Ciao", "Ahoj"].into_iter().take(edits).find(is_cached);
        let word =
            word.unwrap_or_else(|| panic!("{manager} on {host}: `{install}` ran again after each edit"));
        let expected = Value::from(format!("{word}, Ada!"));
        assert_eq!(greeting(&Container::start(host, &tag)), expected, "{manager}");
    }
}

/// A name that no index has would fail if one were asked for it.
#[test]
fn a_wheel_of_the_project_is_installed() {
    for (installer, requirement, more) in [
        (
            "uv",
            "agentcli-absent-wheel>=1",
            "[tool.uv.sources]\nagentcli-absent-wheel = {path = 'dist/WHEEL'}\n",
        ),
        ("pip", "agentcli-absent-wheel @ file:dist/WHEEL", ""),
    ] {
        for host in hosts_for(installer) {
            let project = Copy::of("hello");
            let root = project.directory.path();
            let wheel = write_wheel(&root.join("dist"), "agentcli_absent_wheel");
            let name = wheel.file_name().unwrap().to_str().unwrap();
            let manifest = fs::read_to_string(root.join("pyproject.toml")).unwrap();
            let manifest = manifest.replace("]\n\n[tool", &format!(", \"{requirement}\"]\n\n[tool")) + more;
            fs::write(root.join("pyproject.toml"), manifest.replace("WHEEL", name)).unwrap();
            let graph = fs::read_to_string(root.join("src/hello/graph.py")).unwrap();
            fs::write(root.join("src/hello/graph.py"), format!("import agentcli_absent_wheel\n{graph}"))
                .unwrap();
            project.configure(&json!({ "pip_installer": installer }));
            let tag = "agentcli-test-wheel-of-project";
            let built = project.build(host.as_str(), tag, "");
            assert_eq!(built.code, 0, "{installer} on {host}: {}", built.err);
            assert_eq!(Container::start(&host, tag).run("agent")["greeting"], "Hello, Ada!", "{installer}");
        }
    }
}

#[test]
fn a_pnpm_workspace_runs() {
    assert_runs("pnpm", "pnpm i --frozen-lockfile", &hosts_for("pnpm"));
}

#[test]
fn an_npm_workspace_runs() {
    assert_runs("npm", "npm ci", &hosts()[..1]);
}

#[test]
fn a_yarn_workspace_runs() {
    assert_runs("yarn", "yarn install --frozen-lockfile", &hosts()[..1]);
}

/// It installs no node_modules by itself, and Yarn 1 refuses the project.
#[test]
fn a_workspace_of_yarn_4_runs() {
    assert_runs("yarn-4", "npx --yes @yarnpkg/cli-dist@4.9.1", &hosts()[..1]);
}

/// The base image does not have the program.
#[test]
fn a_bun_workspace_runs() {
    assert_runs("bun", "bun i --frozen-lockfile", &hosts()[..1]);
}

#[test]
fn credentials_of_package_managers_are_in_no_layer() {
    let host = &hosts()[0];
    for (name, settings) in [
        (".npmrc", "//localhost:1/:_authToken=SECRET\n"),
        (".yarnrc.yml", "nodeLinker: node-modules\nnpmScopes:\n  absent:\n    npmAuthToken: SECRET\n"),
        ("bunfig.toml", "[install.scopes]\nabsent = { token = 'SECRET', url = 'http://localhost:1/' }\n"),
    ] {
        let project = match name {
            ".npmrc" => Copy::of("javascript"),
            _ => Copy::of("workspace-pnpm"),
        };
        let root = project.directory.path();
        let file = root.join(name);
        let secret = format!("secret-token-{:016x}", fastrand::u64(..));
        let known = fs::read_to_string(&file).unwrap_or_default();
        let tag = "agentcli-test-npm-secrets";
        let built = match name {
            ".npmrc" => {
                fs::write(&file, known + &settings.replace("SECRET", &secret)).unwrap();
                project.build(host, tag, "")
            }
            _ => {
                rewrite_for(if name == "bunfig.toml" { "bun" } else { "yarn-4" }, root);
                fs::write(&file, settings.replace("SECRET", &secret)).unwrap();
                build(&project, host, tag)
            }
        };
        assert_eq!(built.code, 0, "{name}: {}", built.err);
        let found = found_in(host, tag, "langchain/langgraphjs-api:20", &[&secret, "Hello, ${"]);
        assert_eq!(found, ["hello, ${"], "{name}");
        let texts = [built.out, built.err, docker(host, &["history", "--no-trunc", tag])];
        assert!(!texts.iter().any(|text| text.contains(&secret)), "{name}: {texts:?}");
        assert_eq!(Container::start(host, tag).run("agent")["greeting"], "Hello, Ada!", "{name}");
    }
}

/// In a workspace of pnpm, only the packages that name the graph library have it in their node_modules.
#[test]
fn a_graph_in_a_package_below_the_configuration_runs() {
    let host = &hosts()[0];
    for is_mixed in [false, true] {
        let project = Copy::of("workspace-pnpm");
        let root = project.directory.path();
        fs::remove_file(root.join(MEMBER).join("agent.json")).unwrap();
        let mut graphs = json!({ "agent": "./apps/agent/src/graph.ts:graph" });
        let mut config = json!({ "node_version": "20" });
        if is_mixed {
            fs::write(root.join("requirements.txt"), "").unwrap();
            fs::copy(crate::harness::fixtures("valid").join("mixed/agent.py"), root.join("agent.py"))
                .unwrap();
            graphs = json!({ "python": "./agent.py:graph", "agent": graphs["agent"] });
            // The Python server needs a newer graph library.
            fs::remove_file(root.join("pnpm-lock.yaml")).unwrap();
            let newer =
                fs::read_to_string(crate::harness::fixtures("valid").join("mixed/package.json")).unwrap();
            let newer: Value = serde_json::from_str(&newer).unwrap();
            let member = root.join(MEMBER).join("package.json");
            let mut manifest: Value = serde_json::from_str(&fs::read_to_string(&member).unwrap()).unwrap();
            let needed = manifest["dependencies"].as_object_mut().unwrap();
            needed.extend(newer["dependencies"].as_object().unwrap().clone());
            fs::write(member, manifest.to_string()).unwrap();
            config["dependencies"] = json!(["."]);
        }
        config["graphs"] = graphs;
        fs::write(root.join("agent.json"), config.to_string()).unwrap();
        let tag = format!("agentcli-test-below-{is_mixed}");
        let built = project.build(host, &tag, "");
        assert_eq!(built.code, 0, "{}", built.err);
        let image = Container::start(host, &tag);
        assert_eq!(image.run("agent")["greeting"], "Hello, Ada!", "{is_mixed}");
        if is_mixed {
            assert_eq!(image.run("python"), json!({ "said": "python" }));
        }
    }
}

/// Its packages are those of a package.json above it, or of a directory that it lists.
#[test]
fn a_configuration_without_a_package_json_beside_it_runs() {
    let host = &hosts()[0];
    for (at, graph) in [("deploy/agent", "deploy/agent/graph.ts"), (".", "web/src/graph.ts")] {
        let project = Copy::of("javascript");
        let root = project.directory.path();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join(graph).parent().unwrap()).unwrap();
        fs::rename(root.join("src/graph.ts"), root.join(graph)).unwrap();
        fs::remove_file(root.join("agent.json")).unwrap();
        let config = match at {
            "." => {
                for file in ["package.json", ".npmrc"] {
                    fs::rename(root.join(file), root.join("web").join(file)).unwrap();
                }
                json!({ "dependencies": ["./web"], "graphs": { "agent": "./web/src/graph.ts:graph" } })
            }
            _ => json!({ "graphs": { "agent": "./graph.ts:graph" } }),
        };
        fs::write(root.join(at).join("agent.json"), config.to_string()).unwrap();
        let env = TestEnv::inside(&root.join(at)).variable("DOCKER_HOST", host);
        let built = env.run("build -t agentcli-test-above --no-pull");
        assert_eq!(built.code, 0, "{at}: {}", built.err);
        let image = Container::start(host, "agentcli-test-above");
        assert_eq!(image.run("agent")["greeting"], "Hello, Ada!", "{at}");
    }
}

/// npm prints its usage after the reason; pnpm 10 refuses lock files of earlier versions.
#[test]
fn lock_files_that_the_program_refuses() {
    let host = &hosts()[0];
    let manifest =
        |version: &str| json!({ "name": "a", "version": "1.0.0", "dependencies": { "is-number": version } });
    let graph = "export const graph = {};\n";
    let project = Copy::of("javascript");
    let root = project.directory.path();
    fs::write(root.join("src/graph.ts"), graph).unwrap();
    fs::write(root.join("package.json"), manifest("^7.0.0").to_string()).unwrap();
    let lock = json!({
        "name": "a", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": manifest("^6.0.0"),
            "node_modules/is-number": { "version": "6.0.0" },
        },
    });
    fs::write(root.join("package-lock.json"), lock.to_string()).unwrap();
    let built = project.build(host, "agentcli-test-refused-lock", "");
    assert_eq!(built.code, 1, "{}", built.err);
    assert!(built.err.contains("warning[outdated-package-lock]"), "{}", built.err);
    let shown: Vec<&str> = built.err.lines().filter(|line| line.starts_with("  | ")).collect();
    assert!(shown.iter().any(|line| line.contains("are in sync")), "{shown:?}");
    assert!(shown.iter().any(|line| line.contains("does not satisfy is-number@7")), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains("--install-strategy")), "{shown:?}");

    fs::remove_file(root.join("package-lock.json")).unwrap();
    fs::write(root.join("package.json"), manifest("^6.0.0").to_string()).unwrap();
    let lock = "lockfileVersion: '6.0'\n\ndependencies:\n  is-number:\n    specifier: ^6.0.0\n    version: 6.0.0\n\n\
        packages:\n\n  /is-number@6.0.0:\n    resolution: {integrity: sha512-Wu1VHeILBK8KAWJUAiSZQX94GmOE45Rg6/538fKwilo\
        Uu21KncEkYGPqob2oSZ5mUT73vLGrHQjKw3KMPwfDzg==}\n    engines: {node: '>=0.10.0'}\n    dev: false\n";
    fs::write(root.join("pnpm-lock.yaml"), lock).unwrap();
    let built = project.build(host, "agentcli-test-old-lock", "");
    assert_eq!(built.code, 0, "{}", built.err);
}

/// The last step of a build refuses what `validate` warns of, by the check of the published server.
#[test]
fn a_library_that_is_too_old_ends_the_build() {
    let host = &hosts()[0];
    let project = Copy::of("javascript");
    let root = project.directory.path();
    fs::remove_file(root.join("package-lock.json")).ok();
    for (version, is_taken) in [("1.3.5", false), ("1.3.6", true)] {
        let packages = json!({ "@langchain/core": "1.1.48", "@langchain/langgraph": version });
        let manifest = json!({ "name": "a", "type": "module", "dependencies": packages });
        fs::write(root.join("package.json"), manifest.to_string()).unwrap();
        let checked = TestEnv::inside(root).run("validate");
        assert_eq!(checked.err.contains("library-older-than-server"), !is_taken, "{}", checked.err);
        let built = project.build(host, "agentcli-test-old-library", "");
        assert_eq!(built.code == 0, is_taken, "{}", built.err);
        assert_eq!(
            built.err.contains("1.3.5 is not up to date. Required: ^1.3.6"),
            !is_taken,
            "{}",
            built.err
        );
    }
}
