//! Runs one project in containers: brings everything up, shows what it prints, takes over changes, and stops it.

use std::collections::HashSet;
use std::future::pending;
use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::change::Changes;
use super::definition;
use super::error::Error;
use super::images;
use super::labels;
use super::logs::Logs;
use super::owner;
use super::rebuild::{Rebuild, Step};
use super::reconcile::by_service;
use super::session::{Hooks, Mode, Options, Session};
use super::stop::{is_running, service};
use super::turn::{Turn, turn};
use crate::engine::Engine;
use crate::live::Event;
use crate::live::Stop;
use crate::probe::{self, Client, Probe};
use crate::watch::{self, Watcher};

/// How often it is looked whether everything still runs.
const LOOK: Duration = Duration::from_millis(500);

/// Runs the setup. Detached, it ends when all services are healthy; otherwise when it is asked to stop or a service
/// exits. Forced to stop, it kills the containers.
///
/// # Errors
///
/// Whatever keeps a service from running; [`Error::Interrupted`] where that comes before everything runs.
pub async fn run(
    engine: &Engine,
    session: Session,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let client = probe::client().map_err(|reason| Error::Client { reason })?;
    let mut run = Run {
        engine: engine.clone(),
        session,
        options,
        hooks,
        client,
        changes: Changes::default(),
        started: HashSet::new(),
        renewed: HashSet::new(),
        replaced: HashSet::new(),
        owns_all: false,
        turn: None,
        tidying: None,
        began: SystemTime::now(),
        is_ready: false,
    };
    let done = match stop.unless_asked(run.work()).await {
        Ok(done) => done,
        Err(interrupted) => Err(interrupted.into()),
    };
    let leave = match done {
        Err(Error::Interrupted(_)) => false,
        Err(Error::AtWork { .. }) => true,
        _ => options.mode == Mode::Detached,
    };
    let ended = if leave { Ok(()) } else { run.end(stop).await };
    if let Some(tidying) = run.tidying.filter(|_| leave) {
        stop.unless_asked(tidying).await.ok();
    }
    match done {
        Err(Error::Interrupted(_)) if run.is_ready => ended,
        Ok(()) => ended,
        done => done,
    }
}

/// One project that is run.
pub(super) struct Run<'a> {
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) options: &'a Options,
    pub(super) hooks: &'a mut dyn Hooks,
    client: Client,
    pub(super) changes: Changes,
    /// The services that did not run before this run started them.
    pub(super) started: HashSet<String>,
    /// The services whose containers are of this run's making.
    pub(super) renewed: HashSet<String>,
    /// The images of the containers that others replaced.
    pub(super) replaced: HashSet<String>,
    /// Whether everything runs on behalf of this run, and so ends with it.
    pub(super) owns_all: bool,
    /// Held while something is changed.
    turn: Option<Turn>,
    /// Removes what was replaced.
    tidying: Option<JoinHandle<()>>,
    /// What is printed from now on is shown.
    began: SystemTime,
    is_ready: bool,
}

/// What is followed while everything runs.
struct Following {
    logs: Logs,
    watcher: Option<Watcher>,
    rebuild: Option<Rebuild>,
    /// A configuration that was taken over but for a build that failed.
    kept: Option<Session>,
    /// Asks whether the server is ready, until it is; and since when, and until when.
    probe: Option<(Probe, Instant, Instant)>,
    /// Whether the server ended, and a change is waited for.
    is_down: bool,
    /// When it is looked next whether everything still runs.
    next_look: Instant,
}

enum Happening {
    Changed(watch::Changes),
    Late,
    Lines(Vec<(String, String)>),
    Look,
    Ready,
    Rebuilt(Step),
}

