//! Creates networks, volumes and containers as defined, the containers in the order of their dependencies.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep};

use super::check::explain_port;
use super::definition::{self, Definition};
use super::error::Error;
use super::labels::{self, label};
use super::run::Run;
use super::session::Mode;
use super::stop::GRACE;
use crate::engine::{self, Container, Engine, HealthStatus, State};
use crate::live::{Change, Event};

/// Interval between checks of the containers.
const PAUSE: Duration = Duration::from_millis(50);

/// Interval between our own health checks of starting containers, for engines without a start interval.
const HEALTH_CHECK: Duration = Duration::from_millis(300);

/// Grace period of a container that is replaced, in which a server answers its open requests, gives up its runs and writes its
/// state. Nothing else of the project waits for it.
const WRITING: Duration = Duration::from_secs(12);

/// Number of last lines that are shown of a service that failed.
const LAST_LINES: usize = 20;

/// The services that are being started, and their progress.
struct Progress<'a> {
    definitions: &'a [Definition],
    /// The containers of the project, as they were last listed.
    containers: Vec<Container>,
    /// Whether containers are recreated even if nothing changed.
    recreate: bool,
    /// Created as defined, and started.
    started: HashSet<String>,
    /// Started and healthy, or ended with success.
    healthy: HashSet<String>,
    /// The time of our next health check; none if the engine has a start interval.
    next_check: Option<Instant>,
}

impl<'a> Progress<'a> {
    /// The services that have not been started and depend on healthy ones only.
    fn open(&self) -> Vec<&'a Definition> {
        let may_start = |one: &&Definition| {
            !self.started.contains(&one.service) && one.after.iter().all(|name| self.healthy.contains(name))
        };
        self.definitions.iter().filter(may_start).collect()
    }

    fn is_done(&self, waits: bool) -> bool {
        let count = self.definitions.len();
        self.started.len() == count && (!waits || self.healthy.len() == count)
    }
}

