//! Containers: listing, creating, starting, stopping and removing them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bollard::models::{
    ContainerCreateBody, ContainerState, ContainerSummary, ContainerSummaryStateEnum, EndpointSettings,
    HealthConfig, HostConfig, Mount, MountType, NetworkingConfig, PortBinding, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, KillContainerOptions, ListContainersOptions,
    RemoveContainerOptions, RenameContainerOptions, StartContainerOptions, StopContainerOptions,
};
use jiff::Timestamp;
use tokio::time::sleep;

use super::call::{DEADLINE, unless_status};
use super::connect::Engine;
use super::error::Error;
use crate::compiler::back::plan::{Health, Port, VolumeMount};

/// Interval of health checks, in seconds, on engines before 25 (API 1.44), which have no start interval.
const OLD_INTERVAL: u32 = 5;
const START_INTERVAL_SINCE: (u32, u32) = (1, 44);

/// The statuses of a container that already is as asked (304), does not exist (404), or is being changed (409).
const NOTHING_TO_DO: &[u16] = &[304, 404, 409];

/// Timeout for a removal by somebody else, and the interval between retries.
const REMOVAL: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// A container to create. There is no `Debug`: values of its environment may be secret.
#[derive(Clone)]
pub struct ContainerSpec {
    /// Its name.
    pub name: String,
    /// Name or ID of the image.
    pub image: String,
    /// The command [default: that of the image].
    pub command: Option<Vec<String>>,
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Published ports.
    pub ports: Vec<Port>,
    /// The address that they are published on [default: all addresses].
    pub address: Option<IpAddr>,
    /// Mounted volumes.
    pub mounts: Vec<VolumeMount>,
    /// The health check.
    pub health: Option<Health>,
    /// The network.
    pub network: String,
    /// Its names in the network.
    pub aliases: Vec<String>,
    /// Limits and restarts.
    pub policy: Policy,
}

/// The name that the machine of an engine has in its containers: with Docker Desktop and Podman always, else if it is given.
pub const MACHINE: &str = "host.docker.internal";

/// Limits of a container, and how the engine treats it by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Policy {
    /// Number of CPUs [default: no limit].
    pub cpus: Option<f64>,
    /// Memory in bytes [default: no limit].
    pub memory: Option<u64>,
    /// Number of processes and threads [default: that of the engine].
    pub pids: Option<u64>,
    /// Whether its processes have no capabilities, and cannot gain privileges.
    pub is_confined: bool,
    /// Whether it reaches the machine of the engine as [`MACHINE`].
    pub reaches_machine: bool,
    /// Time to stop when the engine itself is stopped [default: that of the engine].
    pub stop_timeout: Option<Duration>,
    /// Whether the engine starts it again whenever it ends.
    pub restarts: bool,
}

/// A container on the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: HashMap<String, String>,
    /// Its state.
    pub state: State,
    /// Its published ports.
    pub ports: Vec<u16>,
}

/// The state of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Created but never started.
    Created,
    /// Exited.
    Exited,
    /// Being removed, or dead.
    Gone,
    /// Paused.
    Paused,
    /// Running, with its health if it has a health check.
    Running(Option<HealthStatus>),
}

/// The result of the health check of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthStatus {
    /// Healthy.
    Healthy,
    /// Not known yet.
    Starting,
    /// Unhealthy.
    Unhealthy,
}

/// How a container exited, or why it is unhealthy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Its exit code.
    pub exit_code: i64,
    /// How long it ran.
    pub ran: Duration,
    /// Output of the last failed health check.
    pub health_check: Option<String>,
}

impl Engine {
    /// The containers with this label, running or not.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects; this applies to all functions below.
    pub async fn containers(&self, label: &str, value: &str) -> Result<Vec<Container>, Error> {
        let filters = HashMap::from([("label".to_owned(), vec![format!("{label}={value}")])]);
        let options = ListContainersOptions { all: true, filters: Some(filters), ..Default::default() };
        let listed = self.call("list its containers", self.docker.list_containers(Some(options))).await?;
        Ok(listed.into_iter().map(container).collect())
    }

