//! What to deploy, and to which deployment.

use std::time::Duration;

use crate::api::RetryPolicy;
use crate::api::wire::{Agent, Deployment, DeploymentType, Secret, SourceConfig};
use crate::engine::{BuildRequest, EngineEnv};

/// A planned project and the options of its deployment. There is no `Debug`: the secrets have values.
pub struct Request {
    /// The deployment.
    pub target: Target,
    /// Type of a new deployment.
    pub deployment_type: DeploymentType,
    /// How the project gets to the service.
    pub method: Method,
    /// The cluster of a new deployment from an external image.
    pub placement: Placement,
    /// Local image to push instead of building one.
    pub image: Option<String>,
    /// The local build. Its context is what a remote build gets.
    pub build: BuildRequest,
    /// Where the container engine is.
    pub engine: EngineEnv,
    /// Tag of the pushed image.
    pub tag: String,
    /// Path of the configuration in the build context.
    pub config_path: String,
    /// Path of agent.lock there, which a remote build gets; none if lock files are ignored.
    pub lock_path: Option<String>,
    /// Install and build commands of a JavaScript project.
    pub commands: SourceConfig,
    /// Packages of the project that the service counts, as `name:version`.
    pub tracked_packages: Vec<String>,
    /// The secrets of the project.
    pub secrets: Option<Vec<Secret>>,
    /// Whether secrets of the deployment that `secrets` lacks are removed.
    pub replaces_secrets: bool,
    /// Whether agent.lock decides the base image, which some services take by its tag.
    pub is_locked: bool,
    /// Timeout for the revision to be deployed; without one, the run does not wait.
    pub wait: Option<Duration>,
    /// Longest interval between two queries for the status of the revision.
    pub poll: Duration,
    /// Timeouts and retries of calls to a registry without a container engine.
    pub registry: RetryPolicy,
    /// Timeout for the container engine to report progress of a push.
    pub push_silence: Duration,
    /// Whether the log of a remote build is read.
    pub reads_build_log: bool,
    /// Whether to report the planned changes without applying them.
    pub dry_run: bool,
}

/// Which deployment is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An existing deployment.
    Id(String),
    /// The deployment of this name, which is created if it does not exist.
    Name(String),
    /// The deployment of this agent in its environment, which is created if it does not exist.
    Agent(Agent),
}

impl Target {
    /// The deployment, as in a message.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Id(name) | Self::Name(name) => format!("deployment `{name}`"),
            Self::Agent(agent) => {
                format!("deployment of agent `{}` in {}", agent.agent_id, agent.environment)
            }
        }
    }

    /// The name of a new deployment. The service names that of an agent, so this is the name of the agent.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Id(name) | Self::Name(name) => name,
            Self::Agent(agent) => &agent.agent_id,
        }
    }
}

/// How the project gets to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// As an image if that is possible, else as source.
    Auto,
    /// As an image that is pushed to the service's registry.
    Image,
    /// As an image that is pushed to this repository of the user's.
    PushTo(String),
    /// As this image in a registry of the user's, with its digest.
    ImageUri(String),
    /// As source that the service builds.
    Source,
    /// From the deployment's repository.
    Repository,
}

impl Method {
    /// Whether it deploys an external image: one in a registry of the user's.
    pub fn is_external(&self) -> bool {
        matches!(self, Self::PushTo(_) | Self::ImageUri(_))
    }
}

/// The cluster of a new deployment from an external image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// UUID of the listener [default: the only one].
    pub listener_id: Option<String>,
    /// Namespace in its cluster [default: the only one].
    pub namespace: Option<String>,
    /// Names of the secrets in its cluster that pull the image.
    pub image_pull_secrets: Vec<String>,
}

/// The deployment of a request, once the service was asked.
pub(super) struct Destination {
    pub(super) name: String,
    /// The deployment, unless it is to be created.
    pub(super) existing: Option<Deployment>,
}

impl Destination {
    /// The digest of the image that the deployment runs, if it was pushed to the service's registry.
    pub(super) fn digest(&self) -> Option<&str> {
        let image = self.existing.as_ref()?.source_revision_config.image_uri.as_deref()?;
        image.split_once('@').map(|(_, digest)| digest)
    }
}
