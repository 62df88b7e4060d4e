//! Logs: filters, times, and each entry once and in order however often the connection breaks.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{INTEGRATION, Scene, deploy};
use crate::harness::{TestEnv, until};
use crate::host::service::{Host, KEY};
use crate::proxy::{Fault, Proxy};

fn messages(out: &str) -> Vec<String> {
    let message = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["message"].as_str().unwrap().to_owned()
    };
    out.lines().map(message).collect()
}

/// The numbers of the heartbeats.
fn beats(out: &str) -> Vec<u64> {
    let number = |message: String| message.strip_prefix("heartbeat ").map(|number| number.parse().unwrap());
    messages(out).into_iter().filter_map(number).collect()
}

#[test]
fn filters() {
    let scene = Scene::new();
    let run = |arguments: &str| {
        let output = scene.deploy(&format!("logs {arguments}"));
        assert_eq!(output.code, 0, "{arguments}: {output:?}");
        output
    };
    let id = format!("--deployment-id {}", scene.id);
    let all = messages(&run(&format!("{id} --json")).out);
    assert!(all.len() >= 3 && all[0].starts_with("deploying revision"), "{all:?}");
    assert_eq!(messages(&run("--name agent --json").out), all);
    assert_eq!(messages(&run(&format!("{id} --json --limit 2")).out), all[all.len() - 2..]);
    let warnings = run(&format!("{id} --level warning")).out;
    assert!(warnings.lines().count() == 1 && warnings.contains("Z WARNING "), "{warnings}");
    assert_eq!(run(&format!("{id} -q deploying")).out.lines().count(), 1);
    let output = run(&format!("{id} --start-time 2999-01-01"));
    assert!(output.out.is_empty() && output.err.contains("no log entries found"), "{output:?}");
    assert!(run(&format!("{id} --end-time 2000-01-01T10:00")).out.is_empty());
    assert_eq!(
        run(&format!("{id} --start-time 2000-01-01 --end-time 2999-01-01")).out.lines().count(),
        all.len()
    );
    let named = TestEnv::empty().variable("PLATFORM_DEPLOYMENT_NAME", "agent");
    assert_eq!(deploy(&named, &scene.proxy.url(), "logs").code, 0);
}

#[test]
fn what_is_wrong_with_the_options() {
    let scene = Scene::new();
    for (arguments, told) in [
        ("--start-time yesterday", "such as 2026-11-21T10:00:00Z"),
        ("--start-time 2026-01-02 --end-time 2026-01-01", "is after --end-time"),
        ("--follow --end-time 2026-01-01", "cannot be used with"),
        ("--level LOUD", "invalid value"),
        ("--limit 0", "invalid value"),
        ("--deployment-id nothing", "is not the ID of a deployment"),
    ] {
        let output = scene.deploy(&format!("logs {arguments}"));
        assert_eq!(output.code, 2, "{arguments}: {output:?}");
        assert!(output.err.contains(told), "{arguments}: {output:?}");
    }
    // Names of deployments that were made elsewhere may be of any form.
    let output = scene.deploy("logs --name Not_A.Name");
    assert!(
        output.code == 1 && output.err.contains("there is no deployment named `Not_A.Name`"),
        "{output:?}"
    );
    // The directory's name is the default.
    let output = scene.deploy("logs");
    assert!(output.code == 1 && output.err.contains("there is no deployment named `tmp"), "{output:?}");
}

