//! The runner on a container engine.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::OnceCell;

use agentcli::api::wire::LogLevel;
use agentcli::compiler::back::plan::Port;
use agentcli::compiler::front::keys;
use agentcli::compiler::server::product::{self, Product};
use agentcli::compiler::server::{self, local, setup};
use agentcli::engine::{ContainerSpec, Engine, Error, Policy, State};
use agentcli::probe::{self, Checker};

use super::labels::container_name;
use super::labels::{self, label};
use super::{
    Act, BuildJob, ContainerState, ContainerStatus, Failure, Launch, LineSink, LogSink, Options, PullFrom,
    PullJob, Runner, build, images, migrations, networks,
};
use crate::net::address;

/// The reason to refuse a mount prefix. A variable may be secret, so that it is not quoted.
const WRONG_PREFIX: &str = "the mount prefix is not a path; set MOUNT_PREFIX or `http.mount_prefix` to a path that starts \
                            with `/`, without spaces and the characters ?, #, @ and \\";

/// A runner on a container engine, which it connects to when it is first needed.
pub struct EngineRunner {
    options: Options,
    engine: OnceCell<Engine>,
    checker: Checker,
}

impl EngineRunner {
    /// Sets the runner up; the engine need not run. The error is a fragment.
    pub fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options, engine: OnceCell::new(), checker: Checker::new()? })
    }

    async fn engine(&self) -> Result<&Engine, Failure> {
        Ok(self.engine.get_or_try_init(|| Engine::connect(&self.options.engine)).await?)
    }

    async fn seen(
        &self,
        container: &agentcli::engine::Container,
    ) -> Result<Option<ContainerStatus>, Failure> {
        let Some(seen) = labels::seen(container) else { return Ok(None) };
        let state = match container.state {
            // It shares a network with others, and its databases are not there any more.
            _ if !labels::is_current(container) => ContainerState::Broken,
            State::Created => ContainerState::Created,
            State::Running(_) | State::Paused => ContainerState::Running,
            State::Gone => ContainerState::Broken,
            State::Exited => match self.engine().await?.failure(&container.name).await {
                Ok(end) => ContainerState::Exited { code: end.exit_code, ran: end.ran },
                Err(Error::Request { status: 404, .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        };
        Ok(Some(ContainerStatus { state, ..seen }))
    }

    /// The server of an image. Refuses a second replica of one that runs alone.
    async fn server(&self, engine: &Engine, launch: &Launch) -> Result<&'static Product, Failure> {
        let name = engine.image_label(&launch.image, product::LABEL).await?;
        let server = name.as_deref().and_then(Product::named).unwrap_or_default();
        if launch.replica == 0 || server.has_replicas() {
            return Ok(server);
        }
        let reason =
            format!("the server `{}` runs as one replica; set min_scale and max_scale to 1", server.name);
        Err(Failure::Refused(reason))
    }

    /// The container of a launch. What the host sets takes precedence over the secrets of the deployment.
    async fn spec(&self, launch: &Launch) -> Result<ContainerSpec, Failure> {
        let engine = self.engine().await?;
        let missing = || Failure::Refused(format!("the image `{}` was removed", launch.image));
        let built_in = engine.image_environment(&launch.image).await?.ok_or_else(missing)?;
        let Options { environment, host, limits, .. } = &self.options;
        let health_check = health_check(&[&launch.environment, environment, &built_in])?;
        let databases = self.options.databases.provide(engine, host, &launch.deployment).await?;
        let mut variables = environment.clone();
        let pool = self.options.databases.pool();
        if built_in.iter().chain(environment).all(|(name, _)| *name != pool.0) {
            variables.push(pool);
        }
        let port = (setup::PORT_VARIABLE.to_owned(), server::PORT.to_string());
        for (name, value) in launch.environment.iter().cloned().chain(databases).chain([port]) {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
        }
        Ok(ContainerSpec {
            name: container_name(&launch.name, launch.number, launch.replica),
            image: launch.image.clone(),
            command: None,
            environment: variables,
            labels: vec![
                label(labels::HOST, host),
                label(labels::DEPLOYMENT, &launch.deployment),
                label(labels::REVISION, &launch.revision),
                label(labels::REPLICA, launch.replica.to_string()),
                label(labels::HEALTH_CHECK, health_check),
                labels::layout(),
            ],
            // Any free port.
            ports: vec![Port { host: 0, container: server::PORT }],
            address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            mounts: Vec::new(),
            health: None,
            network: networks::name(host, &launch.deployment),
            aliases: Vec::new(),
            policy: Policy {
                cpus: launch.cpus,
                memory: Some(launch.memory.unwrap_or(limits.memory)),
                pids: Some(limits.pids),
                is_confined: true,
                reaches_machine: environment.iter().any(|(name, _)| name == local::COLLECTOR),
                stop_timeout: Some(launch.grace),
                restarts: false,
            },
        })
    }
}

/// The path of the health check of a server with these environments, of which the first take precedence.
fn health_check(environments: &[&[(String, String)]]) -> Result<String, Failure> {
    let path = format!("{}{}", mount_prefix(environments), local::OK_ROUTE);
    if probe::is_path(&path) { Ok(path) } else { Err(Failure::Refused(WRONG_PREFIX.to_owned())) }
}

/// The prefix of all routes: a variable takes precedence over the configuration in the image.
fn mount_prefix(environments: &[&[(String, String)]]) -> String {
    let given = |name: &str| {
        let mut all = environments.iter().copied().flatten();
        all.find(|(known, value)| known == name && !value.is_empty()).map(|(_, value)| value.clone())
    };
    let configured = || {
        let http: serde_json::Value = serde_json::from_str(&given(keys::HTTP)?).ok()?;
        http["mount_prefix"].as_str().map(str::to_owned)
    };
    let prefix = local::MOUNT_PREFIX.iter().find_map(|name| given(name)).or_else(configured);
    prefix.unwrap_or_default().trim_end_matches('/').to_owned()
}

impl Runner for EngineRunner {
    fn observe(&self) -> Act<'_, Vec<ContainerStatus>> {
        async {
            let mut all = Vec::new();
            for container in self.engine().await?.containers(labels::HOST, &self.options.host).await? {
                all.extend(self.seen(&container).await?);
            }
            Ok(all)
        }
        .boxed()
    }

    fn images(&self) -> Act<'_, Vec<String>> {
        async { Ok(self.engine().await?.images_below(&labels::prefix(&self.options.host)).await?) }.boxed()
    }

    fn build(&self, job: BuildJob, log: LogSink) -> Act<'_, ()> {
        async move { build::build(self.engine().await?, job, &self.options, log).await }.boxed()
    }

    fn has_image<'a>(&'a self, image: &'a str) -> Act<'a, bool> {
        async move { Ok(self.engine().await?.image(image).await?.is_some()) }.boxed()
    }

    fn resolve<'a>(&'a self, job: &'a PullJob) -> Act<'a, String> {
        async move {
            match job.from {
                PullFrom::Elsewhere => images::resolve(self.engine().await?, &self.options, &job.image).await,
                _ => Ok(job.image.clone()),
            }
        }
        .boxed()
    }

    fn pull(&self, job: PullJob, log: LogSink) -> Act<'_, ()> {
        async move {
            let engine = self.engine().await?;
            images::pull(engine, &self.options, &job, &log).await?;
            let PullJob { image, tag, .. } = &job;
            let (repository, tag) = tag.rsplit_once(':').unwrap_or((tag, "latest"));
            engine.tag(image, repository, tag).await?;
            log(LogLevel::Info, &format!("using {image}"));
            Ok(())
        }
        .boxed()
    }

    fn create(&self, launch: Launch) -> Act<'_, ()> {
        async move {
            let engine = self.engine().await?;
            let server = self.server(engine, &launch).await?;
            let spec = self.spec(&launch).await?;
            if let product::State::Databases { migrations: Some(command) } = server.state
                && !self.has(engine, &spec.name).await?
            {
                migrations::run(engine, &launch.deployment, &spec, command).await?;
            }
            match engine.create(&spec).await {
                // An earlier act created it, and was not recorded.
                Err(Error::NameTaken { .. }) if self.has(engine, &spec.name).await? => Ok(()),
                created => Ok(created.map(drop)?),
            }
        }
        .boxed()
    }

    fn start<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move {
            let engine = self.engine().await?;
            self.options.databases.start(engine, &self.options.host).await?;
            Ok(engine.start_container(container, &[]).await?)
        }
        .boxed()
    }

    fn probe<'a>(&'a self, seen: &'a ContainerStatus) -> BoxFuture<'a, bool> {
        async move {
            let Some(address) = seen.address else { return false };
            self.checker.succeeds(address, &seen.health_check).await
        }
        .boxed()
    }

    fn version<'a>(&'a self, seen: &'a ContainerStatus) -> BoxFuture<'a, Option<String>> {
        async move {
            // The health check and the description have the same prefix.
            let (address, prefix) = (seen.address?, seen.health_check.strip_suffix("ok")?);
            self.checker.version(address, &format!("{prefix}info")).await
        }
        .boxed()
    }

    fn stop<'a>(&'a self, container: &'a str, grace: Duration) -> Act<'a, ()> {
        async move { Ok(self.engine().await?.stop(container, grace).await?) }.boxed()
    }

    fn remove<'a>(&'a self, container: &'a str) -> Act<'a, ()> {
        async move { Ok(self.engine().await?.remove(container).await?) }.boxed()
    }

    fn remove_image<'a>(&'a self, tag: &'a str) -> Act<'a, ()> {
        async move {
            match self.engine().await?.remove_image(tag).await {
                Err(Error::Request { status: 404, .. }) => Ok(()),
                removed => Ok(removed?),
            }
        }
        .boxed()
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Act<'a, ()> {
        async move {
            let engine = self.engine().await?;
            migrations::remove(engine, deployment).await?;
            self.options.databases.remove(engine, &self.options.host, deployment).await
        }
        .boxed()
    }

    fn last_lines<'a>(&'a self, container: &'a str, count: usize) -> Act<'a, Vec<String>> {
        async move { Ok(self.engine().await?.last_lines(container, count).await?) }.boxed()
    }

    fn follow<'a>(&'a self, container: &'a str, after: i64, line: LineSink) -> Act<'a, ()> {
        async move {
            self.engine().await?.follow_after(container, after, line).await;
            Ok(())
        }
        .boxed()
    }
}