impl Run<'_> {
    async fn work(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        self.take_turn().await;
        owner::check(&self.engine, &self.session).await?;
        // Before anything is built, so that no change is missed.
        let watcher = match self.options.mode {
            Mode::Watching => Some(Watcher::new(&self.session.directory, &self.session.watch)?),
            Mode::Attached | Mode::Detached => None,
        };
        images::build(&self.engine, &self.session, self.hooks).await?;
        // That may have taken its time.
        owner::check(&self.engine, &self.session).await?;
        self.reconcile(self.options.recreate, self.options.pull).await?;
        if self.options.mode == Mode::Detached {
            return self.wait_until_ready(began).await;
        }
        (self.owns_all, self.turn) = (true, None);
        let probe = Some(self.probe(began));
        let (logs, next_look) = (Logs::new(self.began), Instant::now() + LOOK);
        let mut following =
            Following { logs, watcher, rebuild: None, kept: None, probe, is_down: false, next_look };
        self.follow_logs(&mut following).await?;
        while !self.hooks.is_over() {
            match self.happening(&mut following).await {
                Happening::Lines(lines) => self.show(lines),
                Happening::Look => self.look(&mut following).await?,
                Happening::Ready => self.ready(&mut following),
                Happening::Late => self.late_answer(&mut following)?,
                Happening::Changed(changes) => self.changed(changes, &mut following),
                Happening::Rebuilt(step) => self.rebuilt(step, &mut following).await?,
            }
        }
        Ok(())
    }

    async fn take_turn(&mut self) {
        let hooks = &mut *self.hooks;
        self.turn = turn(&self.engine, &self.session.setup.name, &mut |event| hooks.event(event)).await;
    }

    async fn reconcile(&mut self, recreate: bool, pulls: bool) -> Result<(), Error> {
        let ids = images::provide(&self.engine, &self.session, pulls, self.hooks).await?;
        let wanted = definition::wanted(&self.session, &ids);
        self.start(&wanted, recreate).await
    }

    fn probe(&self, began: Instant) -> (Probe, Instant, Instant) {
        let probe = Probe::start(&self.client, self.session.urls.ok.clone());
        (probe, began, Instant::now() + self.options.patience)
    }

    async fn wait_until_ready(&mut self, began: Instant) -> Result<(), Error> {
        let (mut probe, _, deadline) = self.probe(began);
        tokio::select! {
            () = probe.done() => {}
            () = sleep_until(deadline) => return Err(self.not_answering()),
        }
        self.say_ready(began);
        Ok(())
    }

    fn say_ready(&mut self, began: Instant) {
        self.is_ready = true;
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.hooks.event(&Event::Ready { urls: self.session.urls.clone(), milliseconds });
        self.tidying = Some(self.remove_replaced());
    }

    fn ready(&mut self, following: &mut Following) {
        if let Some((_, began, _)) = following.probe.take() {
            self.say_ready(began);
        }
    }

    fn not_answering(&self) -> Error {
        let what = format!("the server does not answer at {}", self.session.urls.ok);
        Error::NotReady { what, after: self.options.patience }
    }

    async fn happening(&self, following: &mut Following) -> Happening {
        let Following { logs, watcher, rebuild, probe, next_look, .. } = following;
        tokio::select! {
            biased;
            () = sleep_until(*next_look) => Happening::Look,
            step = next_step(rebuild.as_mut()) => Happening::Rebuilt(step),
            changes = next_changes(watcher.as_mut()) => Happening::Changed(changes),
            happening = until_ready(probe.as_mut()) => happening,
            // Last: there may always be one.
            lines = logs.next() => Happening::Lines(lines),
        }
    }

    /// Shows what the services print.
    async fn follow_logs(&self, following: &mut Following) -> Result<(), Error> {
        let there = self.there().await?;
        for (name, container) in by_service(&there) {
            if self.options.all_logs || name == self.session.server {
                let is_new = self.renewed.contains(name);
                following.logs.follow(&self.engine, name, &container.id, is_new);
            }
        }
        Ok(())
    }

    fn show(&mut self, lines: Vec<(String, String)>) {
        lines
            .into_iter()
            .for_each(|(service, line)| self.hooks.event(&Event::Log { service: Some(service), line }));
    }

    /// Whether everything still runs.
    async fn look(&mut self, following: &mut Following) -> Result<(), Error> {
        following.next_look = Instant::now() + LOOK;
        self.warn_of_unwatched(following);
        let there = self.there().await?;
        let by_service = by_service(&there);
        let names: Vec<String> = self.session.setup.services.iter().map(|it| it.name.clone()).collect();
        if let Some(name) = names.iter().find(|name| !by_service.contains_key(name.as_str())) {
            let error = self.removed(name).await;
            return self.unless_servers(error, following);
        }
        let ours = there.iter().filter(|container| container.labels.contains_key(labels::OURS));
        for container in ours {
            let name = service(container).to_owned();
            // It may become well again: only an end counts.
            if is_running(container) || name == self.session.server && following.is_down {
                continue;
            }
            let lines = following.logs.waiting();
            self.show(lines);
            if let Err(error) = self.check(&name, container).await {
                self.unless_servers(error, following)?;
            }
        }
        Ok(())
    }

    /// A server that ended is no reason to end where a change may mend it.
    fn unless_servers(&mut self, error: Error, following: &mut Following) -> Result<(), Error> {
        if !self.is_servers(&error) {
            return Err(error);
        }
        if !following.is_down {
            self.is_down(&error, following);
        }
        Ok(())
    }

    /// The server does not answer in time.
    fn late_answer(&mut self, following: &mut Following) -> Result<(), Error> {
        let error = self.not_answering();
        if self.options.mode != Mode::Watching {
            return Err(error);
        }
        following.probe = None;
        let message = format!("{error}; it starts again when something changes");
        self.hooks.event(&Event::Warning { message });
        Ok(())
    }

    fn waits_for_change(&self, service: &str) -> bool {
        self.options.mode == Mode::Watching && service == self.session.server
    }

    fn is_servers(&self, error: &Error) -> bool {
        matches!(error, Error::Failed { service, .. } if self.waits_for_change(service))
    }

    fn is_down(&mut self, error: &Error, following: &mut Following) {
        (following.is_down, following.probe) = (true, None);
        let message = format!("{error}; it starts again when something changes");
        self.hooks.event(&Event::Note { message });
    }

    /// Begins to take over a change; one that was under way is given up for it.
    fn changed(&mut self, changes: watch::Changes, following: &mut Following) {
        let next = if changes.decide_start { self.hooks.replan() } else { None };
        if changes.decide_start && next.is_none() {
            let reason = "the configuration has errors".to_owned();
            self.hooks.event(&Event::Kept { reason });
            return;
        }
        let before = following.rebuild.take();
        let (session, mut changed) = before.map_or((None, Vec::new()), |it| (it.session, it.changed));
        changed.extend(changes.paths);
        if let Some(next) = &next {
            self.watch(next, following);
        }
        let session = next.or(session).or_else(|| following.kept.take());
        let image = session.as_ref().map_or(&self.session.image, |session| &session.image);
        let mut rebuild = Rebuild::start(&self.engine, image, changed);
        rebuild.session = session;
        following.rebuild = Some(rebuild);
    }

    async fn rebuilt(&mut self, step: Step, following: &mut Following) -> Result<(), Error> {
        let done = match step {
            Step::Event(event) => {
                self.hooks.building(&event);
                return Ok(());
            }
            Step::Done(done) => done,
        };
        let Some(Rebuild { session, changed, since, .. }) = following.rebuild.take() else { return Ok(()) };
        match &done {
            Ok(None) => {}
            done => self.hooks.built(done.as_ref().err()),
        }
        if let Err(error) = done {
            self.hooks.event(&Event::Kept { reason: error.to_string() });
            following.kept = session;
            return Ok(());
        }
        if let Some(session) = session {
            self.session = session;
        }
        self.hooks.event(&Event::Reloading { changed });
        following.is_down = false;
        self.take_turn().await;
        let done = self.reconcile(false, false).await;
        self.turn = None;
        match done {
            Err(error) => self.unless_servers(error, following)?,
            Ok(()) => following.probe = Some(self.probe(since)),
        }
        self.follow_logs(following).await
    }

    fn warn_of_unwatched(&mut self, following: &mut Following) {
        let warning = following.watcher.as_mut().and_then(Watcher::warning);
        warning.into_iter().for_each(|message| self.hooks.event(&Event::Warning { message }));
    }

    /// Watches what counts from now on.
    fn watch(&mut self, session: &Session, following: &mut Following) {
        match Watcher::new(&session.directory, &session.watch) {
            Ok(mut watcher) => {
                following.watcher.take().into_iter().for_each(|before| watcher.go_on_from(before));
                following.watcher = Some(watcher);
            }
            Err(error) => self.hooks.event(&Event::Warning { message: error.to_string() }),
        }
    }
}

async fn next_step(rebuild: Option<&mut Rebuild>) -> Step {
    match rebuild {
        Some(rebuild) => rebuild.next().await,
        None => pending().await,
    }
}

async fn next_changes(watcher: Option<&mut Watcher>) -> watch::Changes {
    match watcher {
        Some(watcher) => watcher.changes().await,
        None => pending().await,
    }
}

async fn until_ready(probe: Option<&mut (Probe, Instant, Instant)>) -> Happening {
    let Some((probe, _, deadline)) = probe else { return pending().await };
    tokio::select! {
        () = probe.done() => Happening::Ready,
        () = sleep_until(*deadline) => Happening::Late,
    }
}