#[test]
fn more_than_one_page() {
    let scene = Scene::with(|options| options.runner.heartbeat = Some(Duration::from_millis(1)));
    let path = format!("/v1/projects/{}/deploy_logs", scene.id);
    let is_long = || {
        let body = json!({"limit": 1000, "query": "heartbeat 250"});
        let log = scene.host.expect(200, "POST", &path, Some(&body));
        !log["logs"].as_array().unwrap().is_empty()
    };
    until(is_long, || "the log does not grow".to_owned());
    let output = scene.deploy("logs --name agent --limit 240 --json");
    let beats = beats(&output.out);
    assert_eq!(beats.len(), 240);
    assert!(beats.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{beats:?}");
}

/// A reader that goes away when it has seen enough, and breaks the connection meanwhile.
struct Reader {
    seen: Rc<RefCell<String>>,
    enough: usize,
    proxy: Arc<Proxy>,
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut seen = self.seen.borrow_mut();
        if seen.lines().count() >= self.enough {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        seen.push_str(std::str::from_utf8(bytes).unwrap());
        if seen.lines().count().is_multiple_of(5) {
            let faults = [Fault::Reset, Fault::Lost, Fault::ResetInAnswer, Fault::BROKEN, Fault::GATEWAY];
            let fault = faults[seen.lines().count() / 5 % faults.len()].clone();
            self.proxy.fail("POST", "deploy_logs", fault, 1 + seen.lines().count() % 3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn each_entry_is_followed_once_and_in_order() {
    let scene = Scene::with(|options| options.runner.heartbeat = Some(Duration::from_millis(15)));
    let Scene { host, proxy, .. } = scene;
    let (seen, proxy) = (Rc::new(RefCell::new(String::new())), Arc::new(proxy));
    let reader = Reader { seen: seen.clone(), enough: 80, proxy: proxy.clone() };
    let arguments = format!(
        "deploy logs --follow --json --name agent --limit 3 --host-url {} --api-key {KEY}",
        proxy.url()
    );
    let output = TestEnv::empty().run_into(&arguments, Box::new(reader));
    assert_eq!(output.code, 0, "{output:?}");
    let beats = beats(&seen.borrow());
    assert!(beats.len() > 60, "{beats:?}");
    assert!(beats.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{beats:?}");
    drop(host);
}

/// The service's log is put together from several places, and may have something late.
#[test]
fn an_entry_that_comes_late_is_followed_too() {
    let scene = Scene::new();
    let entry = |at: &str, message: &str| json!({ "timestamp": at, "level": "INFO", "message": message });
    let (late, last) = (entry("2026-03-08T11:59:58Z", "late"), entry("2026-03-08T12:00:00Z", "last"));
    // Not one entry of two with the same words is lost, nor shown twice.
    let next = entry("2026-03-08T12:00:00Z", "last");
    for logs in [
        json!([last]),
        json!([late, last]),
        json!([late, last]),
        json!([late, last, next]),
        json!([late, last, next, entry("2026-03-08T12:00:01Z", "end")]),
    ] {
        let page: &str = json!({ "logs": logs }).to_string().leak();
        let answer = Fault::Answer(200, &[("Content-Type", "application/json")], page);
        scene.proxy.fail("POST", "deploy_logs", answer, 1);
    }
    let seen = Rc::new(RefCell::new(String::new()));
    let reader =
        Reader { seen: seen.clone(), enough: 4, proxy: Arc::new(Proxy::start(scene.host.address())) };
    let arguments =
        format!("deploy logs --follow --json --name agent --host-url {} --api-key {KEY}", scene.proxy.url());
    let output = TestEnv::empty().run_into(&arguments, Box::new(reader));
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(messages(&seen.borrow()), ["last", "late", "last", "end"]);
}

/// A service whose log has no end, as the offset of each page leads to the same entries. Entries have no ID.
#[test]
fn a_page_that_repeats_the_one_before_it_is_the_last() {
    let scene = Scene::new();
    let logs = json!([{ "timestamp": "2026-03-08T12:00:00Z", "level": "INFO", "message": "same" }]);
    for offset in 1..=40 {
        let page: &str = json!({ "logs": logs, "next_offset": offset }).to_string().leak();
        let answer = Fault::Answer(200, &[("Content-Type", "application/json")], page);
        scene.proxy.fail("POST", "deploy_logs", answer, 1);
    }
    let output = scene.deploy("logs --json --name agent");
    assert_eq!(messages(&output.out), ["same"]);
    let asked = scene.proxy.heads().iter().filter(|head| head.contains("deploy_logs")).count();
    assert_eq!(asked, 2, "{output:?}");
}

#[test]
fn a_build_is_followed_to_its_end() {
    let host = Host::start(|options| {
        options.repositories = agentcli_host::Repositories::new(vec![super::repository()]).unwrap();
        options.runner.pace = Duration::from_millis(100);
    });
    let creation = json!({
        "name": "built",
        "source": "codehost",
        "source_config": {
            "integration_id": INTEGRATION,
            "repo_url": "https://code.example/somebody/agent",
        },
        "source_revision_config": { "repo_ref": "main", "graph_config_path": "agent.json" },
        "secrets": [],
    });
    host.expect(201, "POST", "/v2/deployments", Some(&creation));
    let output = deploy(&TestEnv::empty(), &host.url(), "logs --type build --follow --json --name built");
    assert_eq!(output.code, 0, "{output:?}");
    let said = messages(&output.out);
    assert!(said.len() >= 3 && said.last().unwrap().starts_with("built "), "{said:?}");
}

/// What a build says at once, it says in the same millisecond.
#[test]
fn no_more_than_the_limit_of_what_was_said_before_is_followed() {
    let host = Host::start(|options| {
        options.repositories = agentcli_host::Repositories::new(vec![super::repository()]).unwrap()
    });
    let creation = json!({
        "name": "built",
        "source": "codehost",
        "source_config": {
            "integration_id": INTEGRATION,
            "repo_url": "https://code.example/somebody/agent",
        },
        "source_revision_config": { "repo_ref": "main", "graph_config_path": "agent.json" },
        "secrets": [],
    });
    host.expect(201, "POST", "/v2/deployments", Some(&creation));
    let logs = |arguments: &str| {
        let arguments = format!("logs --type build --json --name built {arguments}");
        let output = deploy(&TestEnv::empty(), &host.url(), &arguments);
        assert_eq!(output.code, 0, "{output:?}");
        messages(&output.out)
    };
    logs("--follow");
    let all = logs("");
    assert!(all.len() >= 3, "{all:?}");
    for limit in 1..=all.len() {
        let expected = &all[all.len() - limit..];
        assert_eq!(logs(&format!("--limit {limit}")), expected);
        assert_eq!(logs(&format!("--limit {limit} --follow")), expected);
    }
}

/// Runs the program itself, as a child.
#[test]
fn following_ends_when_it_is_interrupted() {
    let scene = Scene::new();
    let mut child = Command::new(crate::harness::program())
        .args(["deploy", "logs", "--follow", "--name", "agent", "--api-key", KEY, "--host-url"])
        .arg(scene.proxy.url())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("deploying revision"), "{first}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
