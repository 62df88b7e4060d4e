//! Stands for the container engine: containers are entries of a table, builds and pulls succeed unless a test wants
//! otherwise, and every server is healthy. What it leaves out, building, running and answering, is tested in
//! `host::runner` and `host::deployed` on real engines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::LogLevel;
use agentcli_host::runner::{
    Act, BuildJob, ContainerState, ContainerStatus, Failure, Launch, LineSink, LogSink, Origin, PullJob,
    Runner, container_name, unpack,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::sleep;

/// Number of nanoseconds.
const MILLISECOND: i64 = 1_000_000;

/// What happens to a revision of a given number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its build fails for this reason.
    Build(&'static str),
    /// It cannot be deployed, for this reason.
    Deploy(&'static str),
    /// Its servers end when they start, and have printed this.
    Crash(&'static [&'static str]),
    /// It is built or deployed without end.
    Stall,
}

/// The table, and how it behaves. All clones have the same table.
#[derive(Clone, Default)]
pub(crate) struct StandIn {
    pub(crate) pace: Duration,
    /// Interval at which servers write to their logs, if they do.
    pub(crate) heartbeat: Option<Duration>,
    /// What servers write to their logs when they start.
    pub(crate) lines: &'static [&'static str],
    /// Milliseconds by which the clock is set back after the first of these lines.
    pub(crate) set_back: i64,
    /// By number of the revision, from 1.
    pub(crate) faults: Vec<(u64, Fault)>,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    containers: BTreeMap<String, ContainerStatus>,
    images: BTreeSet<String>,
    /// The secrets of containers that were created, by container as in the acts.
    environments: BTreeMap<String, Vec<(String, String)>>,
    acts: Vec<String>,
    /// Number of creations that fail until one can be done.
    failing_creations: usize,
    is_gone: bool,
    /// The output of every container, with its times in nanoseconds since 1970.
    output: Vec<(i64, String)>,
    /// Acts that hang: what is done, and a part of the name of the deployment.
    hanging: Vec<(&'static str, &'static str)>,
}

/// Notes that a build was cancelled, unless it is done.
struct Building<'a> {
    engine: &'a StandIn,
    revision: String,
    is_done: bool,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.engine.table().acts.push(format!("cancelled {}", self.revision));
        }
    }
}

