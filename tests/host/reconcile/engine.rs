//! An engine in memory, whose servers are healthy as soon as they run.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use agentcli_host::runner::{Act, BuildJob, Failure, Launch, LogSink, PullJob, Runner, Seen, SeenState};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

#[derive(Default)]
pub(crate) struct FakeEngine(Mutex<State>);

#[derive(Default)]
struct State {
    containers: BTreeMap<String, Seen>,
    acts: Vec<String>,
    builds_hang: bool,
    builds_fail: Option<String>,
    is_gone: bool,
}

/// Notes that a build was cancelled.
struct Cancelled<'a>(&'a FakeEngine, String);

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        self.0.state().acts.push(format!("cancelled {}", self.1));
    }
}

impl FakeEngine {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Everything that was done, in order.
    pub(crate) fn acts(&self) -> Vec<String> {
        self.state().acts.clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().containers.keys().cloned().collect()
    }

    pub(crate) fn hang_builds(&self) {
        self.state().builds_hang = true;
    }

    pub(crate) fn fail_builds(&self, reason: &str) {
        self.state().builds_fail = Some(reason.to_owned());
    }

    pub(crate) fn disappear(&self, is_gone: bool) {
        self.state().is_gone = is_gone;
    }

    /// Adds a container of a deployment that is not recorded.
    pub(crate) fn orphan(&self, name: &str) {
        let orphan = seen(name, "gone", "gone", 0, SeenState::Running);
        self.state().containers.insert(name.to_owned(), orphan);
    }

    /// Notes an act, and does it unless the engine is gone.
    fn act<'a>(&'a self, act: String, change: impl FnOnce(&mut State) + Send + 'a) -> Act<'a, ()> {
        async move {
            let mut state = self.state();
            if state.is_gone {
                return Err(Failure::Unavailable("the engine is gone".to_owned()));
            }
            state.acts.push(act);
            change(&mut state);
            Ok(())
        }
        .boxed()
    }
}

fn seen(name: &str, deployment: &str, revision: &str, replica: u32, state: SeenState) -> Seen {
    Seen {
        name: name.to_owned(),
        deployment: deployment.to_owned(),
        revision: revision.to_owned(),
        replica,
        state,
        address: None,
        health_check: "/ok".to_owned(),
    }
}

impl Runner for FakeEngine {
    fn observe(&self) -> Act<'_, Vec<Seen>> {
        let state = self.state();
        let found = match state.is_gone {
            true => Err(Failure::Unavailable("the engine is gone".to_owned())),
            false => Ok(state.containers.values().cloned().collect()),
        };
        async { found }.boxed()
    }

    fn build(&self, job: BuildJob, _: LogSink) -> Act<'_, ()> {
        async move {
            let revision = job.tag.trim_start_matches("tag:").to_owned();
            self.act(format!("build {revision}"), |_| ()).await?;
            let (hangs, fails) = {
                let state = self.state();
                (state.builds_hang, state.builds_fail.clone())
            };
            if hangs {
                let _guard = Cancelled(self, revision);
                pending::<()>().await;
            }
            fails.map_or(Ok(()), |reason| Err(Failure::Refused(reason)))
        }
        .boxed()
    }

    fn has_image<'a>(&'a self, _: &'a str) -> Act<'a, bool> {
        async { Ok(true) }.boxed()
    }

    fn pull(&self, job: PullJob, _: LogSink) -> Act<'_, ()> {
        self.act(format!("pull {}", job.image), |_| ())
    }

    fn create(&self, launch: Launch) -> Act<'_, ()> {
        let name = format!("{}-{}", launch.revision, launch.replica);
        self.act(format!("create {name}"), move |state| {
            let Launch { deployment, revision, replica, .. } = &launch;
            let seen = seen(&name, deployment, revision, *replica, SeenState::Created);
            state.containers.insert(name, seen);
        })
    }

    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        self.act(format!("start {container}"), move |state| {
            state.containers.get_mut(container).unwrap().state = SeenState::Running;
        })
    }

    fn probe<'a>(&'a self, seen: &'a Seen) -> BoxFuture<'a, bool> {
        async move { seen.state == SeenState::Running }.boxed()
    }

    fn stop<'a>(&'a self, container: &'a str, _: Duration) -> Act<'a, ()> {
        self.act(format!("stop {container}"), move |state| {
            let exited = SeenState::Exited { code: 0, ran: Duration::ZERO };
            state.containers.get_mut(container).unwrap().state = exited;
        })
    }

    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        self.act(format!("remove {container}"), move |state| {
            state.containers.remove(container);
        })
    }

    fn remove_image<'a>(&'a self, tag: &'a str) -> Act<'a, ()> {
        self.act(format!("untag {tag}"), |_| ())
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Act<'a, ()> {
        self.act(format!("forget {deployment}"), |_| ())
    }

    fn last_lines<'a>(&'a self, _: &'a str, _: usize) -> Act<'a, Vec<String>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn follow<'a>(&'a self, _: &'a str, _: i32, _: Box<dyn Fn(String) + Send + Sync>) -> Act<'a, ()> {
        async { Ok(()) }.boxed()
    }
}