impl Run<'_> {
    /// Starts all services; detached, waits until all are healthy.
    pub(super) async fn start(&mut self, definitions: &[Definition], recreate: bool) -> Result<(), Error> {
        let containers = self.containers().await?;
        self.create_shared().await?;
        self.remove_orphans(definitions, &containers).await?;
        let deadline = Instant::now() + self.options.wait_timeout;
        let next_check = (!self.engine.has_start_interval().await?).then(Instant::now);
        let (started, healthy) = Default::default();
        let mut progress = Progress { definitions, containers, recreate, started, healthy, next_check };
        loop {
            self.check_started(&mut progress).await?;
            if progress.is_done(self.options.mode == Mode::Detached) {
                return Ok(());
            }
            if progress.open().is_empty() {
                if Instant::now() > deadline {
                    return Err(self.unhealthy(&progress).await);
                }
                sleep(PAUSE).await;
            }
            self.start_all(&mut progress).await?;
            progress.containers = self.containers().await?;
        }
    }

    /// Checks the services that were started.
    async fn check_started(&mut self, progress: &mut Progress<'_>) -> Result<(), Error> {
        let by_service = by_service(&progress.containers);
        let is_due = progress.next_check.is_some_and(|next| next <= Instant::now());
        for one in progress.definitions.iter().filter(|one| progress.started.contains(&one.service)) {
            let Some(container) = by_service.get(one.service.as_str()) else {
                return Err(self.removed(&one.service).await);
            };
            if one.ends && has_succeeded(&self.engine, container).await? {
                let is_new = progress.healthy.insert(one.service.clone());
                if is_new && self.renewed.contains(&one.service) {
                    self.hooks.service(&one.service, Change::Completed);
                }
                continue;
            }
            self.check(&one.service, container).await?;
            let is_starting = container.state == State::Running(Some(HealthStatus::Starting));
            let was_healthy = progress.healthy.contains(&one.service);
            if is_healthy(one, container)
                || is_starting && (was_healthy || is_due && self.succeeds(one, container).await)
            {
                let is_new = progress.healthy.insert(one.service.clone());
                if is_new && one.spec.health.is_some() && self.options.mode == Mode::Detached {
                    self.hooks.service(&one.service, Change::Healthy);
                }
            } else {
                progress.healthy.remove(&one.service);
            }
        }
        if is_due {
            progress.next_check = Some(Instant::now() + HEALTH_CHECK);
        }
        Ok(())
    }

    /// Runs the health check of a container.
    async fn succeeds(&self, one: &Definition, container: &Container) -> bool {
        let Some(health) = &one.spec.health else { return false };
        let timeout = Duration::from_secs(health.timeout.into());
        self.engine.succeeds_in(&container.name, &health.command, timeout).await
    }

    /// Starts all open services as defined, at once.
    async fn start_all(&mut self, progress: &mut Progress<'_>) -> Result<(), Error> {
        let open = progress.open();
        let recreate = progress.recreate;
        let containers = &progress.containers;
        let of = |one: &Definition| -> Vec<Container> {
            containers.iter().filter(|it| is_of(it, &one.service)).cloned().collect()
        };
        // Before they are started, so that an interrupted run knows what to stop.
        let running = |one: &Definition| of(one).iter().any(|it| matches!(it.state, State::Running(_)));
        self.started.extend(open.iter().filter(|one| !running(one)).map(|one| one.service.clone()));
        let starts = open.iter().map(|one| {
            let all = of(one);
            let one = (*one).clone();
            let engine = self.engine.clone();
            self.changes.complete(async move { start(&engine, &one, &all, recreate).await })
        });
        let done = match try_join_all(starts).await {
            Err(Error::Engine(engine::Error::NameTaken { name })) => {
                return Err(self.name_taken(name).await?);
            }
            done => done?,
        };
        for (one, change) in open.iter().zip(done) {
            if change == Change::Recreated {
                self.replaced.remember(one, &of(one));
            }
            if matches!(change, Change::Created | Change::Recreated) {
                self.renewed.insert(one.service.clone());
            }
            progress.started.insert(one.service.clone());
            self.hooks.service(&one.service, change);
        }
        Ok(())
    }

    /// A container name was free a moment ago: if it is one of this project, another run has created the container.
    async fn name_taken(&self, name: String) -> Result<Error, Error> {
        let is_ours = self.containers().await?.iter().any(|container| container.name == name);
        let project = self.session.setup.name.clone();
        Ok(if is_ours { Error::AtWork { project, name } } else { engine::Error::NameTaken { name }.into() })
    }

    /// The containers of this project, whoever created them.
    pub(super) async fn containers(&self) -> Result<Vec<Container>, Error> {
        Ok(self.engine.containers(labels::PROJECT, &self.session.setup.name).await?)
    }

    /// Creates missing networks and volumes.
    async fn create_shared(&self) -> Result<(), Error> {
        let project = &self.session.setup.name;
        let is_ours = |labels: &HashMap<String, String>| labels.get(labels::PROJECT) == Some(project);
        let name = definition::network(&self.session);
        let networks = self.engine.networks(&name).await?;
        if networks.is_empty() {
            let mut labels = labels::of_project(project);
            labels.push(label(labels::NETWORK, "default"));
            let engine = self.engine.clone();
            self.changes.complete(async move { engine.create_network(&name, &labels, None).await }).await?;
        } else if !networks.iter().any(|network| is_ours(&network.labels)) {
            return Err(Error::Foreign { what: "network", name });
        }
        if self.session.setup.volumes.is_empty() {
            return Ok(());
        }
        let volumes = self.engine.volumes(labels::PROJECT, project).await?;
        for volume in &self.session.setup.volumes {
            let name = definition::volume(&self.session, volume);
            if volumes.iter().all(|known| known.name != name) {
                let mut labels = labels::of_project(project);
                labels.push(label(labels::VOLUME, volume));
                let engine = self.engine.clone();
                self.changes.complete(async move { engine.create_volume(&name, &labels).await }).await?;
            }
        }
        Ok(())
    }

    /// Removes the containers of services that this setup no longer has.
    async fn remove_orphans(
        &mut self,
        definitions: &[Definition],
        containers: &[Container],
    ) -> Result<(), Error> {
        for container in containers.iter().filter(|container| container.labels.contains_key(labels::OURS)) {
            let service = container.labels.get(labels::SERVICE).cloned().unwrap_or_default();
            if definitions.iter().all(|one| one.service != service) {
                let (engine, id) = (self.engine.clone(), container.id.clone());
                self.changes.complete(async move { remove(&engine, &id).await }).await?;
                self.hooks.service(&service, Change::Removed);
            }
        }
        Ok(())
    }

    /// Fails if a service that was started has exited or is unhealthy.
    pub(super) async fn check(&mut self, service: &str, container: &Container) -> Result<(), Error> {
        let name = &container.name;
        match container.state {
            State::Exited | State::Gone => {
                let code = self.engine.failure(name).await.map(|failure| failure.exit_code);
                let status =
                    code.map_or_else(|_| "ended".to_owned(), |code| format!("ended with exit code {code}"));
                Err(self.failed(service, Some(name), &status).await)
            }
            State::Running(Some(HealthStatus::Unhealthy)) => {
                let output = self.engine.failure(name).await?.health_check;
                let why = output.map_or_else(String::new, |health| format!(": {health}"));
                let status = format!("is unhealthy{}", why.replace('\n', " "));
                Err(self.failed(service, Some(name), &status).await)
            }
            State::Created | State::Paused | State::Running(_) => Ok(()),
        }
    }

    /// The error for a service whose container was removed.
    pub(super) async fn removed(&mut self, service: &str) -> Error {
        self.failed(service, None, "was removed").await
    }

    async fn failed(&mut self, service: &str, container: Option<&str>, status: &str) -> Error {
        let last_lines = match container {
            Some(name) => self.engine.last_lines(name, LAST_LINES).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let (service, status) = (service.to_owned(), status.to_owned());
        let event = Event::Failed { service: service.clone(), status: status.clone(), last_lines };
        self.hooks.event(&event);
        Error::Failed { service, status }
    }

    /// The error for the first service that was not healthy in time.
    async fn unhealthy(&mut self, progress: &Progress<'_>) -> Error {
        let after = self.options.wait_timeout;
        let is_late = |name: &&String| progress.started.contains(*name) && !progress.healthy.contains(*name);
        let mut services = progress.definitions.iter().map(|one| &one.service);
        let service = services.find(is_late).cloned().unwrap_or_default();
        let container = by_service(&progress.containers).get(service.as_str()).map(|it| it.name.clone());
        let status = format!("is not healthy after {} s", after.as_secs());
        self.failed(&service, container.as_deref(), &status).await;
        Error::NotReady { what: format!("the service `{service}` is not healthy"), after }
    }
}

