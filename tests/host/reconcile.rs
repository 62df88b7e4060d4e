//! What the reconciler does on the engine for what clients deploy.

use std::fs;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agentcli_host::Store;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::service::{Host, Knobs, PATIENCE};
use super::stand_in::{Fault, StandIn};
use super::tenants::OTHER;

/// A service that builds the template `t`, its engine, and the notices that its operator gets.
struct World {
    host: Host,
    engine: StandIn,
    notices: Arc<Mutex<Vec<String>>>,
    templates: TempDir,
}

impl World {
    fn new(change: impl FnOnce(&mut Knobs)) -> Self {
        let templates = TempDir::new().unwrap();
        fs::create_dir(templates.path().join("t")).unwrap();
        fs::write(templates.path().join("t/agent.json"), "{}").unwrap();
        Self::on(TempDir::new().unwrap(), templates, change)
    }

    fn on(data: TempDir, templates: TempDir, change: impl FnOnce(&mut Knobs)) -> Self {
        let mut engine = StandIn::default();
        let notices = Arc::<Mutex<Vec<String>>>::default();
        let host = Host::start_in(data, |knobs| {
            knobs.templates = Some(templates.path().to_owned());
            let told = notices.clone();
            knobs.notices = Arc::new(move |notice| told.lock().unwrap().push(notice.to_owned()));
            change(knobs);
            engine = knobs.runner.clone();
        });
        Self { host, engine, notices, templates }
    }

    /// The service, ended and started again.
    fn again(self, meanwhile: impl FnOnce(&StandIn)) -> Self {
        let Self { host, engine, templates, .. } = self;
        let data = host.stop();
        meanwhile(&engine);
        Self::on(data, templates, |knobs| knobs.runner = engine)
    }

    /// Builds and deploys a new deployment; its path.
    fn create(&self, name: &str) -> String {
        let body = creation(name, 1);
        let made = self.host.expect(201, "POST", "/v2/deployments", Some(&body));
        format!("/v2/deployments/{}", made["id"].as_str().unwrap())
    }

    /// Builds a deployment once more; the path of the revision.
    fn build(&self, path: &str) -> String {
        let patch = json!({ "source_revision_config": { "graph_config_path": "t/agent.json" } });
        latest(path, &self.host.expect(200, "PATCH", path, Some(&patch)))
    }

    /// The path of the newest revision.
    fn newest(&self, path: &str) -> String {
        latest(path, &self.host.expect(200, "GET", path, None))
    }

    /// Waits until a revision has this status.
    fn until(&self, revision: &str, status: &str) -> Value {
        self.host.until(revision, |it| it["status"] == status)
    }

    /// Everything that was done on the engine.
    fn acts(&self) -> Vec<String> {
        self.engine.acts()
    }

    fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap().clone()
    }

    fn log(&self, revision: &str) -> Vec<String> {
        let log = self.host.expect(200, "GET", &format!("{revision}/logs?limit=1000"), None);
        super::messages(&log).into_iter().map(str::to_owned).collect()
    }
}

/// A creation that is built, with so many replicas.
fn creation(name: &str, replicas: u32) -> Value {
    json!({
        "name": name,
        "source": "internal_template",
        "source_config": { "resource_spec": { "min_scale": replicas, "max_scale": replicas } },
        "source_revision_config": { "graph_config_path": "t/agent.json" },
        "secrets": [],
    })
}

fn latest(path: &str, deployment: &Value) -> String {
    format!("{path}/revisions/{}", deployment["latest_revision_id"].as_str().unwrap())
}

