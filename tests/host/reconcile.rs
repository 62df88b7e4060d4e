//! The reconciler, with a record in memory.

mod book;
mod engine;

use std::sync::Arc;
use std::time::Duration;

use agentcli_host::proxy::Routes;
use agentcli_host::reconcile::{Desired, Phase, Reconciler, Scale, Source};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) use book::{Book, deployment};
use engine::FakeEngine;

/// Timeout for anything that should be quick.
const PATIENCE: Duration = Duration::from_secs(30);

/// A reconciler that runs in the background.
pub(crate) struct Running {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start<R: agentcli_host::runner::Runner>(
        book: &Arc<Book>,
        runner: &Arc<R>,
        routes: &Arc<Routes>,
    ) -> Self {
        let reconciler = Reconciler::new(book.clone(), runner.clone(), routes.clone());
        let (stop, stopped) = oneshot::channel();
        let end = async { stopped.await.unwrap_or_default() };
        Self { stop: Some(stop), task: tokio::spawn(reconciler.run(end)) }
    }

    pub(crate) async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// Waits until `is_done`.
pub(crate) async fn until(what: &str, patience: Duration, is_done: impl Fn() -> bool) {
    let wait = async {
        while !is_done() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(patience, wait).await.unwrap_or_else(|_| panic!("{what} did not happen"));
}

fn set_up() -> (Arc<Book>, Arc<FakeEngine>, Running) {
    let (book, engine) = (Arc::new(Book::new(deployment("d", "agent"))), Arc::new(FakeEngine::default()));
    let running = Running::start(&book, &engine, &Arc::default());
    (book, engine, running)
}

#[tokio::test]
async fn newer_revision_takes_over_and_the_older_one_is_removed() {
    let (book, engine, running) = set_up();
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().as_deref() == Some("r1")).await;
    book.deploy("r2", Source::Kept("tag:r1".to_owned()));
    until("r2", PATIENCE, || book.active().as_deref() == Some("r2")).await;
    until("the removal of r1", PATIENCE, || engine.names() == ["r2-0"]).await;
    let expected = ["build r1", "create r1-0", "start r1-0", "pull tag:r1", "create r2-0", "start r2-0"];
    assert_eq!(engine.acts(), [&expected[..], &["stop r1-0", "remove r1-0"]].concat());
    assert_eq!((book.phase("r1"), book.phase("r2")), (Phase::Deployed, Phase::Deployed));
    running.stop().await;
}

#[tokio::test]
async fn containers_are_adopted_by_the_next_process() {
    let (book, engine, running) = set_up();
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().is_some()).await;
    running.stop().await;
    let before = engine.acts();
    engine.orphan("gone-0");
    let running = Running::start(&book, &engine, &Arc::default());
    until("the removal of the orphan", PATIENCE, || engine.names() == ["r1-0"]).await;
    assert_eq!(engine.acts(), [&before[..], &["stop gone-0", "remove gone-0"].map(str::to_owned)].concat());
    running.stop().await;
}

#[tokio::test]
async fn interrupted_build_is_cancelled() {
    let (book, engine, running) = set_up();
    engine.hang_builds();
    book.deploy("r1", Source::Build);
    until("the build", PATIENCE, || engine.acts() == ["build r1"]).await;
    book.interrupt("r1");
    until("the end of the build", PATIENCE, || engine.acts() == ["build r1", "cancelled r1"]).await;
    running.stop().await;
}

#[tokio::test]
async fn failed_build_has_its_reason_and_the_active_revision_stays() {
    let (book, engine, running) = set_up();
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().is_some()).await;
    engine.fail_builds("the step failed");
    book.deploy("r2", Source::Build);
    until("the failure", PATIENCE, || book.phase("r2") == Phase::BuildFailed).await;
    assert_eq!(book.reason("r2").as_deref(), Some("the step failed"));
    assert_eq!((book.active().as_deref(), engine.names()), (Some("r1"), vec!["r1-0".to_owned()]));
    running.stop().await;
}

#[tokio::test]
async fn lost_engine_is_reported_once_and_waited_for() {
    let (book, engine, running) = set_up();
    engine.disappear(true);
    book.deploy("r1", Source::Build);
    until("the notice", PATIENCE, || !book.notices().is_empty()).await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(book.notices(), ["the engine is gone"]);
    engine.disappear(false);
    until("r1", PATIENCE, || book.active().is_some()).await;
    until("the end of the trouble", PATIENCE, || book.notices().len() == 2).await;
    running.stop().await;
}

