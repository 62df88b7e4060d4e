//! A record in memory.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentcli::api::wire::LogLevel;
use agentcli_host::reconcile::{
    Desired, Journal, Output, Phase, PhaseChange, Recorded, Revision, Scale, Source, Stage,
};
use agentcli_host::runner::{BuildJob, Launch, Origin, PullFrom, PullJob, image_tag};
use futures_util::FutureExt as _;

/// The record, and what it was told.
pub(crate) struct Book {
    state: Mutex<State>,
    /// ID of the host, and the archive of all builds.
    archive: Option<(String, PathBuf)>,
}

struct State {
    desired: Vec<Desired>,
    lines: Vec<String>,
    /// The time of the last line of a container: there is one at a time.
    logged_until: i64,
    notices: Vec<String>,
}

/// A deployment without revisions.
pub(crate) fn deployment(id: &str, name: &str) -> Desired {
    Desired {
        id: id.to_owned(),
        tenant: "tenant".to_owned(),
        name: name.to_owned(),
        hosts: Vec::new(),
        is_deleted: false,
        scale: Scale { min: 1, max: 1 },
        grace: Duration::from_secs(20),
        revisions: Vec::new(),
        active: None,
    }
}

impl Book {
    pub(crate) fn new(deployment: Desired) -> Self {
        let state =
            State { desired: vec![deployment], lines: Vec::new(), logged_until: 0, notices: Vec::new() };
        Self { state: Mutex::new(state), archive: None }
    }

    /// The same of a real host, whose builds are of this archive.
    #[cfg(feature = "system-tests")]
    pub(crate) fn of_archive(self, host: &str, archive: PathBuf) -> Self {
        Self { archive: Some((host.to_owned(), archive)), ..self }
    }

    fn tag(&self, revision: &str) -> String {
        self.change(revision, |revision| revision.tag.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn change<T>(&self, revision: &str, change: impl FnOnce(&mut Revision) -> T) -> T {
        let mut state = self.state();
        let mut all = state.desired.iter_mut().flat_map(|it| &mut it.revisions);
        change(all.find(|it| it.id == revision).unwrap())
    }

    /// Adds another deployment.
    pub(crate) fn add(&self, deployment: Desired) {
        self.state().desired.push(deployment);
    }

    /// Deploys the first deployment.
    pub(crate) fn deploy(&self, id: &str, source: Source) {
        self.deploy_of(0, id, source);
    }

    /// Deploys the deployment of this index.
    pub(crate) fn deploy_of(&self, index: usize, id: &str, source: Source) {
        let state = &mut *self.state();
        let number = state.desired[index].revisions.len() as u64 + 1;
        let tag = match &self.archive {
            Some((host, _)) => image_tag(host, &state.desired[index].name, number),
            None => format!("tag:{id}"),
        };
        let (id, phase) = (id.to_owned(), Phase::Creating);
        state.desired[index].revisions.push(Revision {
            id,
            number,
            phase,
            source,
            tag,
            image: None,
            attempts: 0,
            last_error: None,
        });
    }

    pub(crate) fn interrupt(&self, revision: &str) {
        self.change(revision, |revision| revision.phase = Phase::Interrupted);
    }

    pub(crate) fn delete(&self) {
        self.state().desired[0].is_deleted = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().desired.is_empty()
    }

    pub(crate) fn active(&self) -> Option<String> {
        self.state().desired.first()?.active.clone()
    }

    pub(crate) fn active_of(&self, deployment: &str) -> Option<String> {
        self.state().desired.iter().find(|it| it.id == deployment)?.active.clone()
    }

    pub(crate) fn phase(&self, revision: &str) -> Phase {
        self.change(revision, |revision| revision.phase)
    }

    pub(crate) fn reason(&self, revision: &str) -> Option<String> {
        self.change(revision, |revision| revision.last_error.clone())
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.state().notices.clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.state().lines.clone()
    }
}

impl Journal for Book {
    fn desired(&self) -> Recorded<'_, Vec<Desired>> {
        async { Ok(self.state().desired.clone()) }.boxed()
    }

    fn advance(&self, change: PhaseChange) -> Recorded<'_, bool> {
        let PhaseChange { revision, from, to, reason } = change;
        let changed = self.change(&revision, |revision| {
            let is_from = revision.phase == from;
            if is_from {
                revision.phase = to;
                revision.last_error = reason.or(revision.last_error.take());
            }
            is_from
        });
        async move { Ok(changed) }.boxed()
    }