/// One container per service; [`start`] removes others.
pub(super) fn by_service(containers: &[Container]) -> HashMap<&str, &Container> {
    let name = |container: &'_ Container| container.labels.contains_key(labels::SERVICE);
    containers.iter().filter(|it| name(it)).map(|it| (it.labels[labels::SERVICE].as_str(), it)).collect()
}

fn is_of(container: &Container, service: &str) -> bool {
    let value = |label| container.labels.get(label).map(String::as_str);
    value(labels::SERVICE) == Some(service) && value(labels::ONE_OFF) != Some("True")
}

fn is_healthy(one: &Definition, container: &Container) -> bool {
    match container.state {
        State::Running(Some(status)) => status == HealthStatus::Healthy,
        State::Running(None) => one.spec.health.is_none() && !one.ends,
        _ => false,
    }
}

/// Whether a container has ended with exit code 0.
pub(super) async fn has_succeeded(engine: &Engine, container: &Container) -> Result<bool, engine::Error> {
    Ok(container.state == State::Exited && engine.failure(&container.name).await?.exit_code == 0)
}

/// Starts the container of one service, created as defined.
async fn start(
    engine: &Engine,
    one: &Definition,
    found: &[Container],
    recreate: bool,
) -> Result<Change, Error> {
    let is_same = |container: &&Container| {
        container.labels.get(labels::HASH) == Some(&one.hash) && container.name == one.spec.name && !recreate
    };
    let usable = |container: &&Container| {
        !matches!(
            container.state,
            State::Gone | State::Paused | State::Running(Some(HealthStatus::Unhealthy))
        )
    };
    let keep = found.iter().filter(is_same).find(usable);
    let others = found.iter().filter(|container| Some(*container) != keep);
    // Those that run serve until there is a container in their place.
    let serves = |container: &&Container| keep.is_none() && matches!(container.state, State::Running(_));
    let (serving, useless): (Vec<&Container>, Vec<&Container>) = others.partition(serves);
    for other in useless {
        remove(engine, &other.id).await?;
    }
    let change = match keep {
        Some(Container { state: State::Running(_), .. }) => return Ok(Change::Unchanged),
        Some(container) if one.ends && has_succeeded(engine, container).await? => {
            return Ok(Change::Unchanged);
        }
        Some(_) => Change::Started,
        None => {
            create_beside(engine, one, &serving).await?;
            if found.is_empty() { Change::Created } else { Change::Recreated }
        }
    };
    for other in &serving {
        engine.stop(&other.id, WRITING).await?;
    }
    let started = engine.start_container(&one.spec.name, &one.spec.ports).await;
    // Not before, since nobody serves meanwhile.
    for other in serving {
        engine.remove(&other.id).await?;
    }
    match started {
        Ok(()) => Ok(change),
        Err(error) => Err(explain_port(engine, &one.service, error).await),
    }
}

/// Creates the container of a service while others serve, one of which has its name.
async fn create_beside(
    engine: &Engine,
    one: &Definition,
    serving: &[&Container],
) -> Result<(), engine::Error> {
    let name = &one.spec.name;
    let named = serving.iter().find(|container| container.name == *name);
    if let Some(container) = named {
        engine.rename(&container.id, &format!("{:.12}_{name}", container.id)).await?;
    }
    let created = engine.create(&one.spec).await;
    if let (Err(_), Some(container)) = (&created, named) {
        engine.rename(&container.id, name).await.ok();
    }
    created.map(drop)
}

async fn remove(engine: &Engine, id: &str) -> Result<(), engine::Error> {
    engine.stop(id, GRACE).await?;
    engine.remove(id).await
}