#[tokio::test]
async fn act_that_waits_is_told_once_and_its_end() {
    let (book, engine, running) = set_up();
    engine.fail_creations(3);
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().is_some()).await;
    until("the end of the trouble", PATIENCE, || book.notices().len() >= 2).await;
    assert_eq!(book.notices(), ["waiting for the database", "the trouble is over"]);
    running.stop().await;
}

/// A tenant with more builds and probes that hang than are done at a time.
#[tokio::test]
async fn one_tenant_does_not_hold_up_another() {
    let many = |id: &str| Desired { scale: Scale { min: 20, max: 20 }, ..deployment(id, id) };
    let book = Arc::new(Book::new(many("probes-0")));
    book.add(many("probes-1"));
    for index in 0..4 {
        book.add(deployment(&format!("builds-{index}"), &format!("builds-{index}")));
    }
    book.add(Desired { tenant: "another".to_owned(), ..deployment("other", "other") });
    let engine = Arc::new(FakeEngine::default());
    let running = Running::start(&book, &engine, &Arc::default());
    let count = |act: &str| engine.acts().iter().filter(|it| it.starts_with(act)).count();
    engine.hang("probe", "slow-");
    book.deploy_of(0, "slow-0", Source::Build);
    book.deploy_of(1, "slow-1", Source::Build);
    until("the start of 40 servers", PATIENCE, || count("start slow-") == 40).await;
    until("probes that hang", PATIENCE, || count("probe slow-") == 16).await;
    engine.hang("build", "slow-");
    for index in 2..6 {
        book.deploy_of(index, &format!("slow-{index}"), Source::Build);
    }
    until("builds that hang", PATIENCE, || count("build slow-") == 4).await;
    book.deploy_of(6, "r1", Source::Build);
    until("the deployment of the other tenant", PATIENCE, || {
        book.active_of("other").as_deref() == Some("r1")
    })
    .await;
    // Nothing of the first tenant ended, and no more of it was begun.
    assert_eq!((count("probe slow-"), count("build slow-"), count("cancelled")), (16, 4, 0));
    running.stop().await;
}

#[tokio::test]
async fn nothing_is_left_of_a_deleted_deployment() {
    let (book, engine, running) = set_up();
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().is_some()).await;
    book.delete();
    until("the end", PATIENCE, || book.is_empty()).await;
    assert_eq!(engine.names(), Vec::<String>::new());
    assert_eq!(engine.acts()[3..], ["stop r1-0", "remove r1-0", "untag tag:r1", "forget d"]);
    running.stop().await;
}

#[tokio::test]
async fn image_that_was_removed_is_built_again_and_unknown_ones_are_removed() {
    let (book, engine, running) = set_up();
    book.deploy("r1", Source::Build);
    until("r1", PATIENCE, || book.active().is_some()).await;
    engine.leave_image("tag:of-a-killed-build");
    engine.remove_image_secretly("tag:r1");
    until("the removal", PATIENCE, || engine.image_tags().is_empty()).await;
    // What repeats it is built, and so is what has to be created again.
    book.deploy("r2", Source::Kept("tag:r1".to_owned()));
    until("r2", PATIENCE, || book.active().as_deref() == Some("r2")).await;
    assert_eq!(engine.image_tags(), ["tag:r2"]);
    assert!(!engine.acts().contains(&"pull tag:r1".to_owned()), "{:?}", engine.acts());
    running.stop().await;
}

#[tokio::test]
async fn output_is_logged_once_and_that_of_a_container_that_ended_too() {
    let (book, engine, running) = set_up();
    engine.print(1, "one");
    book.deploy("r1", Source::Build);
    until("the first line", PATIENCE, || book.lines().contains(&"one".to_owned())).await;
    running.stop().await;
    engine.print(2, "two");
    engine.crash();
    let running = Running::start(&book, &engine, &Arc::default());
    until("the last line", PATIENCE, || book.lines().contains(&"two".to_owned())).await;
    running.stop().await;
    let output = book.lines().into_iter().filter(|line| line == "one" || line == "two");
    assert_eq!(output.collect::<Vec<_>>(), ["one", "two"]);
}