impl StandIn {
    /// Whose builds, pulls and containers take this long.
    pub(super) fn new(pace: Duration) -> Self {
        Self { pace, ..Self::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap()
    }

    /// Everything that was done, in order; revisions are given by their numbers, and containers by those of their revisions
    /// and their own.
    pub(crate) fn acts(&self) -> Vec<String> {
        self.table().acts.clone()
    }

    /// The containers, as in [`StandIn::acts`].
    pub(crate) fn containers(&self) -> Vec<String> {
        self.table().containers.keys().map(|name| short(name)).collect()
    }

    /// The secrets that a container was created with, by its name as in [`StandIn::acts`].
    pub(crate) fn environment(&self, container: &str) -> Vec<(String, String)> {
        self.table().environments[container].clone()
    }

    /// The tags of images.
    pub(crate) fn image_tags(&self) -> Vec<String> {
        self.table().images.iter().cloned().collect()
    }

    /// Adds the image of a build that was killed.
    pub(crate) fn leave_image(&self, tag: &str) {
        self.table().images.insert(tag.to_owned());
    }

    /// Removes all images behind the service's back.
    pub(crate) fn remove_images(&self) {
        self.table().images.clear();
    }

    /// Adds a container of a deployment that is not recorded.
    pub(crate) fn leave_container(&self, name: &str) {
        let orphan = status(name, "gone", "gone", 0, ContainerState::Running);
        self.table().containers.insert(name.to_owned(), orphan);
    }

    /// Ends all containers.
    pub(crate) fn crash(&self) {
        let exited = ContainerState::Exited { code: 1, ran: Duration::from_secs(1) };
        self.table().containers.values_mut().for_each(|container| container.state = exited);
    }

    /// Whether the engine can be reached.
    pub(crate) fn disappear(&self, is_gone: bool) {
        self.table().is_gone = is_gone;
    }

    /// Lets so many creations of containers fail.
    pub(crate) fn fail_creations(&self, count: usize) {
        self.table().failing_creations = count;
    }

    /// Lets an act hang for the deployments whose names have this part.
    pub(crate) fn hang(&self, act: &'static str, deployments: &'static str) {
        self.table().hanging.push((act, deployments));
    }

    /// Prints a line in every container at this time.
    pub(crate) fn print(&self, time: i64, line: &str) {
        self.table().output.push((time, line.to_owned()));
    }

    /// Notes an act, and waits for ever if it hangs.
    async fn begin(&self, act: &'static str, name: &str, what: &str) -> Result<(), Failure> {
        let hangs = {
            let mut table = self.table();
            if table.is_gone {
                return Err(Failure::Unavailable("the engine is gone".to_owned()));
            }
            table.acts.push(format!("{act} {what}"));
            table.hanging.iter().any(|(hanging, of)| *hanging == act && name.contains(of))
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    fn fault(&self, tag: &str) -> Option<&Fault> {
        let number: u64 = tag.rsplit(':').next()?.parse().ok()?;
        self.faults.iter().find(|(of, _)| *of == number).map(|(_, fault)| fault)
    }

    /// The fault of the revision of a container.
    fn container_fault(&self, container: &str) -> Option<&Fault> {
        let short = short(container);
        self.fault(&format!(":{}", short.split('-').next().unwrap_or_default()))
    }

    fn set(&self, container: &str, state: ContainerState) {
        if let Some(status) = self.table().containers.get_mut(container) {
            status.state = state;
        }
    }

    fn runs(&self, container: &str) -> bool {
        let table = self.table();
        table.containers.get(container).is_some_and(|status| status.state == ContainerState::Running)
    }

    async fn stall(&self, tag: &str) {
        sleep(self.pace).await;
        if self.fault(tag) == Some(&Fault::Stall) {
            std::future::pending::<()>().await;
        }
    }
}

/// The number of the revision of a tag, or of a container and its own.
fn short(name: &str) -> String {
    if let Some((_, number)) = name.rsplit_once(':') {
        return number.to_owned();
    }
    let parts: Vec<&str> = name.rsplitn(3, '-').collect();
    if let [replica, number, _] = parts[..] { format!("{number}-{replica}") } else { name.to_owned() }
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

impl Runner for StandIn {
    fn observe(&self) -> Act<'_, Vec<ContainerStatus>> {
        async {
            let table = self.table();
            if table.is_gone {
                Err(Failure::Unavailable("the engine is gone".to_owned()))
            } else {
                Ok(table.containers.values().cloned().collect())
            }
        }
        .boxed()
    }

    fn images(&self) -> Act<'_, Vec<String>> {
        async { Ok(self.image_tags()) }.boxed()
    }

    fn build(&self, job: BuildJob, log: LogSink) -> Act<'_, ()> {
        async move {
            let revision = short(&job.tag);
            let mut building = Building { engine: self, revision: revision.clone(), is_done: false };
            self.begin("build", &job.tag, &revision).await?;
            self.stall(&job.tag).await;
            building.is_done = true;
            if let Origin::Archive(archive) = &job.origin {
                let root = tempfile::tempdir().unwrap();
                unpack(archive, &job.config, root.path(), &log).map_err(Failure::Refused)?;
            }
            match self.fault(&job.tag) {
                Some(Fault::Build(reason)) => Err(Failure::Refused((*reason).to_owned())),
                _ => {
                    log(LogLevel::Info, &format!("building {}", job.config));
                    log(LogLevel::Info, "there are no steps");
                    log(LogLevel::Info, &format!("built {}", job.tag));
                    self.table().images.insert(job.tag);
                    Ok(())
                }
            }
        }
        .boxed()
    }

    fn has_image<'a>(&'a self, _: &'a str) -> Act<'a, bool> {
        async { Ok(true) }.boxed()
    }

    fn pull(&self, job: PullJob, log: LogSink) -> Act<'_, ()> {
        async move {
            self.begin("pull", &job.tag, &short(&job.tag)).await?;
            self.stall(&job.tag).await;
            log(LogLevel::Warning, &format!("{} is only pretended to be pulled", job.image));
            self.table().images.insert(job.tag);
            Ok(())
        }
        .boxed()
    }

