//! Makes true what should be there: networks, volumes, and containers in the order in which they need one another.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};

use super::definition::{self, Wanted};
use super::error::Error;
use super::labels::{self, label};
use super::port;
use super::session::Mode;
use super::stop::GRACE;
use crate::engine::{self, Container, Engine, State, Wellness};
use crate::live::{Change, Event};
use crate::up::supervise::Run;

/// How often it is asked how the containers are.
const PAUSE: Duration = Duration::from_millis(50);

/// How often we look at a container's health ourselves while it starts, where its engine does so only now and then.
const LOOK: Duration = Duration::from_millis(300);

/// How many of its last lines are told of a service that failed.
const TOLD_LINES: usize = 20;

/// How far the services are.
#[derive(Default)]
struct Progress {
    /// What they should be, and started.
    settled: HashSet<String>,
    /// And well.
    well: HashSet<String>,
    /// When we look ourselves next; never where the engine looks often.
    next_look: Option<Instant>,
}

impl Progress {
    fn may_start(&self, one: &Wanted) -> bool {
        !self.settled.contains(&one.service) && one.after.iter().all(|name| self.well.contains(name))
    }
}

impl Run<'_> {
    /// Starts everything; where that is asked for, waits until all is well.
    pub(super) async fn start(&mut self, wanted: &[Wanted], recreate: bool) -> Result<(), Error> {
        let mut there = self.there().await?;
        self.share().await?;
        self.remove_orphans(wanted, &there).await?;
        let deadline = Instant::now() + self.options.patience;
        let waits = self.options.mode == Mode::Detached;
        let mut progress = Progress::default();
        if !self.engine.has_start_interval().await? {
            progress.next_look = Some(Instant::now());
        }
        loop {
            self.check_settled(wanted, &there, &mut progress).await?;
            if progress.settled.len() == wanted.len() && (!waits || progress.well.len() == wanted.len()) {
                return Ok(());
            }
            let open: Vec<&Wanted> = wanted.iter().filter(|one| progress.may_start(one)).collect();
            if open.is_empty() && Instant::now() > deadline {
                return Err(self.late(wanted, &there, &progress).await);
            }
            if open.is_empty() {
                sleep(PAUSE).await;
            }
            self.settle_all(&open, &there, recreate, &mut progress).await?;
            there = self.there().await?;
        }
    }

    /// Looks how those are that were started.
    async fn check_settled(
        &mut self,
        wanted: &[Wanted],
        there: &[Container],
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let by_service = by_service(there);
        let looks = progress.next_look.is_some_and(|next| next <= Instant::now());
        for one in wanted.iter().filter(|one| progress.settled.contains(&one.service)) {
            let Some(container) = by_service.get(one.service.as_str()) else {
                return Err(self.removed(&one.service).await);
            };
            self.check(&one.service, container).await?;
            let is_starting = container.state == State::Running(Some(Wellness::Starting));
            let was_well = progress.well.contains(&one.service);
            if is_well(one, container)
                || is_starting && (was_well || looks && self.looks_well(one, container).await)
            {
                let is_new = progress.well.insert(one.service.clone());
                if is_new && one.spec.health.is_some() && self.options.mode == Mode::Detached {
                    self.change(&one.service, Change::Healthy);
                }
            } else {
                progress.well.remove(&one.service);
            }
        }
        if looks {
            progress.next_look = Some(Instant::now() + LOOK);
        }
        Ok(())
    }

    async fn looks_well(&self, one: &Wanted, container: &Container) -> bool {
        let Some(health) = &one.spec.health else { return false };
        let patience = Duration::from_secs(health.timeout.into());
        self.engine.succeeds_in(&container.name, &health.command, patience).await
    }

    /// Makes the containers of `open` what they should be, all at once.
    async fn settle_all(
        &mut self,
        open: &[&Wanted],
        there: &[Container],
        recreate: bool,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let of = |one: &Wanted| -> Vec<Container> {
            there.iter().filter(|it| is_of(it, &one.service)).cloned().collect()
        };
        // Before it is done: whoever is interrupted meanwhile has to know what to stop.
        let running = |one: &Wanted| of(one).iter().any(|it| matches!(it.state, State::Running(_)));
        self.started.extend(open.iter().filter(|one| !running(one)).map(|one| one.service.clone()));
        let settle = open.iter().map(|one| {
            let (engine, one, all) = (self.engine.clone(), (*one).clone(), of(one));
            self.changes.whole(async move { settle(&engine, &one, &all, recreate).await })
        });
        let done = match try_join_all(settle).await {
            Err(Error::Engine(engine::Error::NameTaken { name })) => {
                return Err(self.name_taken(name).await?);
            }
            done => done?,
        };
        for (one, change) in open.iter().zip(done) {
            if change == Change::Recreated {
                self.remember_replaced(one, &of(one));
            }
            if matches!(change, Change::Created | Change::Recreated) {
                self.renewed.insert(one.service.clone());
            }
            progress.settled.insert(one.service.clone());
            self.change(&one.service, change);
        }
        Ok(())
    }

    /// A name that was free a moment ago: of this project's, it is another run that has made the container.
    async fn name_taken(&self, name: String) -> Result<Error, Error> {
        let is_ours = self.there().await?.iter().any(|container| container.name == name);
        let project = self.session.setup.name.clone();
        Ok(if is_ours { Error::AtWork { project, name } } else { engine::Error::NameTaken { name }.into() })
    }

    /// Everything of this project, whoever made it.
    pub(super) async fn there(&self) -> Result<Vec<Container>, Error> {
        Ok(self.engine.containers(labels::PROJECT, &self.session.setup.name).await?)
    }

    /// Makes the network and the volumes that are not there.
    async fn share(&self) -> Result<(), Error> {
        let project = &self.session.setup.name;
        let is_ours = |labels: &HashMap<String, String>| labels.get(labels::PROJECT) == Some(project);
        let name = definition::network(&self.session);
        let networks = self.engine.networks(&name).await?;
        if networks.is_empty() {
            let mut labels = labels::of_project(project);
            labels.push(label(labels::NETWORK, "default"));
            let engine = self.engine.clone();
            self.changes.whole(async move { engine.create_network(&name, &labels).await }).await?;
        } else if !networks.iter().any(|network| is_ours(&network.labels)) {
            return Err(Error::Foreign { what: "network", name });
        }
        if self.session.setup.volumes.is_empty() {
            return Ok(());
        }
        let there = self.engine.volumes(labels::PROJECT, project).await?;
        for volume in &self.session.setup.volumes {
            let name = definition::volume(&self.session, volume);
            if there.iter().all(|known| known.name != name) {
                let mut labels = labels::of_project(project);
                labels.push(label(labels::VOLUME, volume));
                let engine = self.engine.clone();
                self.changes.whole(async move { engine.create_volume(&name, &labels).await }).await?;
            }
        }
        Ok(())
    }

    /// Removes what an earlier setup of ours had and this one has not.
    async fn remove_orphans(&mut self, wanted: &[Wanted], there: &[Container]) -> Result<(), Error> {
        for container in there.iter().filter(|container| container.labels.contains_key(labels::OURS)) {
            let service = container.labels.get(labels::SERVICE).cloned().unwrap_or_default();
            if wanted.iter().all(|one| one.service != service) {
                let (engine, id) = (self.engine.clone(), container.id.clone());
                self.changes.whole(async move { remove(&engine, &id).await }).await?;
                self.change(&service, Change::Removed);
            }
        }
        Ok(())
    }

    /// Says where a service that was started does not do what it should.
    pub(super) async fn check(&mut self, service: &str, container: &Container) -> Result<(), Error> {
        let name = &container.name;
        match container.state {
            State::Exited | State::Gone => {
                let code = self.engine.condition(name).await.map(|condition| condition.code);
                let status =
                    code.map_or_else(|_| "ended".to_owned(), |code| format!("ended with exit code {code}"));
                Err(self.failed(service, Some(name), &status).await)
            }
            State::Running(Some(Wellness::Unhealthy)) => {
                let condition = self.engine.condition(name).await?;
                let why = condition.health.map_or_else(String::new, |health| format!(": {health}"));
                let status = format!("runs and is not healthy{}", why.replace('\n', " "));
                Err(self.failed(service, Some(name), &status).await)
            }
            State::Created | State::Paused | State::Running(_) => Ok(()),
        }
    }

    /// Says that a service's container is not there any more.
    pub(super) async fn removed(&mut self, service: &str) -> Error {
        self.failed(service, None, "was removed").await
    }

    async fn failed(&mut self, service: &str, container: Option<&str>, status: &str) -> Error {
        let last_lines = match container {
            Some(name) => self.engine.last_lines(name, TOLD_LINES).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let (service, status) = (service.to_owned(), status.to_owned());
        let event = Event::Failed { service: service.clone(), status: status.clone(), last_lines };
        self.hooks.event(&event);
        Error::Failed { service, status }
    }

    /// The error for the first service that took too long.
    async fn late(&mut self, wanted: &[Wanted], there: &[Container], progress: &Progress) -> Error {
        let after = self.options.patience;
        let is_late = |name: &&String| progress.settled.contains(*name) && !progress.well.contains(*name);
        let service = wanted.iter().map(|one| &one.service).find(is_late).cloned().unwrap_or_default();
        let container = by_service(there).get(service.as_str()).map(|container| container.name.clone());
        let status = format!("is not healthy after {} s", after.as_secs());
        self.failed(&service, container.as_deref(), &status).await;
        Error::NotReady { what: format!("the service `{service}` is not healthy"), after }
    }

    pub(super) fn change(&mut self, service: &str, change: Change) {
        self.hooks.event(&Event::Service { service: service.to_owned(), change });
    }
}

