//! The setup: the server and its databases in containers, for `up` and for compose files. It is not part of the plan, since
//! it holds values of the user's `env`.

use std::fmt;

use indexmap::IndexMap;
use serde::Serialize;

use super::Note;

/// Services on one network, where the name of each is its host name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// Name of the compose project.
    pub name: String,
    /// The services, each after those it depends on.
    pub services: Vec<Service>,
    /// Named volumes.
    pub volumes: Vec<String>,
    /// Remarks for the user.
    pub notes: Vec<Note>,
}

impl Setup {
    /// What those after the service `name` wait for, in the words of compose.
    pub fn condition(&self, name: &str) -> &'static str {
        let ends = self.services.iter().any(|service| service.ends && service.name == name);
        if ends { "service_completed_successfully" } else { "service_healthy" }
    }
}

/// One container.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Name, and host name on the network.
    pub name: String,
    /// Whether it runs the project, and not what that needs.
    pub is_server: bool,
    /// Image.
    pub image: ServiceImage,
    /// Command, if it is not the image's default.
    pub command: Option<Vec<String>>,
    /// Environment variables, in order.
    pub environment: IndexMap<String, Variable>,
    /// .env file with more variables, relative to the configuration's directory. [`Self::environment`] takes precedence.
    pub env_file: Option<String>,
    /// Published ports.
    pub ports: Vec<Port>,
    /// Mounted volumes.
    pub mounts: Vec<VolumeMount>,
    /// Health check.
    pub health: Option<Health>,
    /// Services that must be healthy before it starts, or have ended.
    pub after: Vec<String>,
    /// Whether it ends by itself, which those after it wait for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    /// Digest of the server's packages, if it depends on them and not on the project in the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packages: Option<String>,
}

/// The image of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ServiceImage {
    /// The project's image, which is built.
    Built {
        /// Its tag.
        name: String,
    },
    /// An existing image.
    Named {
        /// Image name.
        name: String,
    },
}

/// The value of a variable. It can be a secret of the user's `env`, so `Debug` does not show it.
#[derive(Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Variable {
    /// A text, part of which the user of a compose file can replace.
    Default {
        /// What precedes that part.
        before: String,
        /// Name of the variable with another value.
        name: String,
        /// The part.
        default: String,
        /// What follows it.
        after: String,
    },
    /// The first non-empty one of some variables of the environment that starts the setup. It can be a secret, so it is not
    /// written to a file.
    From {
        /// Names of the variables. A compose file has the first alone.
        names: Vec<String>,
        /// Whether the setup cannot start without it. Otherwise it is empty or unset.
        is_needed: bool,
    },
    /// A text.
    Text {
        /// Verbatim.
        text: String,
    },
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From { names, .. } => f.debug_tuple("From").field(names).finish(),
            Self::Default { name, .. } => f.debug_tuple("Default").field(name).finish(),
            Self::Text { .. } => f.write_str("Text"),
        }
    }
}

/// A published port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Port on this machine.
    pub host: u16,
    /// Port in the container.
    pub container: u16,
}

/// A volume mounted in a container.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VolumeMount {
    /// One of [`Setup::volumes`].
    pub volume: String,
    /// Absolute.
    pub target: String,
}

/// The health check of a service.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Health {
    /// Program and arguments, run in the container; empty for none, whatever the image has.
    pub command: Vec<String>,
    /// Interval between checks, in seconds.
    pub interval: u32,
    /// Timeout of a check, in seconds.
    pub timeout: u32,
    /// Consecutive failures before the service is unhealthy.
    pub retries: u32,
    /// Time after the start in which failures do not count, in seconds.
    pub start_period: u32,
    /// Interval between checks during the start period, in seconds, on engines that support it.
    pub start_interval: u32,
}
