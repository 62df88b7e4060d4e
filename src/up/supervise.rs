//! Runs one project in containers: brings everything up, shows what it prints, takes over changes, and stops it.

use std::collections::HashSet;
use std::future::pending;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::change::Changes;
use super::definition;
use super::error::Error;
use super::event::{Change, Event};
use super::images;
use super::labels;
use super::logs::Logs;
use super::rebuild::{Rebuild, Step};
use super::reconcile::by_service;
use super::session::{Hooks, Mode, Options, Session};
use super::stop::{GRACE, is_running, service, stop};
use crate::engine::{Container, Engine};
use crate::probe::{self, Client, Probe};
use crate::watch::{self, Watcher};

/// How often it is looked whether everything still runs.
const LOOK: Duration = Duration::from_millis(500);

/// Runs the setup. Detached, it ends when all is well; else when the user interrupts it, or a service ends by itself.
/// A second interruption ends every container at once.
///
/// # Errors
///
/// Whatever keeps a service from running; [`Error::Interrupted`] where that comes before everything runs.
pub async fn run(
    engine: &Engine,
    session: Session,
    options: &Options,
    hooks: &mut dyn Hooks,
    mut interrupts: UnboundedReceiver<()>,
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
        is_ready: false,
    };
    let done = tokio::select! {
        biased;
        _ = interrupts.recv() => Err(Error::Interrupted),
        done = run.work() => done,
    };
    let leave = options.mode == Mode::Detached && !matches!(done, Err(Error::Interrupted));
    if !leave {
        run.end(&mut interrupts).await;
    }
    match done {
        Err(Error::Interrupted) if run.is_ready => Ok(()),
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
    /// The services whose containers this run started.
    pub(super) started: HashSet<String>,
    is_ready: bool,
}

/// What is followed while everything runs.
struct Following {
    logs: Logs,
    watcher: Option<Watcher>,
    rebuild: Option<Rebuild>,
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
    Line(String, String),
    Look,
    Ready,
    Rebuilt(Step),
}

impl Run<'_> {
    async fn work(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        // Before anything is built, so that no change is missed.
        let watcher = match self.options.mode {
            Mode::Watching => Some(Watcher::new(&self.session.directory, &self.session.watch)?),
            Mode::Attached | Mode::Detached => None,
        };
        images::build(&self.engine, &self.session, self.hooks).await?;
        self.reconcile(self.options.recreate).await?;
        if self.options.mode == Mode::Detached {
            return self.wait_until_ready(began).await;
        }
        let probe = Some(self.probe(began));
        let (logs, next_look) = (Logs::new(), Instant::now() + LOOK);
        let mut following = Following { logs, watcher, rebuild: None, probe, is_down: false, next_look };
        self.follow_logs(&mut following).await?;
        while !self.hooks.is_over() {
            match self.happening(&mut following).await {
                Happening::Line(service, line) => self.hooks.event(&Event::Log { service, line }),
                Happening::Look => self.look(&mut following).await?,
                Happening::Ready => self.ready(&mut following),
                Happening::Late => return Err(self.not_answering()),
                Happening::Changed(changes) => self.changed(changes, &mut following),
                Happening::Rebuilt(step) => self.rebuilt(step, &mut following).await?,
            }
        }
        Ok(())
    }

    async fn reconcile(&mut self, recreate: bool) -> Result<(), Error> {
        let ids = images::provide(&self.engine, &self.session, self.options, self.hooks).await?;
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
            (service, line) = logs.next() => Happening::Line(service, line),
            step = next_step(rebuild.as_mut()) => Happening::Rebuilt(step),
            changes = next_changes(watcher.as_mut()) => Happening::Changed(changes),
            happening = until_ready(probe.as_mut()) => happening,
        }
    }

    /// Shows what the services print.
    async fn follow_logs(&self, following: &mut Following) -> Result<(), Error> {
        let there = self.there().await?;
        for (name, container) in by_service(&there) {
            if self.options.all_logs || name == self.session.server {
                let is_new = self.started.contains(name);
                following.logs.follow(&self.engine, name, &container.id, is_new);
            }
        }
        Ok(())
    }

    /// Whether everything still runs.
    async fn look(&mut self, following: &mut Following) -> Result<(), Error> {
        following.next_look = Instant::now() + LOOK;
        let there = self.there().await?;
        let ours = there.iter().filter(|container| container.labels.contains_key(labels::OURS));
        for container in ours {
            let name = service(container).to_owned();
            // It may become well again: only an end counts.
            if is_running(container) || name == self.session.server && following.is_down {
                continue;
            }
            while let Some((service, line)) = following.logs.ready() {
                self.hooks.event(&Event::Log { service, line });
            }
            match self.check(&name, container).await {
                Err(error) if self.is_servers(&error) => self.is_down(&error, following),
                checked => checked?,
            }
        }
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
        let session = next.or(session);
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
            return Ok(());
        }
        if let Some(session) = session {
            let mut watcher = Watcher::new(&session.directory, &session.watch)?;
            following.watcher.take().into_iter().for_each(|before| watcher.go_on_from(before));
            following.watcher = Some(watcher);
            self.session = session;
        }
        self.hooks.event(&Event::Reloading { changed });
        following.is_down = false;
        match self.reconcile(false).await {
            Err(error) if self.is_servers(&error) => self.is_down(&error, following),
            done => {
                done?;
                following.probe = Some(self.probe(since));
            }
        }
        self.follow_logs(following).await
    }

    /// Stops what runs: all of it, or of a detached run only what that has started.
    async fn end(&mut self, interrupts: &mut UnboundedReceiver<()>) {
        let (engine, changes) = (self.engine.clone(), self.changes.clone());
        let all = self.options.mode != Mode::Detached;
        let Run { session, started, hooks, .. } = self;
        let ours = |container: &Container| {
            container.labels.contains_key(labels::OURS) && (all || started.contains(service(container)))
        };
        let project = &session.setup.name;
        let stopped = async {
            changes.settled(GRACE).await;
            let there = engine.containers(labels::PROJECT, project).await?;
            let ours: Vec<Container> = there.into_iter().filter(ours).collect();
            let tell = |service: &str| {
                hooks.event(&Event::Service { service: service.to_owned(), change: Change::Stopped })
            };
            stop(&engine, &ours, tell).await
        };
        // What cannot be stopped was told of already, or will be by the next run.
        let second = tokio::select! {
            biased;
            _ = interrupts.recv() => true,
            done = stopped => { done.ok(); false }
        };
        if second {
            let there = engine.containers(labels::PROJECT, project).await.unwrap_or_default();
            for container in there.iter().filter(|container| ours(container) && is_running(container)) {
                engine.kill(&container.id).await.ok();
            }
        }
        self.hooks.event(&Event::Stopped);
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