/// One container a service: what is there beside it is made by [`settle`] to be gone.
pub(super) fn by_service(there: &[Container]) -> HashMap<&str, &Container> {
    let name = |container: &'_ Container| container.labels.contains_key(labels::SERVICE);
    there.iter().filter(|it| name(it)).map(|it| (it.labels[labels::SERVICE].as_str(), it)).collect()
}

fn is_of(container: &Container, service: &str) -> bool {
    let value = |label| container.labels.get(label).map(String::as_str);
    value(labels::SERVICE) == Some(service) && value(labels::ONE_OFF) != Some("True")
}

fn is_well(one: &Wanted, container: &Container) -> bool {
    match container.state {
        State::Running(Some(wellness)) => wellness == Wellness::Healthy,
        State::Running(None) => one.spec.health.is_none(),
        _ => false,
    }
}

/// Makes one service's container what it should be, and starts it.
async fn settle(engine: &Engine, one: &Wanted, there: &[Container], recreate: bool) -> Result<Change, Error> {
    let is_same = |container: &&Container| {
        container.labels.get(labels::HASH) == Some(&one.hash) && container.name == one.spec.name && !recreate
    };
    let usable = |container: &&Container| {
        !matches!(container.state, State::Gone | State::Paused | State::Running(Some(Wellness::Unhealthy)))
    };
    let keep = there.iter().filter(is_same).find(usable);
    for other in there.iter().filter(|container| Some(*container) != keep) {
        remove(engine, &other.id).await?;
    }
    let change = match keep {
        Some(Container { state: State::Running(_), .. }) => return Ok(Change::Unchanged),
        Some(_) => Change::Started,
        None => {
            engine.create(&one.spec).await?;
            if there.is_empty() { Change::Created } else { Change::Recreated }
        }
    };
    let started = engine.start_container(&one.spec.name, &one.spec.ports).await;
    match started {
        Ok(()) => Ok(change),
        Err(error) => Err(port::explain(engine, &one.service, error).await),
    }
}

async fn remove(engine: &Engine, id: &str) -> Result<(), engine::Error> {
    engine.stop(id, GRACE).await?;
    engine.remove(id).await
}