fn until(what: &str, is_done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_done() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn newer_revision_takes_over_and_the_older_one_is_removed() {
    let world = World::new(|_| ());
    let path = world.create("app");
    let first = world.newest(&path);
    world.until(&first, "DEPLOYED");
    let again = world.host.expect(200, "POST", &format!("{first}/redeploy"), None);
    world.until(&latest(&path, &again), "DEPLOYED");
    until("the removal of the first server", || world.engine.containers() == ["2-0"]);
    let expected = ["build 1", "create 1-0", "start 1-0", "pull 2", "create 2-0", "start 2-0"];
    assert_eq!(world.acts(), [&expected[..], &["stop 1-0", "remove 1-0"]].concat());
    world.until(&first, "DEPLOYED");
}

#[test]
fn containers_are_adopted_by_the_next_process() {
    let world = World::new(|_| ());
    let path = world.create("app");
    world.until(&world.newest(&path), "DEPLOYED");
    let before = world.acts();
    let world = world.again(|engine| engine.leave_container("agentcli-gone-9-0"));
    until("the removal of the orphan", || world.engine.containers() == ["1-0"]);
    assert_eq!(world.acts(), [&before[..], &["stop 9-0", "remove 9-0"].map(str::to_owned)].concat());
}

#[test]
fn interrupted_build_is_cancelled() {
    let world = World::new(|knobs| knobs.runner.faults = vec![(1, Fault::Stall)]);
    let path = world.create("app");
    let revision = world.newest(&path);
    until("the build", || world.acts() == ["build 1"]);
    world.host.expect(200, "POST", &format!("{revision}/interruption"), None);
    until("the end of the build", || world.acts() == ["build 1", "cancelled 1"]);
}

#[test]
fn failed_build_has_its_reason_and_the_active_revision_stays() {
    let world = World::new(|knobs| knobs.runner.faults = vec![(2, Fault::Build("the step failed"))]);
    let path = world.create("app");
    let first = world.until(&world.newest(&path), "DEPLOYED");
    let failed = world.until(&world.build(&path), "BUILD_FAILED");
    assert_eq!(failed["reason"], "the step failed");
    let deployment = world.host.expect(200, "GET", &path, None);
    assert_eq!(deployment["active_revision_id"], first["id"]);
    assert_eq!(world.engine.containers(), ["1-0"]);
}

#[test]
fn server_that_ends_twice_alike_fails_its_revision_and_the_active_one_stays() {
    const TRACEBACK: Fault = Fault::Crash(&[
        "  File \"/deps/app/src/shop.py\", line 26, in <module>",
        "    KEY = os.environ[\"SHOP_KEY\"]",
        "KeyError: 'SHOP_KEY'",
    ]);
    let world = World::new(|knobs| knobs.runner.faults = vec![(2, TRACEBACK)]);
    let path = world.create("app");
    let first = world.until(&world.newest(&path), "DEPLOYED");
    let failed = world.until(&world.build(&path), "DEPLOY_FAILED");
    assert_eq!(failed["reason"], "the server exited with code 3: src/shop.py:26: KeyError: 'SHOP_KEY'");
    let starts = world.acts().iter().filter(|act| *act == "start 2-0").count();
    assert_eq!(starts, 2);
    assert_eq!(world.host.expect(200, "GET", &path, None)["active_revision_id"], first["id"]);
}

#[test]
fn lost_engine_is_reported_once_and_waited_for() {
    let world = World::new(|knobs| knobs.runner.disappear(true));
    let path = world.create("app");
    until("the notice", || !world.notices().is_empty());
    sleep(Duration::from_millis(2500));
    assert_eq!(world.notices(), ["the engine is gone"]);
    world.engine.disappear(false);
    world.until(&world.newest(&path), "DEPLOYED");
    until("the end of the trouble", || world.notices().len() == 2);
}

#[test]
fn act_that_waits_is_told_once_and_its_end() {
    let world = World::new(|knobs| knobs.runner.fail_creations(3));
    let path = world.create("app");
    world.until(&world.newest(&path), "DEPLOYED");
    until("the end of the trouble", || world.notices().len() >= 2);
    assert_eq!(world.notices(), ["waiting for the database", "the trouble is over"]);
}

/// A tenant with more builds and probes that hang than are done at a time.
#[test]
fn one_tenant_does_not_hold_up_another() {
    let world = World::new(|knobs| {
        knobs.runner.hang("probe", "slow-");
        let store = Store::attach(&knobs.data).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.add_key("others", OTHER)).unwrap();
    });
    let count = |act: &str| world.acts().iter().filter(|it| it.starts_with(act)).count();
    for name in ["slow-1", "slow-2"] {
        world.host.expect(201, "POST", "/v2/deployments", Some(&creation(name, 20)));
    }
    until("the start of 40 servers", || count("start ") == 40);
    until("probes that hang", || count("probe ") == 16);
    let builds = count("build ");
    world.engine.hang("build", "slow-");
    for name in ["slow-3", "slow-4", "slow-5", "slow-6"] {
        world.create(name);
    }
    until("builds that hang", || count("build ") == builds + 2);
    let body = ("application/json", creation("other", 1).to_string().into_bytes());
    let made = world.host.send("POST", "/v2/deployments", &[("X-Api-Key", OTHER)], Some(body)).unwrap();
    let path = format!("/v2/deployments/{}", made.json["id"].as_str().unwrap());
    until("the deployment of the other tenant", || {
        let found = world.host.send("GET", &path, &[("X-Api-Key", OTHER)], None).unwrap();
        found.json["active_revision_id"].is_string()
    });
    // Nothing of the first tenant ended, and no more of it was begun.
    assert_eq!((count("probe "), count("build "), count("cancelled")), (16, builds + 3, 0));
}

