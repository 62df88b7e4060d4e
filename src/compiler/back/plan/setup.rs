//! The setup: the services that run the whole server in containers, as `up` runs them and a compose file describes
//! them. Nothing here is part of a plan: it holds values that the user gave in `env`.

use std::fmt;

use indexmap::IndexMap;
use serde::Serialize;

use super::Note;

/// Services, and what they share. They are on one network, on which each is known by its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// The name of the compose project.
    pub name: String,
    /// In an order in which they can be started.
    pub services: Vec<Service>,
    /// Volumes that outlive the containers.
    pub volumes: Vec<String>,
    /// What the user should know of the choices made.
    pub notes: Vec<Note>,
}

/// One container of the setup.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Its name, also as a host on the network.
    pub name: String,
    /// What it runs.
    pub image: ServiceImage,
    /// The command, where it is not the image's own.
    pub command: Option<Vec<String>>,
    /// Variables, in order.
    pub environment: IndexMap<String, Variable>,
    /// A .env file whose variables it gets too, relative to the configuration's directory. [`Self::environment`] wins.
    pub env_file: Option<String>,
    /// Ports that are opened on this machine.
    pub ports: Vec<Port>,
    /// Volumes in it.
    pub mounts: Vec<VolumeMount>,
    /// How to tell whether it is well.
    pub health: Option<Health>,
    /// Services that have to be healthy before it is started.
    pub after: Vec<String>,
}

/// What a service runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ServiceImage {
    /// The project's image, which is built under this name.
    Built {
        /// The name.
        name: String,
    },
    /// An image that is there or can be pulled.
    Named {
        /// Its name.
        name: String,
    },
}

/// The value of a variable. A text may be a secret that the user put into the configuration, so that nothing prints it.
#[derive(Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Variable {
    /// The value of the first of other variables that is set and not empty where the setup is started; a secret, so it
    /// stands in no file.
    From {
        /// The names of the others.
        names: Vec<String>,
        /// Whether nothing can be started without it; else the variable is not set, or empty.
        is_needed: bool,
    },
    /// This text, exactly.
    Text {
        /// The text.
        text: String,
    },
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From { names, .. } => f.debug_tuple("From").field(names).finish(),
            Self::Text { .. } => f.write_str("Text"),
        }
    }
}

/// A port that is opened on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// On this machine.
    pub host: u16,
    /// In the container.
    pub container: u16,
}

/// A volume in a container.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VolumeMount {
    /// One of [`Setup::volumes`].
    pub volume: String,
    /// Absolute.
    pub target: String,
}

/// How to tell whether a service is well.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Health {
    /// Program and arguments, run in the container.
    pub command: Vec<String>,
    /// Between two looks, in seconds.
    pub interval: u32,
    /// How long a look may take, in seconds.
    pub timeout: u32,
    /// Failed looks in a row after which it is not well.
    pub retries: u32,
    /// How long failures do not count after the start, in seconds.
    pub start_period: u32,
    /// Between two looks during the start, in seconds, on engines that know it.
    pub start_interval: u32,
}
