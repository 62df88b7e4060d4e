//! What to deploy, and to which deployment.

use std::time::Duration;

use crate::api::wire::{Deployment, DeploymentType, Secret, SourceConfig};
use crate::engine::{BuildRequest, EngineEnv};

/// A planned project and the options of its deployment. There is no `Debug`: the secrets have values.
pub struct Request {
    /// The deployment.
    pub target: Target,
    /// Type of a new deployment.
    pub deployment_type: DeploymentType,
    /// How the project gets to the service.
    pub method: Method,
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
    /// Install and build commands of a JavaScript project.
    pub commands: SourceConfig,
    /// The secrets; those of the deployment stay if the project has none.
    pub secrets: Option<Vec<Secret>>,
    /// Timeout for the revision to be deployed; without one, the run does not wait.
    pub wait: Option<Duration>,
    /// Longest interval between two queries for the status of the revision.
    pub poll: Duration,
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
}

/// How the project gets to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// As an image if that is possible, else as source.
    Auto,
    /// As an image that is pushed from here.
    Image,
    /// As source that the service builds.
    Source,
    /// From the deployment's repository.
    Repository,
}

/// The deployment of a request, once the service was asked.
pub(super) struct Destination {
    pub(super) name: String,
    /// The deployment, unless it is to be created.
    pub(super) existing: Option<Deployment>,
}