#[test]
fn nothing_is_left_of_a_deleted_deployment() {
    let world = World::new(|_| ());
    let path = world.create("app");
    world.until(&world.newest(&path), "DEPLOYED");
    let tags = world.engine.image_tags();
    assert_eq!(world.host.ask("DELETE", &path, None).status, 204);
    until("the end", || world.acts().last().is_some_and(|act| act.starts_with("forget ")));
    assert_eq!(world.engine.containers(), Vec::<String>::new());
    let forget = format!("forget {}", path.rsplit('/').next().unwrap());
    let untag = format!("untag {}", tags[0]);
    assert_eq!(world.acts()[3..], ["stop 1-0", "remove 1-0", &untag, &forget]);
}

#[test]
fn image_that_was_removed_is_built_again_and_unknown_ones_are_removed() {
    let world = World::new(|_| ());
    let path = world.create("app");
    let first = world.newest(&path);
    world.until(&first, "DEPLOYED");
    // The second revision repeats an image that is there as far as is known.
    world.engine.disappear(true);
    world.engine.remove_images();
    world.engine.leave_image("agentcli-host-x/of-a-killed-build:1");
    let again = world.host.expect(200, "POST", &format!("{first}/redeploy"), None);
    world.engine.disappear(false);
    // What repeats it is built.
    world.until(&latest(&path, &again), "DEPLOYED");
    until("the removal", || world.engine.image_tags().len() == 1);
    assert!(world.engine.image_tags()[0].ends_with(":2"), "{:?}", world.engine.image_tags());
    let acts = world.acts();
    assert!(acts.contains(&"build 2".to_owned()) && !acts.contains(&"pull 2".to_owned()), "{acts:?}");
}

#[test]
fn output_is_logged_once_and_that_of_a_container_that_ended_too() {
    let world = World::new(|knobs| knobs.runner.print(1, "one"));
    let path = world.create("app");
    let revision = world.newest(&path);
    until("the first line", || world.log(&revision).contains(&"one".to_owned()));
    let world = world.again(|engine| {
        engine.print(2, "two");
        engine.crash();
    });
    until("the last line", || world.log(&revision).contains(&"two".to_owned()));
    let lines = world.log(&revision).into_iter().filter(|line| line == "one" || line == "two");
    assert_eq!(lines.collect::<Vec<_>>(), ["one", "two"]);
}
