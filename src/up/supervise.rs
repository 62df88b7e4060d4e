//! Runs one project in containers: starts everything, shows the logs, rebuilds on changes, and stops it.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::change::Changes;
use super::check::check;
use super::definition;
use super::error::Error;
use super::images;
use super::labels;
use super::logs::Logs;
use super::rebuild::{Rebuild, Step};
use super::reconcile::{by_service, has_succeeded};
use super::replaced::Replaced;
use super::run::Run;
use super::session::{Hooks, Mode, Options, Session};
use super::stop::{is_running, service};
use super::turn::turn;
use crate::engine::Engine;
use crate::live::{Event, Happening, Sources, Stop};
use crate::probe::Probe;
use crate::watch;

/// Interval between checks that all containers still run.
const CHECK: Duration = Duration::from_millis(500);

/// Runs the setup. Detached, it ends when all services are healthy; otherwise when it is asked to stop or a service
/// exits. Forced to stop, it kills the containers.
///
/// # Errors
///
/// Whatever prevents a service from running; [`Error::Interrupted`] if the program is asked to stop before the server was
/// ready, or if the containers could not be stopped.
pub async fn run(
    engine: &Engine,
    session: Session,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let mut run = Run {
        engine: engine.clone(),
        session,
        options,
        hooks,
        changes: Changes::default(),
        started: HashSet::new(),
        renewed: HashSet::new(),
        replaced: Replaced::default(),
        owns_all: false,
        turn: None,
        logs: Logs::new(SystemTime::now()),
        rebuild: None,
        kept: None,
        is_server_down: false,
        is_ready: false,
        sources: Sources::new(CHECK),
    };
    let done = stop.unless_asked(run.work()).await.unwrap_or_else(|interrupted| Err(interrupted.into()));
    let leave = match done {
        Err(Error::Interrupted(_)) => false,
        Err(Error::AtWork { .. }) => true,
        _ => options.mode == Mode::Detached,
    };
    let ended = if leave { Ok(()) } else { run.end(stop).await };
    if ended.is_ok() {
        run.replaced.finish(engine, stop).await;
    }
    match (done, ended) {
        (Err(Error::Interrupted(interrupted)), ended) => {
            Ok(interrupted.unless_stopped(run.is_ready, ended, run.hooks)?)
        }
        (Ok(()), ended) => ended,
        (done, _) => done,
    }
}

