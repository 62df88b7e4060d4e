//! The loop: observe, decide, act.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep};

use agentcli::api::wire::LogLevel;

use super::action::{Action, Key};
use super::acts::{Acts, Outcome, Task};
use super::decide::decide;
use super::memory::Memory;
use super::recorder::Recorder;
use super::routing::Published;
use super::state::{Container, Desired, Revision, State};
use super::troubles::Troubles;
use crate::proxy::Routes;
use crate::runner::{ContainerState, ContainerStatus, Runner};
use crate::store::LogKind;

/// Intervals of the decisions when nothing happens, and while servers start.
const TICK: Duration = Duration::from_secs(1);
const STARTING_TICK: Duration = Duration::from_millis(200);

/// Pause between two decisions, in which events gather.
const PAUSE: Duration = Duration::from_millis(10);

/// Pause before an act that could not be done is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Receives notices for the operator of the host.
pub(super) type Notices = Arc<dyn Fn(&str) + Send + Sync>;

/// Keeps what runs in line with what is recorded.
pub(crate) struct Reconciler<R> {
    recorder: Arc<Recorder>,
    runner: Arc<R>,
    routes: Arc<Routes>,
    wake: Arc<Notify>,
    acts: Arc<Acts<R>>,
    notices: Notices,
    memory: Memory,
    published: Published,
    /// Acts in progress; further ones about the same thing wait for their end.
    busy: HashMap<Key, Busy>,
    running: JoinSet<(Key, Ended)>,
    /// Acts that could not be done, and the time from which they are tried again.
    paused: HashMap<Key, Instant>,
    /// The interval until the next decision.
    interval: Duration,
    /// The trouble that the operator is notified of.
    troubles: Troubles,
    /// By ID of a revision: the trouble that its log has.
    logged: HashMap<String, String>,
}

/// An act in progress.
struct Busy {
    task: AbortHandle,
    /// ID of the deployment that it changes.
    deployment: Option<String>,
}

/// The end of a task.
enum Ended {
    /// With the ID of the revision that it is about.
    Act(Option<String>, Outcome),
    Drained,
    /// The output of a container, in this state, was read to the end.
    Followed(ContainerState),
}

impl<R: Runner> Reconciler<R> {
    /// A reconciler that writes `routes`. Its decisions begin with [`Reconciler::run`].
    pub(crate) fn new(recorder: Recorder, runner: Arc<R>, routes: Arc<Routes>, notices: Notices) -> Self {
        let recorder = Arc::new(recorder);
        let acts = Arc::new(Acts::new(recorder.clone(), runner.clone()));
        Self {
            recorder,
            runner,
            routes,
            wake: Arc::default(),
            acts,
            notices,
            memory: Memory::default(),
            published: Published::default(),
            busy: HashMap::new(),
            running: JoinSet::new(),
            paused: HashMap::new(),
            interval: TICK,
            troubles: Troubles::default(),
            logged: HashMap::new(),
        }
    }

