//! An engine in memory, whose servers are healthy as soon as they run.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use agentcli_host::runner::{
    Act, BuildJob, ContainerState, ContainerStatus, Failure, Launch, LineSink, LogSink, PullJob, Runner,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

#[derive(Default)]
pub(crate) struct FakeEngine(Mutex<State>);

#[derive(Default)]
struct State {
    containers: BTreeMap<String, ContainerStatus>,
    images: BTreeSet<String>,
    acts: Vec<String>,
    builds_hang: bool,
    builds_fail: Option<String>,
    /// Acts that hang: what is done, and how the names of the revisions begin.
    hanging: Vec<(&'static str, &'static str)>,
    /// Number of creations that fail until the engine can do one.
    failing_creations: usize,
    is_gone: bool,
    /// The output of every container.
    output: Vec<(i64, String)>,
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

    /// Lets an act hang for the revisions whose names begin so.
    pub(crate) fn hang(&self, act: &'static str, revisions: &'static str) {
        self.state().hanging.push((act, revisions));
    }

    pub(crate) fn fail_creations(&self, count: usize) {
        self.state().failing_creations = count;
    }

    fn hangs(&self, act: &str, revision: &str) -> bool {
        self.state().hanging.iter().any(|(hanging, of)| *hanging == act && revision.starts_with(of))
    }

    pub(crate) fn fail_builds(&self, reason: &str) {
        self.state().builds_fail = Some(reason.to_owned());
    }

    pub(crate) fn disappear(&self, is_gone: bool) {
        self.state().is_gone = is_gone;
    }

    /// Prints a line in every container at this time.
    pub(crate) fn print(&self, time: i64, line: &str) {
        self.state().output.push((time, line.to_owned()));
    }

    /// Ends all containers.
    pub(crate) fn crash(&self) {
        let exited = ContainerState::Exited { code: 1, ran: Duration::from_secs(1) };
        self.state().containers.values_mut().for_each(|it| it.state = exited);
    }

    pub(crate) fn remove_image_secretly(&self, tag: &str) {
        assert!(self.state().images.remove(tag));
    }

    /// Adds the image of a build that was killed.
    pub(crate) fn leave_image(&self, tag: &str) {
        self.state().images.insert(tag.to_owned());
    }

    pub(crate) fn image_tags(&self) -> Vec<String> {
        self.state().images.iter().cloned().collect()
    }

    /// Adds a container of a deployment that is not recorded.
    pub(crate) fn orphan(&self, name: &str) {
        let orphan = status(name, "gone", "gone", 0, ContainerState::Running);
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

fn status(
    name: &str,
    deployment: &str,
    revision: &str,
    replica: u32,
    state: ContainerState,
) -> ContainerStatus {
    ContainerStatus {
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
    fn observe(&self) -> Act<'_, Vec<ContainerStatus>> {
        let state = self.state();
        let found = match state.is_gone {
            true => Err(Failure::Unavailable("the engine is gone".to_owned())),
            false => Ok(state.containers.values().cloned().collect()),
        };
        async { found }.boxed()
    }

    fn images(&self) -> Act<'_, Vec<String>> {
        let images = self.state().images.iter().cloned().collect();
        async { Ok(images) }.boxed()
    }

    fn build(&self, job: BuildJob, _: LogSink) -> Act<'_, ()> {
        async move {
            let revision = job.tag.trim_start_matches("tag:").to_owned();
            self.act(format!("build {revision}"), |_| ()).await?;
            let (hangs, fails) = {
                let state = self.state();
                (state.builds_hang, state.builds_fail.clone())
            };
            if hangs || self.hangs("build", &revision) {
                let _guard = Cancelled(self, revision);
                pending::<()>().await;
            }
            if let Some(reason) = fails {
                return Err(Failure::Refused(reason));
            }
            self.state().images.insert(job.tag);
            Ok(())
        }
        .boxed()
    }

    fn has_image<'a>(&'a self, _: &'a str) -> Act<'a, bool> {
        async { Ok(true) }.boxed()
    }

    fn pull(&self, job: PullJob, _: LogSink) -> Act<'_, ()> {
        self.act(format!("pull {}", job.image), move |state| {
            state.images.insert(job.tag);
        })
    }

    fn create(&self, launch: Launch) -> Act<'_, ()> {
        let name = format!("{}-{}", launch.revision, launch.replica);
        let failing = &mut self.state().failing_creations;
        if let Some(rest) = failing.checked_sub(1) {
            *failing = rest;
            return async { Err(Failure::Unavailable("waiting for the database".to_owned())) }.boxed();
        }
        self.act(format!("create {name}"), move |state| {
            let Launch { deployment, revision, replica, .. } = &launch;
            let status = status(&name, deployment, revision, *replica, ContainerState::Created);
            state.containers.insert(name, status);
        })
    }

    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        self.act(format!("start {container}"), move |state| {
            state.containers.get_mut(container).unwrap().state = ContainerState::Running;
        })
    }

    fn probe<'a>(&'a self, status: &'a ContainerStatus) -> BoxFuture<'a, bool> {
        async move {
            if self.hangs("probe", &status.revision) {
                self.state().acts.push(format!("probe {}", status.name));
                pending::<()>().await;
            }
            status.state == ContainerState::Running
        }
        .boxed()
    }

    fn version<'a>(&'a self, _: &'a ContainerStatus) -> BoxFuture<'a, Option<String>> {
        async { None }.boxed()
    }

    fn stop<'a>(&'a self, container: &'a str, _: Duration) -> Act<'a, ()> {
        self.act(format!("stop {container}"), move |state| {
            let exited = ContainerState::Exited { code: 0, ran: Duration::ZERO };
            state.containers.get_mut(container).unwrap().state = exited;
        })
    }

    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        self.act(format!("remove {container}"), move |state| {
            state.containers.remove(container);
        })
    }

    fn remove_image<'a>(&'a self, tag: &'a str) -> Act<'a, ()> {
        self.act(format!("untag {tag}"), move |state| {
            state.images.remove(tag);
        })
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Act<'a, ()> {
        self.act(format!("forget {deployment}"), |_| ())
    }

    fn last_lines<'a>(&'a self, _: &'a str, _: usize) -> Act<'a, Vec<String>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn follow<'a>(&'a self, _: &'a str, after: i64, line: LineSink) -> Act<'a, ()> {
        let output = self.state().output.clone();
        output.into_iter().filter(|(time, _)| *time > after).for_each(|(time, text)| line(time, text));
        async { Ok(()) }.boxed()
    }
}
