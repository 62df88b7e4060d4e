//! The input of a run, and the interface to its caller.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::compiler::back::plan::{Service, Setup, Variable, Watch};
use crate::engine::{BuildReporter, BuildRequest, Settings};
use crate::live::Urls;
use indexmap::IndexMap;

/// A planned setup and the values of its variables. There is no `Debug`: the values are secrets.
pub struct Session {
    /// The configuration's directory, absolute.
    pub directory: PathBuf,
    /// The configuration, absolute.
    pub config: PathBuf,
    /// The planned setup.
    pub setup: Setup,
    /// The name of the server's service.
    pub server: String,
    /// The build of the server's image, unless an existing image is run.
    pub build: Option<BuildRequest>,
    /// The variables of the .env file; one without a value is not set.
    pub file: Vec<(String, Option<String>)>,
    /// The values of the variables that the setup takes from the environment or .env.
    pub given: HashMap<String, String>,
    /// The files whose changes count.
    pub watch: Watch,
    /// The address that the ports of a service are published on; without one, all addresses.
    pub addresses: BTreeMap<String, IpAddr>,
    /// The URLs of the server.
    pub urls: Urls,
}

impl Session {
    /// Sets the settings of the build, if there is one.
    pub fn set_build_settings(&mut self, settings: &Settings) {
        if let Some(build) = &mut self.build {
            build.settings = settings.clone();
        }
    }

    /// The variables of a service: those of the .env file, and over them its own.
    pub fn environment(&self, service: &Service) -> IndexMap<String, String> {
        let file = self.file.iter().filter(|_| service.env_file.is_some());
        let mut all: IndexMap<_, _> =
            file.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        for (name, variable) in &service.environment {
            let value = match variable {
                Variable::Default { before, default, after, .. } => Some(format!("{before}{default}{after}")),
                Variable::Text { text } => Some(text.clone()),
                Variable::From { names, .. } => names.iter().find_map(|name| self.given.get(name).cloned()),
            };
            all.extend(value.map(|value| (name.clone(), value)));
        }
        all
    }
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The behaviour once everything runs.
    pub mode: Mode,
    /// Whether newer images are pulled.
    pub pull: bool,
    /// Whether containers are recreated even if nothing changed.
    pub recreate: bool,
    /// Timeout for all services to become healthy.
    pub wait_timeout: Duration,
    /// Whether the logs of all services are shown, rather than the server's alone.
    pub all_logs: bool,
}

/// The behaviour of a run once everything runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Show the logs until interrupted, then stop everything.
    Attached,
    /// Wait until all services are healthy, and leave them running.
    Detached,
    /// As attached, and rebuild on changes of the project.
    Watching,
}

/// The caller of a run: it shows events and plans again.
pub trait Hooks: BuildReporter {
    /// Reads the project again.
    ///
    /// # Errors
    ///
    /// It cannot be planned. The error says what is wrong, as a fragment; the caller has reported the details.
    fn replan(&mut self) -> Result<Session, String>;
}