    /// The container that publishes `port`.
    pub async fn holder_of(&self, port: u16) -> Result<Option<Container>, Error> {
        let all = self.docker.list_containers(None::<ListContainersOptions>);
        let listed = self.call("list its containers", all).await?;
        Ok(listed.into_iter().map(container).find(|container| container.ports.contains(&port)))
    }

    /// Creates a container and returns its ID.
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`] if there is another container of this name.
    pub async fn create(&self, spec: &ContainerSpec) -> Result<String, Error> {
        let options = CreateContainerOptions { name: Some(spec.name.clone()), ..Default::default() };
        let has_start_interval = spec.health.is_none() || self.has_start_interval().await?;
        let what = format!("create the container `{}`", spec.name);
        let mut body = body(spec, has_start_interval);
        if spec.policy.reaches_machine && !self.is_podman().await? {
            let hosts = Some(vec![format!("{MACHINE}:host-gateway")]);
            body.host_config = body.host_config.map(|config| HostConfig { extra_hosts: hosts, ..config });
        }
        let create = self.docker.create_container(Some(options), body);
        match self.call(&what, create).await {
            Err(Error::Request { status: 409, .. }) => Err(Error::NameTaken { name: spec.name.clone() }),
            created => created.map(|created| created.id),
        }
    }

    /// Starts a container.
    ///
    /// # Errors
    ///
    /// [`Error::PortTaken`] if one of its ports is in use.
    pub async fn start_container(&self, name: &str, ports: &[Port]) -> Result<(), Error> {
        let start = self.docker.start_container(name, None::<StartContainerOptions>);
        let started = self.call(&format!("start the container `{name}`"), start).await;
        started.map_err(|error| match error {
            Error::Request { reason, .. } if is_port_taken(&reason) => {
                Error::PortTaken { port: port_of(&reason, ports), name: name.to_owned() }
            }
            error => error,
        })
    }

    /// Stops a container, and kills it after `grace`. Succeeds if it does not run or does not exist.
    pub async fn stop(&self, name: &str, grace: Duration) -> Result<(), Error> {
        let t = i32::try_from(grace.as_secs()).ok();
        let stop = self.docker.stop_container(name, Some(StopContainerOptions { t, signal: None }));
        let what = format!("stop the container `{name}`");
        let deadline = grace.saturating_add(DEADLINE);
        unless_status(self.call_within(deadline, &what, stop).await, NOTHING_TO_DO)
    }

    /// Gives a container another name. Succeeds if it does not exist.
    ///
    /// # Errors
    ///
    /// The name is in use, or the engine refuses or disconnects.
    pub async fn rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let options = RenameContainerOptions { name: name.to_owned() };
        let rename = self.docker.rename_container(id, options);
        unless_status(self.call(&format!("rename a container to `{name}`"), rename).await, &[404])
    }

    /// Kills a container.
    pub async fn kill(&self, name: &str) -> Result<(), Error> {
        let kill = self.docker.kill_container(name, None::<KillContainerOptions>);
        unless_status(self.call(&format!("kill the container `{name}`"), kill).await, NOTHING_TO_DO)
    }

    /// Removes a container and its anonymous volumes. If somebody else is removing it, waits for that: its name is taken
    /// until then.
    pub async fn remove(&self, name: &str) -> Result<(), Error> {
        let what = format!("remove the container `{name}`");
        let deadline = Instant::now() + REMOVAL;
        loop {
            let options = RemoveContainerOptions { v: true, force: true, link: false };
            match self.call(&what, self.docker.remove_container(name, Some(options))).await {
                Err(Error::Request { status: 409, .. }) if Instant::now() < deadline => sleep(PAUSE).await,
                removed => return unless_status(removed, &[404]),
            }
        }
    }

    /// How a container exited, or why it is unhealthy.
    pub async fn failure(&self, name: &str) -> Result<Failure, Error> {
        let inspect = self.docker.inspect_container(name, None::<InspectContainerOptions>);
        let found = self.call(&format!("inspect the container `{name}`"), inspect).await?;
        let state = found.state.unwrap_or_default();
        let ran = ran(&state);
        let checks = state.health.and_then(|health| health.log).unwrap_or_default();
        let failed = checks.into_iter().rev().find(|check| check.exit_code != Some(0));
        let output = failed.and_then(|check| check.output).map(|text| text.trim().to_owned());
        let health_check = output.filter(|text| !text.is_empty());
        Ok(Failure { exit_code: state.exit_code.unwrap_or_default(), ran, health_check })
    }

    /// Whether the engine supports a shorter interval of health checks during startup, as versions since 25 do.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn has_start_interval(&self) -> Result<bool, Error> {
        let version = self.version().await?;
        let version = version.api_version.unwrap_or_default();
        let version = version
            .split_once('.')
            .and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
        Ok(version.is_some_and(|version| version >= START_INTERVAL_SINCE))
    }
}

/// How long a container ran that has exited; 0 if that is unknown.
fn ran(state: &ContainerState) -> Duration {
    let time = |text: &Option<String>| text.as_deref()?.parse::<Timestamp>().ok();
    let ran =
        time(&state.started_at).zip(time(&state.finished_at)).map(|(start, end)| end.duration_since(start));
    ran.and_then(|ran| ran.try_into().ok()).unwrap_or_default()
}

fn container(summary: ContainerSummary) -> Container {
    let name = summary.names.unwrap_or_default().into_iter().next().unwrap_or_default();
    let status = summary.status.unwrap_or_default();
    let state = match summary.state {
        Some(ContainerSummaryStateEnum::CREATED) => State::Created,
        Some(ContainerSummaryStateEnum::EXITED) => State::Exited,
        Some(ContainerSummaryStateEnum::PAUSED) => State::Paused,
        Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::RESTARTING) => {
            State::Running(health_status(&status))
        }
        _ => State::Gone,
    };
    Container {
        id: summary.id.unwrap_or_default(),
        name: name.trim_start_matches('/').to_owned(),
        labels: summary.labels.unwrap_or_default(),
        state,
        ports: summary.ports.iter().flatten().filter_map(|opened| opened.public_port).collect(),
    }
}

/// The health in a status such as `Up 2 minutes (healthy)`, which all engines report.
fn health_status(status: &str) -> Option<HealthStatus> {
    match status.rsplit_once('(')?.1.trim_end_matches(')') {
        "healthy" => Some(HealthStatus::Healthy),
        "unhealthy" => Some(HealthStatus::Unhealthy),
        "health: starting" | "starting" => Some(HealthStatus::Starting),
        _ => None,
    }
}

fn body(spec: &ContainerSpec, has_start_interval: bool) -> ContainerCreateBody {
    let key = |port: &Port| format!("{}/tcp", port.container);
    let host_ip = spec.address.map(|address| address.to_string());
    let binding =
        |port: &Port| PortBinding { host_ip: host_ip.clone(), host_port: Some(port.host.to_string()) };
    let bindings = spec.ports.iter().map(|port| (key(port), Some(vec![binding(port)]))).collect();
    let endpoint = EndpointSettings { aliases: Some(spec.aliases.clone()), ..Default::default() };
    ContainerCreateBody {
        image: Some(spec.image.clone()),
        cmd: spec.command.clone(),
        env: Some(spec.environment.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        labels: Some(spec.labels.iter().cloned().collect()),
        exposed_ports: Some(spec.ports.iter().map(key).collect()),
        stop_timeout: spec.policy.stop_timeout.and_then(|limit| limit.as_secs().try_into().ok()),
        healthcheck: spec.health.as_ref().map(|health| health_config(health, has_start_interval)),
        host_config: Some(HostConfig {
            port_bindings: Some(bindings),
            mounts: Some(spec.mounts.iter().map(mount).collect()),
            network_mode: Some(spec.network.clone()),
            nano_cpus: spec.policy.cpus.map(|cpus| (cpus * 1e9) as i64),
            memory: spec.policy.memory.and_then(|bytes| bytes.try_into().ok()),
            pids_limit: spec.policy.pids.and_then(|count| count.try_into().ok()),
            cap_drop: spec.policy.is_confined.then(|| vec!["ALL".to_owned()]),
            security_opt: spec.policy.is_confined.then(|| vec!["no-new-privileges".to_owned()]),
            restart_policy: spec.policy.restarts.then(|| RestartPolicy {
                name: Some(RestartPolicyNameEnum::UNLESS_STOPPED),
                ..Default::default()
            }),
            ..Default::default()
        }),
        networking_config: Some(NetworkingConfig {
            endpoints_config: Some(HashMap::from([(spec.network.clone(), endpoint)])),
        }),
        ..Default::default()
    }
}

fn mount(mount: &VolumeMount) -> Mount {
    Mount {
        source: Some(mount.volume.clone()),
        target: Some(mount.target.clone()),
        typ: Some(MountType::VOLUME),
        ..Default::default()
    }
}

fn health_config(health: &Health, has_start_interval: bool) -> HealthConfig {
    let nanoseconds = |seconds: u32| Some(i64::from(seconds) * 1_000_000_000);
    if health.command.is_empty() {
        return HealthConfig { test: Some(vec!["NONE".to_owned()]), ..Default::default() };
    }
    let interval = if has_start_interval { health.interval } else { health.interval.min(OLD_INTERVAL) };
    let words = std::iter::once("CMD".to_owned()).chain(health.command.iter().cloned());
    HealthConfig {
        test: Some(words.collect()),
        interval: nanoseconds(interval),
        timeout: nanoseconds(health.timeout),
        retries: Some(i64::from(health.retries)),
        start_period: nanoseconds(health.start_period),
        start_interval: nanoseconds(health.start_interval).filter(|_| has_start_interval),
    }
}

/// Whether an error of Docker or Podman is about a port in use, by a container or by another program.
fn is_port_taken(reason: &str) -> bool {
    ["port is already allocated", "address already in use"].iter().any(|words| reason.contains(words))
}

/// The port that `reason` is about: one of `ports`, after a colon.
fn port_of(reason: &str, ports: &[Port]) -> u16 {
    let mut found = reason
        .split(':')
        .skip(1)
        .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u16>().ok());
    let named = found.find(|port| ports.iter().any(|known| known.host == *port));
    named.or_else(|| Some(ports.first()?.host)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_in_the_errors_of_each_engine() {
        let ports = [Port { host: 5433, container: 5432 }, Port { host: 8123, container: 8000 }];
        for reason in [
            "driver failed programming external connectivity on endpoint a-b-1 (7f): Bind for 0.0.0.0:8123 failed: port \
             is already allocated",
            "driver failed programming external connectivity on endpoint a-b-1 (7f): Error starting userland proxy: \
             listen tcp4 0.0.0.0:8123: bind: address already in use",
            "rootlessport listen tcp 0.0.0.0:8123: bind: address already in use",
        ] {
            assert!(is_port_taken(reason), "{reason}");
            assert_eq!(port_of(reason, &ports), 8123, "{reason}");
        }
        assert_eq!(port_of("port is already allocated", &ports[..1]), 5433);
    }

    #[test]
    fn health_is_read_from_the_status() {
        assert_eq!(health_status("Up 2 minutes (healthy)"), Some(HealthStatus::Healthy));
        assert_eq!(health_status("Up 2 minutes (unhealthy)"), Some(HealthStatus::Unhealthy));
        assert_eq!(health_status("Up Less than a second (health: starting)"), Some(HealthStatus::Starting));
        assert_eq!(health_status("Up 2 minutes"), None);
        assert_eq!(health_status("Exited (1) 3 seconds ago"), None);
    }
}
