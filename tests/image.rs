//! `agentcli build` on real engines: the image of each project of `fixtures/valid` runs its graph.

mod cache;
mod compiled;
mod digest;
mod fresh;
mod locked;
mod locks;
mod mixed;
mod new;
mod no_engine;
mod private;
mod push;
mod registries;
mod settings;
mod tags;
mod why;
pub(crate) mod workspaces;

use std::fs;
use std::path::Path;
use std::process::Command;

use agentcli::compiler::manifests::dockerignore::Ignore;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::engine::{self, BASE, docker, hosts, hosts_for, output_in};
use crate::harness::{Output, TestEnv, copy, fixtures, until};
use crate::registry::Registry;

/// The answer of the graph of each `backend-…` fixture if its package is installed.
fn installed() -> Value {
    json!({ "version": "1.2.3", "scripts": ["probe"], "data": "word" })
}

/// A copy of a fixture that can be edited.
struct Copy {
    directory: TempDir,
}

impl Copy {
    fn of(fixture: &str) -> Self {
        let directory = TempDir::new().unwrap();
        copy(&fixtures("valid").join(fixture), directory.path());
        Self { directory }
    }

    /// Adds members to its configuration.
    fn configure(&self, members: &Value) {
        let config = self.directory.path().join("agent.json");
        let mut whole: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
        whole.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        fs::write(&config, whole.to_string()).unwrap();
    }

    fn build(&self, host: &str, tag: &str, more: &str) -> Output {
        let env = TestEnv::inside(self.directory.path()).variable("DOCKER_HOST", host);
        env.run(&format!("build -t {tag} --no-pull {more}"))
    }
}

/// Options for a build without cache. It has its own cache mounts: builds beside it can replace the contents of shared ones
/// between two steps, and it discards theirs.
fn without_cache(mounts: &str) -> String {
    format!("--no-cache --build-arg=BUILDKIT_CACHE_MOUNT_NS={mounts}")
}

/// A running container, removed when the test ends.
struct Container {
    host: String,
    image: String,
    id: String,
}

impl Drop for Container {
    fn drop(&mut self) {
        Command::new("docker").args(["-H", &self.host, "rm", "-f", &self.id]).output().ok();
    }
}

impl Container {
    fn start(host: &str, image: &str) -> Self {
        let variable = "AGENT_WEBHOOK_KEY=key";
        let id =
            docker(host, &["run", "-d", "-e", variable, "-p", "127.0.0.1::8000", image]).trim().to_owned();
        Self { host: host.to_owned(), image: image.to_owned(), id }
    }

    fn address(&self) -> String {
        let ports = docker(&self.host, &["port", &self.id, "8000"]);
        format!("http://{}", ports.lines().next().unwrap())
    }

    /// Output of a shell in a container of the same image. (Not `exec`: an engine that runs in a root folder of its
    /// own, as the newer test engine does, starts that outside of the container's root.)
    fn shell(&self, script: &str) -> String {
        output_in(&self.host, &[&self.image], &["sh", "-c", script])
    }

    /// The final state of a run of `graph`.
    fn run(&self, graph: &str) -> Value {
        self.run_with(graph, &json!({ "name": "Ada" }))
    }

    fn run_with(&self, graph: &str, input: &Value) -> Value {
        let address = self.address();
        let is_ready = || curl(&[&format!("{address}/ok")]).is_some();
        until(is_ready, || format!("not ready: {}", docker(&self.host, &["logs", &self.id])));
        let body = json!({ "assistant_id": graph, "input": input }).to_string();
        let answer =
            curl(&["-H", "content-type: application/json", "-d", &body, &format!("{address}/runs/wait")]);
        serde_json::from_str(&answer.unwrap_or_else(|| panic!("{}", docker(&self.host, &["logs", &self.id]))))
            .unwrap()
    }
}