impl Run<'_> {
    async fn work(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        self.take_turn().await;
        check(&self.engine, &self.session).await?;
        if self.options.mode == Mode::Watching {
            // Before anything is built, so that no change is missed.
            self.sources.watch(&self.session.directory, &self.session.watch)?;
        }
        self.replaced.extend(images::build(&self.engine, &self.session, self.hooks).await?);
        // The build may have taken a while.
        check(&self.engine, &self.session).await?;
        self.reconcile(self.options.recreate, self.options.pull).await?;
        self.probe(began);
        if self.options.mode != Mode::Detached {
            (self.owns_all, self.turn) = (true, None);
            self.follow_logs().await?;
        }
        self.follow().await
    }

    async fn follow(&mut self) -> Result<(), Error> {
        let is_detached = self.options.mode == Mode::Detached;
        while is_detached || !self.hooks.is_closed() {
            let step = self.rebuild.as_mut().map(Rebuild::next);
            match self.sources.next(self.hooks, step, Some(self.logs.lines.next())).await {
                Happening::Changed(changes) => self.changed(changes),
                Happening::Late(_) => self.late()?,
                Happening::Output(lines) => self.hooks.lines_of_services(lines.unwrap_or_default()),
                Happening::Ready(milliseconds) => {
                    self.ready(milliseconds);
                    if is_detached {
                        break;
                    }
                }
                Happening::Step(Step::Event(event)) => self.hooks.building(&event),
                Happening::Step(Step::Done(done)) => self.rebuilt(done).await?,
                Happening::Tick => self.check_all().await?,
            }
        }
        Ok(())
    }

    async fn take_turn(&mut self) {
        self.turn = turn(&self.engine, &self.session.setup.name, self.hooks).await;
    }

    async fn reconcile(&mut self, recreate: bool, pulls: bool) -> Result<(), Error> {
        let ids = images::provide(&self.engine, &self.session, pulls, self.hooks).await?;
        self.start(&definition::definitions(&self.session, &ids), recreate).await
    }

    fn probe(&mut self, since: Instant) {
        let url = self.session.urls.ok.clone();
        self.sources.probe = Some(Probe::start(url, since, Some(self.options.wait_timeout)));
    }

    fn ready(&mut self, milliseconds: u64) {
        self.is_ready = true;
        self.hooks.event(&Event::Ready { urls: self.session.urls.clone(), milliseconds });
        // The new server works: nobody goes back to the old one.
        self.replaced.remove(&self.engine);
    }

    /// Shows the logs of the containers that are not followed yet.
    async fn follow_logs(&mut self) -> Result<(), Error> {
        let containers = self.containers().await?;
        for (name, container) in by_service(&containers) {
            if self.options.all_logs || name == self.session.server {
                let is_new = self.renewed.contains(name);
                self.logs.follow(&self.engine, name, &container.id, is_new);
            }
        }
        Ok(())
    }

    /// Checks that all containers still run.
    async fn check_all(&mut self) -> Result<(), Error> {
        let containers = self.containers().await?;
        let by_service = by_service(&containers);
        let names: Vec<String> = self.session.setup.services.iter().map(|it| it.name.clone()).collect();
        if let Some(name) = names.iter().find(|name| !by_service.contains_key(name.as_str())) {
            let error = self.removed(name).await;
            return self.unless_change_may_fix(error);
        }
        let ours = containers.iter().filter(|container| container.labels.contains_key(labels::OURS));
        for container in ours {
            let name = service(container).to_owned();
            // An unhealthy service may recover: only an exit counts.
            if is_running(container) || name == self.session.server && self.is_server_down {
                continue;
            }
            let ends = self.session.setup.services.iter().any(|service| service.ends && service.name == name);
            if ends && has_succeeded(&self.engine, container).await? {
                continue;
            }
            let lines = self.logs.lines.waiting();
            self.hooks.lines_of_services(lines);
            if let Err(error) = self.check(&name, container).await {
                self.unless_change_may_fix(error)?;
            }
        }
        Ok(())
    }

    /// While changes are watched, the exit of the server is not an error.
    fn unless_change_may_fix(&mut self, error: Error) -> Result<(), Error> {
        match &error {
            Error::Failed { service, .. }
                if self.options.mode == Mode::Watching && *service == self.session.server =>
            {
                if !std::mem::replace(&mut self.is_server_down, true) {
                    self.sources.probe = None;
                    self.hooks.note(format!("{error}; it starts again when something changes"));
                }
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// The server does not answer in time.
    fn late(&mut self) -> Result<(), Error> {
        let what = format!("the server does not answer at {}", self.session.urls.ok);
        let error = Error::NotReady { what, after: self.options.wait_timeout };
        if self.options.mode != Mode::Watching {
            return Err(error);
        }
        self.hooks.warn(format!("{error}; it starts again when something changes"));
        Ok(())
    }

    /// Starts to build a change. A build that is running is cancelled, and its changes are built now.
    fn changed(&mut self, changes: watch::Changes) {
        let next = match changes.decide_start.then(|| self.hooks.replan()).transpose() {
            Ok(next) => next,
            Err(reason) => return self.hooks.event(&Event::kept(reason)),
        };
        let before = self.rebuild.take();
        let (session, mut changed) = before.map_or((None, Vec::new()), |it| (it.session, it.changed));
        changed.extend(changes.paths);
        if let Some(next) = &next
            && let Err(error) = self.sources.watch(&next.directory, &next.watch)
        {
            self.hooks.warn(error.to_string());
        }
        let session = next.or(session).or_else(|| self.kept.take());
        let build = session.as_ref().unwrap_or(&self.session).build.as_ref();
        let mut rebuild = Rebuild::start(&self.engine, build, changed);
        rebuild.session = session;
        self.rebuild = Some(rebuild);
    }

    /// The build of a change is done: recreates what changed.
    async fn rebuilt(&mut self, done: super::rebuild::Done) -> Result<(), Error> {
        let Some(Rebuild { session, changed, since, is_built, .. }) = self.rebuild.take() else {
            return Ok(());
        };
        if is_built {
            self.hooks.built(done.as_ref().err());
        }
        match done {
            Ok(replaced) => self.replaced.extend(replaced),
            Err(error) => {
                self.hooks.event(&Event::kept(error.to_string()));
                self.kept = session;
                return Ok(());
            }
        }
        if let Some(session) = session {
            self.session = session;
        }
        self.hooks.event(&Event::Reloading { changed });
        self.is_server_down = false;
        self.take_turn().await;
        let done = self.reconcile(false, false).await;
        self.turn = None;
        match done {
            Err(error) => self.unless_change_may_fix(error)?,
            Ok(()) => self.probe(since),
        }
        self.follow_logs().await
    }
}