    fn create(&self, launch: Launch) -> Act<'_, ()> {
        async move {
            sleep(self.pace).await;
            if let Some(Fault::Deploy(reason)) = self.fault(&launch.image) {
                return Err(Failure::Refused((*reason).to_owned()));
            }
            let Launch { deployment, revision, replica, .. } = &launch;
            let name = container_name(&launch.name, launch.number, *replica);
            {
                let mut table = self.table();
                if let Some(rest) = table.failing_creations.checked_sub(1) {
                    table.failing_creations = rest;
                    return Err(Failure::Unavailable("waiting for the database".to_owned()));
                }
            }
            self.begin("create", &name, &short(&name)).await?;
            let status = status(&name, deployment, revision, *replica, ContainerState::Created);
            let mut table = self.table();
            table.environments.insert(short(&name), launch.environment.clone());
            table.containers.entry(name).or_insert(status);
            Ok(())
        }
        .boxed()
    }

    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move {
            self.begin("start", container, &short(container)).await?;
            let is_broken = matches!(self.container_fault(container), Some(Fault::Crash(_)));
            let exited = ContainerState::Exited { code: 3, ran: Duration::from_millis(1) };
            self.set(container, if is_broken { exited } else { ContainerState::Running });
            Ok(())
        }
        .boxed()
    }

    fn probe<'a>(&'a self, status: &'a ContainerStatus) -> BoxFuture<'a, bool> {
        async move {
            // Probes are many; only those that hang are noted.
            let hangs =
                self.table().hanging.iter().any(|(act, of)| *act == "probe" && status.name.contains(of));
            if hangs {
                self.begin("probe", &status.name, &status.name).await.ok();
            }
            status.state == ContainerState::Running
        }
        .boxed()
    }

    fn version<'a>(&'a self, _: &'a ContainerStatus) -> BoxFuture<'a, Option<String>> {
        async { Some("1.0".to_owned()) }.boxed()
    }

    fn stop<'a>(&'a self, container: &'a str, _: Duration) -> Act<'a, ()> {
        async move {
            self.begin("stop", container, &short(container)).await?;
            self.set(container, ContainerState::Exited { code: 0, ran: Duration::from_secs(1) });
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move {
            self.begin("remove", container, &short(container)).await?;
            self.table().containers.remove(container);
            Ok(())
        }
        .boxed()
    }

    fn remove_image<'a>(&'a self, name: &'a str) -> Act<'a, ()> {
        async move {
            self.begin("untag", name, name).await?;
            self.table().images.remove(name);
            Ok(())
        }
        .boxed()
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Act<'a, ()> {
        self.begin("forget", deployment, deployment).boxed()
    }

    fn last_lines<'a>(&'a self, container: &'a str, _: usize) -> Act<'a, Vec<String>> {
        async move {
            let Some(Fault::Crash(lines)) = self.container_fault(container) else { return Ok(Vec::new()) };
            Ok(lines.iter().map(|&line| line.to_owned()).collect())
        }
        .boxed()
    }

    fn follow<'a>(&'a self, container: &'a str, after: i64, line: LineSink) -> Act<'a, ()> {
        async move {
            let interval = self.heartbeat.unwrap_or(Duration::from_millis(20));
            // The number of a line is in its time, below the milliseconds.
            let mut number = after % MILLISECOND;
            let mut next = || {
                number += 1;
                (time::now() * MILLISECOND + number, number)
            };
            let output = self.table().output.clone();
            output.into_iter().filter(|(time, _)| *time > after).for_each(|(time, text)| line(time, text));
            for (index, text) in self.lines.iter().enumerate() {
                let set_back = if index == 0 { 0 } else { self.set_back * MILLISECOND };
                line(next().0 - set_back, (*text).to_owned());
            }
            while self.runs(container) {
                sleep(interval).await;
                if self.heartbeat.is_some() {
                    let (time, number) = next();
                    line(time, format!("heartbeat {number}"));
                }
            }
            Ok(())
        }
        .boxed()
    }
}