impl EngineRunner {
    async fn has(&self, engine: &Engine, container: &str) -> Result<bool, Failure> {
        let ours = engine.containers(labels::HOST, &self.options.host).await?;
        Ok(ours.iter().any(|it| it.name == container))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let reason = match error.hint() {
            // Its hint is about names that users choose.
            Some(hint) if !matches!(error, Error::NameTaken { .. }) => format!("{error}; {hint}"),
            _ => error.to_string(),
        };
        let reason = address::hidden(&reason);
        match error {
            Error::Denied { .. }
            | Error::Gone { .. }
            | Error::Lost { .. }
            | Error::NoEngine { .. }
            | Error::Timeout { .. }
            | Error::Unreachable { .. } => Self::Unavailable(reason),
            _ => Self::Refused(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_prefix_of_a_variable_precedes_the_one_in_the_image() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let built_in = [pair(keys::HTTP, r#"{"mount_prefix": "/configured/"}"#)];
        assert_eq!(mount_prefix(&[]), "");
        assert_eq!(mount_prefix(&[&[], &built_in]), "/configured");
        assert_eq!(mount_prefix(&[&[pair("MOUNT_PREFIX", "/given")], &built_in]), "/given");
    }

    #[test]
    fn mount_prefix_that_is_not_a_path_is_refused() {
        let check = |name: &str, value: &str| health_check(&[&[(name.to_owned(), value.to_owned())]]);
        assert_eq!(check("MOUNT_PREFIX", "/given/"), Ok("/given/ok".to_owned()));
        for value in ["@127.0.0.1:1/x?y=", ":1/x", "given", "/x?y=", "/x#", "/a b", "/x\\y", "/\n"] {
            let Err(Failure::Refused(reason)) = check("MOUNT_PREFIX", value) else { panic!("{value}") };
            assert!(!reason.contains(value), "{reason}");
            let configured = serde_json::json!({ "mount_prefix": value }).to_string();
            assert!(check(keys::HTTP, &configured).is_err(), "{value}");
        }
    }
}
