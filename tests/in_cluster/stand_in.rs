//! All commands of `deploy`, with stand-ins of the server that are made of busybox (see `tests/in_cluster/image`), so that only
//! the cluster is on trial.

#![allow(clippy::print_stderr, reason = "times are part of the result")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{TestEnv, outside, program, until};

/// A server that ends at SIGTERM.
const SERVES: &str = "trap 'exit 0' TERM; httpd -f -p 8000 -h /srv & wait";

/// A server that ends as one does whose graph cannot be imported.
const CRASHES: &str = r#"echo 'Traceback (most recent call last):'
echo '  File "/deps/app/agent.py", line 3, in <module>'
echo '    import nothing'
echo "ModuleNotFoundError: No module named 'nothing'"
exit 1"#;

/// A value that is in no output, manifest or record.
const SECRET: &str = "value-of-a-secret-98765";

/// A namespace of its own, which is deleted at the end, and a project.
struct Place {
    config: PathBuf,
    namespace: String,
    env: TestEnv,
}

impl Place {
    fn new(test: &str) -> Self {
        let config = outside("AGENTCLI_TEST_CLUSTER");
        let agent = format!(
            r#"{{ "dependencies": ["."], "graphs": {{ "agent": "./agent.py:graph" }}, "env": {{ "KEY": "{SECRET}" }} }}"#
        );
        let env = TestEnv::project()
            .file("agent.json", agent)
            .file("agent.py", "def graph():\n    pass\n")
            .file("requirements.txt", "");
        let namespace = format!("test-{test}-{}", std::process::id());
        let place = Self { config, namespace, env };
        place.kubectl(&["create", "namespace", &place.namespace]);
        let databases =
            ["create", "secret", "generic", "db", "--from-literal=pg=x", "--from-literal=redis=x"];
        place.kubectl(&databases);
        place
    }