fn curl(arguments: &[&str]) -> Option<String> {
    let output = Command::new("curl").args(["-sf", "-m", "60"]).args(arguments).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Builds a fixture on one of the engines, starts it, and runs `check`.
fn with_image(fixture: &str, check: impl Fn(&Container)) {
    for host in &hosts_for(fixture) {
        let tag = format!("agentcli-test-{fixture}");
        let built = Copy::of(fixture).build(host, &tag, "");
        assert_eq!(built.code, 0, "{fixture} on {host}: {}{}", built.out, built.err);
        check(&Container::start(host, &tag));
    }
}

/// The package of a fixture is completely installed, whatever its build backend.
fn assert_installed(fixture: &str) {
    with_image(fixture, |container| {
        assert_eq!(container.run("agent"), installed(), "{fixture}");
        assert_eq!(container.shell("probe"), "probe runs\n", "{fixture}");
        assert_eq!(container.shell("python3 -c 'import tomli_w; print(1)'"), "1\n", "{fixture}");
    });
}

#[test]
fn the_smallest_agent_greets() {
    with_image("hello", |container| {
        assert_eq!(container.run("agent"), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
        let tools = container.shell(
            "for it in pip uv wheel; do command -v $it; done; python3 -c 'import setuptools' 2>&1 | tail -1",
        );
        assert_eq!(tools, "ModuleNotFoundError: No module named 'setuptools'\n");
    });
}

/// One test for each fixture, so that they run side by side.
macro_rules! installed {
    ($($name:ident: $fixture:literal,)*) => { $(#[test] fn $name() { assert_installed($fixture); })* };
}

installed! {
    flit: "backend-flit",
    hatchling: "backend-hatchling",
    pdm: "backend-pdm",
    poetry: "backend-poetry",
    poetry_with_its_own_tables: "backend-poetry-tables",
    setup_py: "backend-setup-py",
    setuptools_with_a_flat_layout: "backend-setuptools-flat",
    setuptools_with_a_src_layout: "backend-setuptools-src",
    uv: "backend-uv",
    computed_requirements: "fallback-computed-requirements",
    version_from_code: "fallback-version-from-code",
}

/// Builds a package that needs its source, with `members` in its configuration and `change` applied. It is installed, and
/// its build requirements are not in the image.
fn assert_built_after_the_copy(name: &str, members: Value, change: impl Fn(&Path)) {
    for host in hosts_for(name) {
        let project = Copy::of("fallback-version-from-code");
        project.configure(&members);
        change(project.directory.path());
        let tag = format!("agentcli-test-built-{name}");
        let built = project.build(&host, &tag, "");
        assert_eq!(built.code, 0, "{name} on {host}: {}{}", built.out, built.err);
        let container = Container::start(&host, &tag);
        assert_eq!(container.run("agent"), installed(), "{name}");
        assert_eq!(container.shell("probe"), "probe runs\n", "{name}");
        let tools =
            "for it in pip uv wheel; do command -v $it; done; python3 -c 'import hatchling' 2>&1 | tail -1";
        assert_eq!(container.shell(tools), "ModuleNotFoundError: No module named 'hatchling'\n", "{name}");
    }
}

#[test]
fn build_requirements_are_not_in_the_image() {
    assert_built_after_the_copy("uv", json!({}), |_| {});
    assert_built_after_the_copy("pip", json!({ "pip_installer": "pip" }), |_| {});
}

#[test]
fn build_requirements_can_be_computed() {
    assert_built_after_the_copy("computed", json!({}), |directory| {
        let manifest = directory.join("pyproject.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let own = "build-backend = \"own\"\nbackend-path = [\".\"]";
        fs::write(&manifest, text.replace("build-backend = \"hatchling.build\"", own)).unwrap();
        let backend = "import hatchling.build\n\
            def get_requires_for_build_editable(settings=None): return [\"editables\"]\n\
            def build_editable(*all): import editables; return hatchling.build.build_editable(*all)\n";
        fs::write(directory.join("own.py"), backend).unwrap();
    });
}

#[test]
fn directories_without_a_manifest_can_be_imported_from() {
    with_image("requirements-only", |container| {
        assert_eq!(container.run("agent"), json!({ "said": "neighbour" }))
    });
    with_image("flat-package", |container| {
        assert_eq!(container.run("agent"), json!({ "said": "flat" }));
        assert_eq!(container.shell("ls /deps/app"), "my_agent\n", "only what is needed");
    });
}

#[test]
fn packages_of_one_name_stay_apart_in_a_monorepo() {
    for host in hosts_for("monorepo") {
        let project = Copy::of("monorepo");
        let env =
            TestEnv::inside(&project.directory.path().join("apps/agent")).variable("DOCKER_HOST", &host);
        let built = env.run("build -t agentcli-test-monorepo --no-pull");
        assert_eq!(built.code, 0, "{}", built.err);
        let container = Container::start(&host, "agentcli-test-monorepo");
        assert_eq!(container.run("agent"), json!({ "said": "library vendored" }));
        assert_eq!(
            container.shell("ls /deps/app /deps/app/apps"),
            "/deps/app:\napps\nlibs\nvendored\n\n/deps/app/apps:\nagent\n"
        );
    }
}

/// The `RUN` steps that were not cached, from the events of a build.
fn executed(events: &str) -> Vec<String> {
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let name = |event: &Value| Some(event["name"].as_str()?.to_owned());
    let runs = events.iter().filter(|it| name(it).is_some_and(|name| name.starts_with("RUN")));
    let is_cached = |run: &&Value| {
        let done = events.iter().find(|it| it["event"] == "step_done" && it["id"] == run["id"]);
        done.is_some_and(|done| done["cached"] == true)
    };
    runs.filter(|run| !is_cached(run)).filter_map(name).collect()
}

#[test]
fn a_typescript_graph_runs() {
    with_image("javascript", |container| {
        assert_eq!(container.run("agent"), json!({ "name": "Ada", "greeting": "Hello, Ada!" }));
    });
}

#[test]
fn a_failed_step_is_one_line_after_its_cause() {
    let project = Copy::of("hello");
    let config = project.directory.path().join("agent.json");
    let mut whole: Value = serde_json::from_str(&fs::read_to_string(&config).unwrap()).unwrap();
    let words = "word ".repeat(40);
    let step = format!("RUN --mount=type=cache,target=/x : {words} && echo the cause && exit 3");
    whole["dockerfile_lines"] = json!([step]);
    fs::write(&config, whole.to_string()).unwrap();
    for host in hosts() {
        let built = project.build(&host, "agentcli-test-failed-step", "");
        let lines: Vec<&str> = built.err.lines().collect();
        let [.., key, output, error] = lines.as_slice() else { panic!("{}", built.err) };
        assert!(key.starts_with("  caused by agent.json:1:"), "{}", built.err);
        assert_eq!(*output, "  | the cause");
        assert!(error.starts_with("error: the build failed at step "), "{error}");
        assert!(error.contains(", `RUN : word word") && error.len() < 160, "{error}");
        assert!(error.ends_with("…`: the command exited with code 3"), "{error}");
        assert!(!built.err.contains(&step), "{}", built.err);
        let built = project.build(&host, "agentcli-test-failed-step", "-v");
        assert!(built.err.contains(words.trim()), "{}", built.err);
    }
}

#[test]
fn values_reach_the_server_unchanged() {
    let config: Value =
        serde_json::from_str(&fs::read_to_string(fixtures("valid").join("quoting/agent.json")).unwrap())
            .unwrap();
    with_image("quoting", |container| {
        let variable = |name: &str| -> Value {
            let print = format!("import os; print(os.environ[\"{name}\"], end=\"\")");
            serde_json::from_str(&container.shell(&format!("python3 -c '{print}'"))).unwrap()
        };
        assert_eq!(
            variable("LANGSERVE_GRAPHS")["agent"]["description"],
            config["graphs"]["agent"]["description"]
        );
        assert_eq!(variable("LANGSERVE_GRAPHS")["ünï-код"], "/deps/app/it's a $dir [x]/agent.py:graph");
        assert_eq!(variable("LANGGRAPH_HTTP"), config["http"]);
        assert_eq!(variable("LANGGRAPH_WEBHOOKS")["headers"], config["webhooks"]["headers"]);
        assert_eq!(container.shell("printf %s \"$LINE\""), "as it is");
        assert_eq!(container.run("ünï-код"), json!({ "said": "quoted" }));
    });
}

#[test]
fn the_pip_configuration_is_in_no_layer() {
    with_image("pip-config", |container| {
        assert_eq!(container.run("agent"), json!({ "said": "pip" }));
        let texts = ["secret-token-in-here", "a graph of one node"];
        let found = found_in(&container.host, &container.image, BASE, &texts);
        assert_eq!(found, ["a graph of one node"]);
    });
}

/// Returns those of the `texts`, in lower case, that are in the configuration of an image or in the layers that it adds to
/// `base`, ignoring case.
fn found_in(host: &str, image: &str, base: &str, texts: &[&str]) -> Vec<String> {
    let texts: Vec<String> = texts.iter().map(|text| format!("-e '{}'", text.to_lowercase())).collect();
    let registry = Registry::start_open();
    registry.add_layers(base, "searched", host);
    registry.push(image, "searched", host);
    let script = format!(
        "set -o pipefail; find {} -type f -print0 | xargs -0 zcat -f | \
         {{ LC_ALL=C grep -aoiF {} || test $? = 1; }} | sort -fu",
        registry.images().display(),
        texts.join(" "),
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().to_lowercase().lines().map(str::to_owned).collect()
}

#[test]
fn an_edit_adds_one_layer_of_the_source() {
    for host in hosts() {
        let project = Copy::of("backend-setuptools-src");
        // No other build has these steps: of two that ran at once, the engine may later use either.
        let own = format!("ENV AGENTCLI_TEST={}", project.directory.path().display());
        project.configure(&json!({ "dockerfile_lines": [own] }));
        let tag = "agentcli-test-edit";
        let layers = || -> Vec<String> {
            let format = "{{range .RootFS.Layers}}{{println .}}{{end}}";
            docker(&host, &["image", "inspect", "-f", format, tag])
                .split_whitespace()
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(project.build(&host, tag, "").code, 0);
        let before = layers();
        let file = project.directory.path().join("src/probe/graph.py");
        fs::write(&file, fs::read_to_string(&file).unwrap() + "\n# edited\n").unwrap();
        let edited = project.build(&host, tag, "--progress json");
        assert_eq!(edited.code, 0, "{}", edited.err);
        let after = layers();
        assert_eq!(before.len(), after.len());
        assert_eq!(before[..before.len() - 1], after[..after.len() - 1], "only the last layer is new");
        assert!(edited.out.contains("RUN"), "{}", edited.out);
        assert_eq!(executed(&edited.out), [""; 0]);
    }
}

/// As the server's own tool does. No constraint of the image keeps an older server out.
#[test]
fn the_server_of_the_image_stays() {
    for (host, installer) in hosts().iter().zip(["uv", "pip", "uv"]) {
        let project = Copy::of("requirements-only");
        fs::write(project.directory.path().join("requirements.txt"), "langgraph-api<0.16.7\n").unwrap();
        project.configure(&json!({ "pip_installer": installer }));
        let built = project.build(host, "agentcli-test-server", &format!("-v {}", without_cache("server")));
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let log = built.out + &built.err;
        assert!(log.contains("langgraph-api==0.16.6") || log.contains("langgraph-api-0.16.6"), "{log}");
        let container = Container::start(host, "agentcli-test-server");
        let origin = "import importlib.metadata as m; d = m.distribution('langgraph-api'); \
                      print(d.version, 'file:///api' in d.read_text('direct_url.json'))";
        assert_eq!(container.shell(&format!("python3 -c \"{origin}\"")), "0.16.7 True\n", "{installer}");
    }
}

/// The bounds of the table are those of the image, and the build tells the way out.
#[test]
fn a_requirement_that_the_server_excludes_fails_the_build() {
    for (host, installer) in hosts().iter().zip(["uv", "pip", "uv"]) {
        let project = Copy::of("requirements-only");
        fs::write(project.directory.path().join("requirements.txt"), "langgraph<0.3\n").unwrap();
        project.configure(&json!({ "pip_installer": installer }));
        let built = project.build(host, "agentcli-test-excluded", "");
        assert_eq!(built.code, 1, "{}", built.err);
        for part in ["warning[requirement-conflicts-with-server]", "change the requirement that conflicts"] {
            assert!(built.err.contains(part), "{part} is missing in:\n{}", built.err);
        }
    }
}

#[test]
fn a_failing_step_names_its_last_lines_and_its_key() {
    for host in hosts() {
        let project = Copy::of("requirements-only");
        let config = json!({
            "dependencies": ["."], "graphs": { "agent": "./agent.py:graph" },
            "dockerfile_lines": ["RUN echo the-last-line && exit 7"],
        });
        fs::write(project.directory.path().join("agent.json"), config.to_string()).unwrap();
        let built = project.build(&host, "agentcli-test-fails", "");
        assert_eq!(built.code, 1);
        for part in ["the-last-line", "exited with code 7", "/dockerfile_lines", "agent.json:1:"] {
            assert!(built.err.contains(part), "{part} is missing in:\n{}", built.err);
        }
    }
}

/// The files of the server are sent by `build`, and copied from beside a written Dockerfile.
#[test]
fn a_server_without_a_key_is_the_same_by_the_written_dockerfile() {
    const TAGS: [&str; 2] = ["agentcli-test-server-built", "agentcli-test-server-written"];
    let project = Copy::of("hello");
    let files = "cd / && find api deps usr/local -type f ! -path '*/.agentcli/*' ! -name 'Dockerfile*' ! -name '*.pyc' \
                 -exec sha256sum {} + | sort -k 2";
    for host in hosts() {
        let built = project.build(&host, TAGS[0], "--server memory");
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        let run = TestEnv::inside(project.directory.path()).run("dockerfile Dockerfile --server memory");
        assert_eq!(run.code, 0, "{}", run.err);
        let read = |name: &str| fs::read_to_string(project.directory.path().join(name)).unwrap();
        let mut written = engine::request(project.directory.path(), &read("Dockerfile"));
        written.context.ignore = Ignore::parse(&read("Dockerfile.dockerignore")).unwrap();
        written.tags = vec![TAGS[1].to_owned()];
        engine::build(&host, written).0.unwrap();
        let [one, other] = TAGS.map(|tag| output_in(&host, &[tag], &["sh", "-c", files]));
        assert!(
            one.contains("  api/serve.py\n") && one.contains("  deps/app/Dockerfile.server/serve.py\n"),
            "{one}"
        );
        assert_eq!(one, other);
        fs::remove_dir_all(project.directory.path().join("Dockerfile.server")).unwrap();
        fs::remove_file(project.directory.path().join("Dockerfile")).unwrap();
        fs::remove_file(project.directory.path().join("Dockerfile.dockerignore")).unwrap();
    }
}

#[test]
fn values_of_env_are_in_no_image() {
    const SECRET: &str = "swordfish-7316";
    const TAG: &str = "agentcli-test-env-values";
    let project = Copy::of("hello");
    let file = project.directory.path().join("agent.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    config["env"] = json!({ "TOKEN": SECRET });
    fs::write(&file, config.to_string()).unwrap();
    let is_in = |host: &str| {
        let script = format!("grep -rlsF {SECRET} / --exclude-dir=proc --exclude-dir=sys || true");
        let found = output_in(host, &[TAG], &["sh", "-c", &script]);
        let history = docker(host, &["history", "--no-trunc", TAG]);
        (found, history.contains(SECRET))
    };
    let run = TestEnv::inside(project.directory.path()).run("dockerfile Dockerfile");
    assert_eq!(run.code, 0, "{}", run.err);
    let ignore = fs::read_to_string(project.directory.path().join("Dockerfile.dockerignore")).unwrap();
    let ignore = Ignore::parse(&ignore).unwrap();
    assert!(ignore.excludes("agent.json") && !ignore.excludes("pyproject.toml"));
    for host in hosts() {
        let built = project.build(&host, TAG, "");
        assert_eq!(built.code, 0, "{}{}", built.out, built.err);
        assert_eq!(is_in(&host), (String::new(), false), "agentcli build on {host}");
        let config = output_in(&host, &[TAG], &["cat", "/deps/app/agent.json"]);
        assert_eq!(serde_json::from_str::<Value>(&config).unwrap()["env"], json!({ "TOKEN": "" }));
    }
}
