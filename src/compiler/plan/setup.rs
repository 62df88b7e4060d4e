//! The setup: the services that run the whole server in containers, as `up` runs them and a compose file describes
//! them.

use indexmap::IndexMap;
use serde::Serialize;

/// Services, and what they share. They are on one network, on which each is known by its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setup {
    /// The name of the compose project.
    pub name: String,
    /// In an order in which they can be started.
    pub services: Vec<Service>,
    /// Volumes that outlive the containers.
    pub volumes: Vec<String>,
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

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Variable {
    /// The value of another variable where the setup is started; a secret, so it stands in no file. Where that one is
    /// not set, neither is this.
    From {
        /// The other's name.
        name: String,
    },
    /// This text, exactly.
    Text {
        /// The text.
        text: String,
    },
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