    /// Makes it decide at once, after a change of the record.
    pub(crate) fn wake(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Reconciles until `end`. Acts in progress are dropped; the containers run on, and are found by the next process.
    pub(crate) async fn run(mut self, end: impl Future<Output = ()>) {
        let mut end = std::pin::pin!(end);
        loop {
            let trouble = tokio::select! {
                ticked = self.tick() => ticked.err(),
                () = &mut end => return,
            };
            self.troubles.set(None, trouble);
            self.troubles.notices().iter().for_each(|notice| (self.notices)(notice));
            tokio::select! {
                () = self.event() => sleep(PAUSE).await,
                () = &mut end => return,
            }
        }
    }

    /// Waits until there may be something to do.
    async fn event(&mut self) {
        let ended = tokio::select! {
            Some(ended) = self.running.join_next_with_id() => Some(ended),
            () = self.wake.notified() => None,
            () = self.routes.wanted() => None,
            () = sleep(self.interval) => None,
        };
        if let Some(ended) = ended {
            self.reap(ended);
        }
    }

    /// Decides once, and begins what is to be done.
    async fn tick(&mut self) -> Result<(), String> {
        // What ends from here on counts as in progress: the state that is read may be older than its end.
        while let Some(ended) = self.running.try_join_next_with_id() {
            self.reap(ended);
        }
        let mut desired = self.recorder.desired().await?;
        let statuses = self.runner.observe().await.map_err(|failure| failure.to_string())?;
        let images = self.runner.images().await.map_err(|failure| failure.to_string())?;
        let observed = self.memory.observed(&desired, &statuses, images, &self.routes);
        self.forget(&desired);
        let is_starting = |container: &Container| {
            matches!(container.state, State::Running { .. }) && !container.is_healthy()
        };
        self.interval = if observed.containers.iter().any(is_starting) { STARTING_TICK } else { TICK };
        let actions = decide(&desired, &observed, self.memory.now());
        let wanted: HashSet<Key> = actions.iter().map(Action::key).collect();
        self.cancel(&wanted);
        self.troubles.retain(|key| wanted.contains(key) || self.busy.contains_key(key));
        // Traffic comes first: a revision that is recorded as deployed has it, and one that is drained has none.
        let mut drains = Vec::new();
        for action in &actions {
            match action {
                Action::Switch { deployment, to, .. } => {
                    let switched = desired.iter_mut().filter(|it| it.id == *deployment);
                    switched.for_each(|it| it.active = Some(to.clone()));
                }
                Action::Drain { container, grace } if self.memory.begin_drain(container) => {
                    drains.push((container.clone(), *grace));
                }
                _ => {}
            }
        }
        let taken = self.published.update(&self.routes, &desired, &observed, &self.memory);
        for (container, grace) in drains {
            self.drain(container, grace, &statuses);
        }
        for action in actions.into_iter().filter(|action| !matches!(action, Action::Drain { .. })) {
            self.begin(action, &desired, &statuses);
        }
        for status in &statuses {
            if self.memory.has_output(status) {
                self.follow(status);
            }
        }
        if taken.is_empty() { Ok(()) } else { Err(taken.join("; ")) }
    }

    /// Forgets pauses that are over, and the trouble of revisions that are gone.
    fn forget(&mut self, desired: &[Desired]) {
        let now = Instant::now();
        self.paused.retain(|_, until| *until > now);
        self.logged.retain(|revision, _| {
            desired.iter().any(|deployment| deployment.revisions.iter().any(|it| it.id == *revision))
        });
    }

    /// Stops builds and pulls that are no longer wanted.
    fn cancel(&mut self, wanted: &HashSet<Key>) {
        self.busy.retain(|key, busy| {
            let is_over = key.is_transfer() && !wanted.contains(key);
            if is_over {
                busy.task.abort();
            }
            !is_over
        });
    }

    fn begin(&mut self, action: Action, desired: &[Desired], statuses: &[ContainerStatus]) {
        let key = action.key();
        let is_paused = self.paused.get(&key).is_some_and(|until| *until > Instant::now());
        if is_paused || self.busy.contains_key(&key) || self.has_to_wait(&action) {
            return;
        }
        let id = action.revision().map(str::to_owned);
        let mut revisions = desired.iter().flat_map(|deployment| &deployment.revisions);
        let revision = revisions.find(|revision: &&Revision| Some(&revision.id) == id.as_ref()).cloned();
        let status = statuses.iter().find(|status| action.concerns(status)).cloned();
        let acts = self.acts.clone();
        let deployment = action.deployment().map(str::to_owned);
        let of = deployment.as_ref().or(status.as_ref().map(|status| &status.deployment));
        let tenant = desired.iter().find(|it| Some(&it.id) == of).map(|it| it.tenant.clone());
        let task = Task { action, tenant: tenant.unwrap_or_default(), revision, status };
        self.spawn(key, deployment, async move { Ended::Act(id, acts.perform(task).await) });
    }

    /// Whether acts in progress must end before this one: a deployment is forgotten last, since a container that is being
    /// created may be creating its database, and a build may be about to tag its image.
    fn has_to_wait(&self, action: &Action) -> bool {
        match action {
            Action::Forget { deployment } => {
                self.busy.values().any(|busy| busy.deployment.as_ref() == Some(deployment))
            }
            _ => false,
        }
    }

    fn drain(&mut self, container: String, grace: Duration, statuses: &[ContainerStatus]) {
        let address = statuses.iter().find(|it| it.name == container).and_then(|it| it.address);
        let routes = self.routes.clone();
        self.spawn(Key::new("drain", &container), None, async move {
            if let Some(address) = address {
                routes.drain(address, grace).await;
            }
            Ended::Drained
        });
    }

    fn follow(&mut self, status: &ContainerStatus) {
        let key = Key::new("follow", &status.name);
        if !self.busy.contains_key(&key) {
            let (acts, status) = (self.acts.clone(), status.clone());
            self.spawn(key, None, async move {
                acts.follow(&status).await;
                if status.state == ContainerState::Running {
                    // A container without output, or an engine that is gone, is asked again after a while.
                    sleep(RETRY).await;
                }
                Ended::Followed(status.state)
            });
        }
    }

    fn spawn(
        &mut self,
        key: Key,
        deployment: Option<String>,
        task: impl Future<Output = Ended> + Send + 'static,
    ) {
        let own = key.clone();
        let task = self.running.spawn(async move { (own, task.await) });
        self.busy.insert(key, Busy { task, deployment });
    }

    /// Takes note of the end of a task. One that was cancelled or panicked is begun again when it is decided again.
    fn reap(&mut self, ended: Result<(tokio::task::Id, (Key, Ended)), tokio::task::JoinError>) {
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        self.busy.retain(|_, busy| busy.task.id() != id);
        let Ok((_, (key, ended))) = ended else { return };
        self.paused.remove(&key);
        if !matches!(ended, Ended::Act(_, Outcome::Later(_))) {
            self.troubles.set(Some(key.clone()), None);
        }
        match ended {
            Ended::Act(Some(revision), Outcome::Attempted) => self.memory.attempted(&revision),
            Ended::Act(_, Outcome::Probed { is_healthy }) => self.memory.probed(key.name(), is_healthy),
            Ended::Act(revision, Outcome::Later(reason)) => {
                if let Some(revision) = revision {
                    self.log(revision, &reason);
                }
                self.troubles.set(Some(key.clone()), Some(reason));
                self.paused.insert(key, Instant::now() + RETRY);
            }
            Ended::Drained => self.memory.drained(key.name()),
            Ended::Followed(state) => self.memory.read(key.name(), state),
            Ended::Act(_, Outcome::Done | Outcome::Attempted) => {}
        }
    }

    /// Logs why a revision waits, once. Where the engine and the databases of this host are, is not for its user.
    fn log(&mut self, revision: String, reason: &str) {
        let reason = &without_places(reason);
        if self.logged.get(&revision).is_none_or(|logged| logged != reason) {
            self.recorder.log(&revision, LogKind::Deploy, LogLevel::Warning, reason);
            self.logged.insert(revision, reason.to_owned());
        }
    }
}

/// `text` with `…` for paths and URLs.
fn without_places(text: &str) -> String {
    let is_place = |word: &str| {
        let word = word.trim_matches(|c: char| "`'\"(),;".contains(c));
        word.starts_with('/') || word.contains("://")
    };
    text.split(' ').map(|word| if is_place(word) { "…" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_not_told_where_the_engine_is() {
        let reason =
            "cannot connect to the container engine at `unix:///run/a.sock`: no such file; found at /run/b";
        let expected = "cannot connect to the container engine at … no such file; found at …";
        assert_eq!(without_places(reason), expected);
    }
}