    fn switch<'a>(
        &'a self,
        deployment: &'a str,
        from: Option<&'a str>,
        to: &'a str,
        _: Option<String>,
    ) -> Recorded<'a, bool> {
        let mut state = self.state();
        let deployment = state.desired.iter_mut().find(|it| it.id == deployment).unwrap();
        let revision = deployment.revisions.iter_mut().find(|it| it.id == to).unwrap();
        let may = deployment.active.as_deref() == from && revision.phase == Phase::Deploying;
        if may {
            (revision.phase, revision.attempts, revision.last_error) = (Phase::Deployed, 0, None);
            deployment.active = Some(to.to_owned());
        }
        async move { Ok(may) }.boxed()
    }

    fn set_image<'a>(&'a self, revision: &'a str, image: Option<String>) -> Recorded<'a, ()> {
        self.change(revision, |revision| revision.image = image);
        async { Ok(()) }.boxed()
    }

    fn set_attempts<'a>(
        &'a self,
        revision: &'a str,
        attempts: u32,
        error: Option<String>,
    ) -> Recorded<'a, ()> {
        self.change(revision, |revision| (revision.attempts, revision.last_error) = (attempts, error));
        async { Ok(()) }.boxed()
    }

    fn forget_kept<'a>(&'a self, revision: &'a str) -> Recorded<'a, ()> {
        self.change(revision, |revision| revision.source = Source::Build);
        async { Ok(()) }.boxed()
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Recorded<'a, ()> {
        self.state().desired.retain(|it| it.id != deployment);
        async { Ok(()) }.boxed()
    }

    fn build_job<'a>(&'a self, revision: &'a str) -> Recorded<'a, BuildJob> {
        async move {
            let (tag, config) = (self.tag(revision), "agent.json".to_owned());
            let origin = match &self.archive {
                Some((_, archive)) => Origin::Archive(Arc::new(File::open(archive).unwrap())),
                None => Origin::Repository {
                    url: String::new(),
                    reference: String::new(),
                    commit: None,
                    is_listed: false,
                },
            };
            let cache = "cache".to_owned();
            Ok(BuildJob { tag, cache, origin, config, install_command: None, build_command: None })
        }
        .boxed()
    }

    fn pull_job<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, PullJob> {
        let (image, tag) = (image.to_owned(), self.tag(revision));
        // The images of earlier revisions, and no others, are those of the host.
        let is_kept = image.starts_with("agentcli-host");
        let from = if is_kept { PullFrom::Engine } else { PullFrom::Elsewhere };
        async move { Ok(PullJob { image, tag, from }) }.boxed()
    }

    fn set_pulled<'a>(&'a self, _: &'a str, _: &'a str) -> Recorded<'a, ()> {
        async { Ok(()) }.boxed()
    }

    fn unused_names<'a>(&'a self, _: &'a str) -> Recorded<'a, Vec<String>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn forget_name<'a>(&'a self, _: &'a str, _: &'a str) -> Recorded<'a, ()> {
        async { Ok(()) }.boxed()
    }

    fn launch<'a>(&'a self, revision: &'a str, replica: u32) -> Recorded<'a, Launch> {
        let (number, image) =
            self.change(revision, |revision| (revision.number, revision.image.clone().unwrap()));
        let is_own = |it: &&Desired| it.revisions.iter().any(|own| own.id == revision);
        let Desired { id, name, grace, .. } = self.state().desired.iter().find(is_own).unwrap().clone();
        let revision = revision.to_owned();
        let (environment, cpus, memory) = (Vec::new(), None, None);
        let launch = Launch {
            deployment: id,
            name,
            revision,
            number,
            replica,
            image,
            environment,
            cpus,
            memory,
            grace,
        };
        async move { Ok(launch) }.boxed()
    }

    fn log(&self, _: &str, _: Stage, _: LogLevel, line: &str) {
        self.state().lines.push(line.to_owned());
    }

    fn log_output(&self, _: &str, _: &str, output: Output) {
        let state = &mut *self.state();
        if output.time > state.logged_until {
            state.logged_until = output.time;
            state.lines.push(output.text);
        }
    }

    fn logged_until<'a>(&'a self, _: &'a str, _: &'a str) -> Recorded<'a, i64> {
        async { Ok(self.state().logged_until) }.boxed()
    }

    fn notice(&self, message: &str) {
        self.state().notices.push(message.to_owned());
    }
}