    fn image(&self, name: &str, script: &str) -> String {
        let name = format!("agentcli.test/{name}");
        let socket = self.config.with_file_name("data").join("containerd.sock");
        let script_file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/in_cluster/image");
        let done = Command::new(script_file).arg(socket).args([&name, script]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        name
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        let kubectl = self.config.with_file_name("bin").join("kubectl");
        let mut command = Command::new(kubectl);
        command.arg("--kubeconfig").arg(&self.config).args(["--namespace", &self.namespace]).args(arguments);
        let done = command.output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    fn get(&self, what: &[&str]) -> Value {
        serde_json::from_str(&self.kubectl(&[&["get"], what, &["-o", "json"]].concat())).unwrap()
    }

    /// `agentcli deploy` with these words, in the project.
    fn command(&self, words: &str) -> Command {
        let bin = self.config.with_file_name("bin");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new(program());
        command.arg("deploy").args(words.split_whitespace());
        command.args(["--to", "kubernetes", "--namespace", &self.namespace]);
        command.env("PATH", path).env("KUBECONFIG", &self.config).current_dir(self.env.path(""));
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, words: &str) -> (i32, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let text = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
        assert!(!text.contains(SECRET), "{text}");
        eprintln!("$ agentcli deploy {words}\n{text}");
        (status.code().unwrap(), text)
    }

    fn succeeds(&self, words: &str) -> String {
        let (code, text) = self.run(words);
        assert_eq!(code, 0, "{words}: {text}");
        text
    }

    fn fails(&self, words: &str, code: i32, reason: &str) {
        let (found, text) = self.run(words);
        assert_eq!(found, code, "{words}: {text}");
        assert!(text.contains(reason), "{words}: {text}");
        assert!(text.lines().filter(|line| !line.starts_with("note:")).count() <= 14, "{text}");
    }

    /// The words of a deploy with replicas.
    fn deploy(image: &str) -> String {
        let references = "--secret-reference POSTGRES_URI=db/pg --secret-reference REDIS_URI=db/redis";
        format!("--name shop --server pg --image {image} {references} --yes --timeout 120")
    }

    /// Asks the server through a port of the node.
    fn ask(&self, port: u64) -> Result<String, String> {
        let host = self.get(&["nodes"])["items"][0]["status"]["addresses"][0]["address"]
            .as_str()
            .unwrap()
            .to_owned();
        ask(&format!("{host}:{port}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.kubectl(&["delete", "namespace", &self.namespace, "--wait=false", "--ignore-not-found"]);
    }
}

fn ask(address: &str) -> Result<String, String> {
    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /ok HTTP/1.0\r\n\r\n").map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => Ok(body.trim().to_owned()),
        _ => Err(answer),
    }
}

#[test]
fn a_deployment_lives_from_its_first_answer_to_its_end() {
    let place = Place::new("life");
    let [one, two, three] =
        ["life-1", "life-2", "life-3"].map(|name| place.image(&format!("{name}:1"), SERVES));
    let broken = place.image("life-broken:1", CRASHES);
    let start = Instant::now();
    place.succeeds(&format!("{} --resource min_scale=2", Place::deploy(&one)));
    place.kubectl(&[
        "expose",
        "deployment",
        "shop",
        "--name=outside",
        "--type=NodePort",
        "--port=80",
        "--target-port=8000",
    ]);
    let port = place.get(&["service", "outside"])["spec"]["ports"][0]["nodePort"].as_u64().unwrap();
    until(|| place.ask(port) == Ok(one.clone()), || format!("{:?}", place.ask(port)));
    eprintln!("from nothing to the first answer: {:.1} s", start.elapsed().as_secs_f64());

    let start = Instant::now();
    assert!(place.succeeds(&Place::deploy(&one)).contains("revision 1 is up to date"));
    eprintln!("an unchanged deploy: {:.1} s", start.elapsed().as_secs_f64());
    let dry = place.succeeds(&format!("{} --dry-run", Place::deploy(&two)));
    assert!(dry.contains("Deployment shop: spec.template.spec.containers.server.image"), "{dry}");

    // 50 requests per second while the pods are replaced.
    let host =
        place.get(&["nodes"])["items"][0]["status"]["addresses"][0]["address"].as_str().unwrap().to_owned();
    let address = format!("{host}:{port}");
    let is_over = Arc::new(AtomicBool::new(false));
    let asking = thread::spawn({
        let (is_over, address) = (is_over.clone(), address.clone());
        move || {
            let mut answers = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                answers.push(ask(&address));
                thread::sleep(Duration::from_millis(20));
            }
            answers
        }
    });
    place.succeeds(&Place::deploy(&two));
    place.fails(&Place::deploy(&broken), 1, "agent.py:3: ModuleNotFoundError: No module named 'nothing'");
    is_over.store(true, Ordering::Relaxed);
    let answers = asking.join().unwrap();
    let failed: Vec<_> = answers.iter().filter(|answer| answer.is_err()).collect();
    assert!(failed.is_empty(), "{} of {} requests failed: {:?}", failed.len(), answers.len(), failed[0]);
    eprintln!("{} requests, none of which failed", answers.len());
    assert_eq!(ask(&address), Ok(two.clone()));

    place.fails(&format!("{} --atomic", Place::deploy(&broken)), 1, "went back to revision 2, which serves");
    place.succeeds("rollback shop --yes");
    // The pods that end may answer until the node has the new addresses.
    until(|| ask(&address) == Ok(one.clone()), || format!("{:?}", ask(&address)));
    place.succeeds("secrets set shop TOKEN=other-value-of-a-secret --yes");
    let pods = place.get(&["secret", "shop-env"]);
    assert_eq!(pods["data"].as_object().unwrap().len(), 2);
    place.succeeds("update shop --resource min_scale=3 --yes");
    assert_eq!(place.get(&["deployment", "shop"])["status"]["readyReplicas"], 3);
    place.succeeds(&Place::deploy(&three));
    let records = place.get(&["configmaps"]).to_string();
    assert!(!records.contains(SECRET) && records.contains("life-3"));
    let revisions: Value = serde_json::from_str(&place.succeeds("revisions list shop --json")).unwrap();
    assert_eq!(revisions["revisions"][0]["status"], "DEPLOYED", "{revisions}");
    let list: Value = serde_json::from_str(&place.succeeds("list --json")).unwrap();
    assert_eq!(list["deployments"][0]["name"], "shop");

    place.succeeds("delete shop --yes");
    let left = place.get(&[
        "all,configmaps,secrets,leases,ingresses,networkpolicies,poddisruptionbudgets",
        "-l",
        "app.kubernetes.io/managed-by=agentcli",
    ]);
    let left = left["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["kind"] != "Pod" && it["kind"] != "ReplicaSet");
    assert_eq!(left.count(), 0);
    place.fails("get shop", 1, "there is no deployment `shop`");
}

#[test]
fn a_killed_deploy_is_continued_by_the_next() {
    let place = Place::new("kill");
    let image = place.image("kill-1:1", SERVES);
    let words = Place::deploy(&image);
    let ours = ["-l", "app.kubernetes.io/managed-by=agentcli"];
    for kind in ["leases", "configmaps", "jobs", "deployments"] {
        let mut child = place.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_there = || !place.get(&[&[kind], &ours[..]].concat())["items"].as_array().unwrap().is_empty();
        until(is_there, || format!("no {kind}"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let text = place.succeeds(&words);
    // The same revision goes on.
    assert!(text.contains("deployed shop") && text.contains("revision: 1\n"), "{text}");
    assert_eq!(place.get(&["deployment", "shop"])["status"]["readyReplicas"], 1);
}

#[test]
fn a_second_deploy_is_refused_while_one_runs() {
    let place = Place::new("second");
    let [one, slow] = [place.image("second-1:1", SERVES), place.image("second-slow:1", "sleep 3600")];
    place.succeeds(&Place::deploy(&one));
    let mut first = place.command(&Place::deploy(&slow)).stderr(Stdio::null()).spawn().unwrap();
    let holds = || place.get(&["leases"])["items"].as_array().is_some_and(|leases| !leases.is_empty());
    until(holds, || "the first deploy takes no Lease".to_owned());
    place.fails("restart shop --yes", 4, "another deploy of `shop` runs");
    first.kill().unwrap();
    first.wait().unwrap();
    // What served still does, and the next deploy goes on.
    assert_eq!(place.get(&["deployment", "shop"])["status"]["availableReplicas"], 1);
    place.succeeds(&Place::deploy(&one));
}

#[test]
fn a_namespace_that_ends_is_refused() {
    let place = Place::new("ends");
    place.kubectl(&["create", "configmap", "kept"]);
    place.kubectl(&[
        "patch",
        "configmap",
        "kept",
        "-p",
        r#"{"metadata": {"finalizers": ["agentcli.test/kept"]}}"#,
    ]);
    place.kubectl(&["delete", "namespace", &place.namespace, "--wait=false"]);
    place.fails("--name shop --server memory --image agentcli.test/busybox:1 --yes", 2, "is being deleted");
    place.kubectl(&["patch", "configmap", "kept", "-p", r#"{"metadata": {"finalizers": null}}"#]);
}

#[test]
fn what_the_cluster_would_refuse_is_refused_first() {
    let place = Place::new("refused");
    let image = place.image("refused-1:1", SERVES);
    let words = Place::deploy(&image);
    place.fails(&format!("{words} --context nowhere"), 2, "kubectl has no context `nowhere`");
    place.fails(&format!("{words} --host-url http://localhost"), 2, "does not apply to a cluster");
    let (_, text) = place.run("rollback shop --yes");
    assert!(text.contains("there is no deployment `shop`"), "{text}");
    let missing = words.replace("db/redis", "db/none");
    place.fails(&missing, 2, "the Secret `db` has no key `none`");

    place.kubectl(&["create", "configmap", "shop-config"]);
    place.fails(&words, 2, "ConfigMap shop-config");
    place.kubectl(&["delete", "configmap", "shop-config"]);

    place.kubectl(&["create", "quota", "small", "--hard=pods=0"]);
    place.fails(&words, 2, "exceeded quota");
    place.kubectl(&["delete", "quota", "small"]);
    // Nothing was made.
    assert_eq!(
        place.get(&["configmaps", "-l", "app.kubernetes.io/instance=shop"])["items"],
        serde_json::json!([])
    );

    place.kubectl(&["create", "serviceaccount", "poor"]);
    let rights = ["create", "role", "poor", "--verb=get,list", "--resource=configmaps,secrets,namespaces"];
    place.kubectl(&rights);
    let poor = format!("--serviceaccount={}:poor", place.namespace);
    place.kubectl(&["create", "rolebinding", "poor", "--role=poor", &poor]);
    let token = place.kubectl(&["create", "token", "poor"]);
    let config = std::fs::read_to_string(&place.config).unwrap();
    let users = config.find("users:").unwrap();
    let config = format!("{}users:\n- name: admin\n  user: {{token: {}}}\n", &config[..users], token.trim());
    let file = place.env.path("poor.yaml");
    std::fs::write(&file, config).unwrap();
    let done = place.command(&words).env("KUBECONFIG", file).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(3), "{text}");
    assert!(text.contains("you may not") && text.contains("create/patch/delete configmaps"), "{text}");
}
