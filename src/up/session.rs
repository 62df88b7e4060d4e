//! What is asked of the room, and what it asks back.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::compiler::back::plan::{Service, Setup, Variable, Watch};
use crate::engine::{self, BuildEvent, BuildRequest};
use crate::live::{Event, Urls};
use indexmap::IndexMap;

/// A planned setup and the values of its variables. There is no `Debug`: the values are secrets.
pub struct Session {
    /// The configuration's directory, absolute.
    pub directory: PathBuf,
    /// The configuration, absolute.
    pub config: PathBuf,
    /// What was planned.
    pub setup: Setup,
    /// The service that is the server.
    pub server: String,
    /// The server's image.
    pub image: Image,
    /// The variables of the .env file; one without a value is not set.
    pub file: Vec<(String, Option<String>)>,
    /// The values of the variables that the setup takes from where it is started.
    pub given: Vec<(String, String)>,
    /// Which changes count.
    pub watch: Watch,
    /// By service: the address that its ports are published on. Without one, they are published on all.
    pub addresses: BTreeMap<String, IpAddr>,
    /// Where the server will be reached.
    pub urls: Urls,
}

impl Session {
    /// The variables of a service: those of the .env file, and over them its own.
    pub fn environment(&self, service: &Service) -> IndexMap<String, String> {
        let file = self.file.iter().filter(|_| service.env_file.is_some());
        let mut all: IndexMap<_, _> =
            file.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        for (name, variable) in &service.environment {
            let value = match variable {
                Variable::Text { text } => Some(text.clone()),
                Variable::From { names, .. } => names.iter().find_map(|name| {
                    self.given.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone())
                }),
            };
            all.extend(value.map(|value| (name.clone(), value)));
        }
        all
    }
}

/// The server's image.
pub enum Image {
    /// It is built.
    Built(Box<BuildRequest>),
    /// It is one that is there, or in a registry.
    Named,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do once everything runs.
    pub mode: Mode,
    /// Whether newer images are looked for.
    pub pull: bool,
    /// Whether containers are made anew even if nothing changed.
    pub recreate: bool,
    /// How long everything may take until it is well.
    pub patience: Duration,
    /// Whether the logs of all services are shown, rather than the server's alone.
    pub all_logs: bool,
}

/// What to do once everything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Show what it prints, until interrupted; then stop it.
    Attached,
    /// Wait until all is well, and leave it running.
    Detached,
    /// As attached, and take over changes of the project.
    Watching,
}

/// What the room asks its caller for while it runs.
pub trait Hooks {
    /// Something happened.
    fn event(&mut self, event: &Event);

    /// A build went on.
    fn building(&mut self, event: &BuildEvent);

    /// The build is over; why, where it failed.
    fn built(&mut self, failed: Option<&engine::Error>);

    /// Whether nobody is left who would hear of what happens.
    fn is_over(&self) -> bool;

    /// Reads the project anew. Nothing where it cannot be planned; the caller has said why.
    fn replan(&mut self) -> Option<Session>;
}
