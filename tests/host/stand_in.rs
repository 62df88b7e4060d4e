//! Stands for the container engine: containers are entries of a table, builds and pulls succeed unless a test wants
//! otherwise, and every server is healthy. What it leaves out, building, running and answering, is tested in
//! `host::runner` and `host::deployed` on real engines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::LogLevel;
use agentcli_host::runner::{
    Act, BuildJob, ContainerState, ContainerStatus, Failure, Launch, LineSink, LogSink, PullJob, Runner,
    container_name,
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
    /// It is built or deployed without end.
    Stall,
}

/// The table, and how it behaves.
#[derive(Default)]
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
    /// The names of images that were removed.
    pub(crate) removed: Arc<Mutex<Vec<String>>>,
    containers: Mutex<BTreeMap<String, ContainerStatus>>,
    images: Mutex<BTreeSet<String>>,
}

impl StandIn {
    /// Whose builds, pulls and containers take this long.
    pub(super) fn new(pace: Duration) -> Self {
        Self { pace, ..Self::default() }
    }

    fn fault(&self, tag: &str) -> Option<&Fault> {
        let number: u64 = tag.rsplit(':').next()?.parse().ok()?;
        self.faults.iter().find(|(of, _)| *of == number).map(|(_, fault)| fault)
    }

    fn set(&self, container: &str, state: ContainerState) {
        if let Some(status) = self.containers.lock().unwrap().get_mut(container) {
            status.state = state;
        }
    }

    async fn stall(&self, tag: &str) {
        sleep(self.pace).await;
        if self.fault(tag) == Some(&Fault::Stall) {
            std::future::pending::<()>().await;
        }
    }
}

impl Runner for StandIn {
    fn observe(&self) -> Act<'_, Vec<ContainerStatus>> {
        async { Ok(self.containers.lock().unwrap().values().cloned().collect()) }.boxed()
    }

    fn images(&self) -> Act<'_, Vec<String>> {
        async { Ok(self.images.lock().unwrap().iter().cloned().collect()) }.boxed()
    }

    fn build(&self, job: BuildJob, log: LogSink) -> Act<'_, ()> {
        async move {
            self.stall(&job.tag).await;
            match self.fault(&job.tag) {
                Some(Fault::Build(reason)) => Err(Failure::Refused((*reason).to_owned())),
                _ => {
                    log(LogLevel::Info, &format!("building {}", job.config));
                    log(LogLevel::Info, "there are no steps");
                    log(LogLevel::Info, &format!("built {}", job.tag));
                    self.images.lock().unwrap().insert(job.tag);
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
            self.stall(&job.tag).await;
            log(LogLevel::Warning, &format!("{} is only pretended to be pulled", job.image));
            self.images.lock().unwrap().insert(job.tag);
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
            let name = container_name(&launch.name, launch.number, launch.replica);
            let status = ContainerStatus {
                name: name.clone(),
                deployment: launch.deployment,
                revision: launch.revision,
                replica: launch.replica,
                state: ContainerState::Created,
                address: None,
                health_check: "/ok".to_owned(),
            };
            self.containers.lock().unwrap().entry(name).or_insert(status);
            Ok(())
        }
        .boxed()
    }

    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move {
            self.set(container, ContainerState::Running);
            Ok(())
        }
        .boxed()
    }

    fn probe<'a>(&'a self, _: &'a ContainerStatus) -> BoxFuture<'a, bool> {
        async { true }.boxed()
    }

    fn version<'a>(&'a self, _: &'a ContainerStatus) -> BoxFuture<'a, Option<String>> {
        async { Some("1.0".to_owned()) }.boxed()
    }

    fn stop<'a>(&'a self, container: &'a str, _: Duration) -> Act<'a, ()> {
        async move {
            self.set(container, ContainerState::Exited { code: 0, ran: Duration::from_secs(1) });
            Ok(())
        }
        .boxed()
    }

    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move {
            self.containers.lock().unwrap().remove(container);
            Ok(())
        }
        .boxed()
    }

    fn remove_image<'a>(&'a self, name: &'a str) -> Act<'a, ()> {
        async {
            self.images.lock().unwrap().remove(name);
            self.removed.lock().unwrap().push(name.to_owned());
            Ok(())
        }
        .boxed()
    }

    fn forget<'a>(&'a self, _: &'a str) -> Act<'a, ()> {
        async { Ok(()) }.boxed()
    }

    fn last_lines<'a>(&'a self, _: &'a str, _: usize) -> Act<'a, Vec<String>> {
        async { Ok(Vec::new()) }.boxed()
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
            for (index, text) in self.lines.iter().enumerate() {
                let set_back = if index == 0 { 0 } else { self.set_back * MILLISECOND };
                line(next().0 - set_back, (*text).to_owned());
            }
            while self.containers.lock().unwrap().contains_key(container) {
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
