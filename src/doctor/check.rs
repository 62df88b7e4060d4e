//! The result of one check, as plain data.

use std::time::Duration;

use serde::Serialize;

use crate::compiler::secrecy::urls::masked;

/// A command that needs something of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// `agentcli dev`
    Dev,
    /// `agentcli build`
    Build,
    /// `agentcli up`
    Up,
    /// `agentcli deploy`
    Deploy,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Dev, Self::Build, Self::Up, Self::Deploy];

    /// The name of the command.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Build => "build",
            Self::Up => "up",
            Self::Deploy => "deploy",
        }
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything works.
    Fine,
    /// The commands work, but not as well as they could, or it could not be checked.
    Degraded,
    /// It is absent, or does not work.
    Missing,
}

impl Status {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// A part of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// The configuration.
    Project,
    /// The server on this machine.
    Local,
    /// The server in containers.
    Containers,
    /// The deployment service.
    Deployment,
    /// The cluster.
    Cluster,
    /// Everything else.
    Machine,
}

impl Group {
    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Project => "Project",
            Self::Local => "Server on this machine (dev)",
            Self::Containers => "Containers (build, up, deploy)",
            Self::Deployment => "Deployment service (deploy)",
            Self::Cluster => "Kubernetes cluster (deploy --to kubernetes)",
            Self::Machine => "This machine",
        }
    }
}

/// Something that is checked.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) needed_by: &'static [Task],
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Identifier of the check, which is the same in all versions.
    pub id: &'static str,
    /// Name for people.
    pub name: String,
    /// The part of the table.
    #[serde(skip)]
    pub group: Group,
    /// The commands that need it.
    pub needed_by: &'static [Task],
    /// Whether it is there.
    pub status: Status,
    /// The finding, a fragment.
    pub found: String,
    /// The next step, an imperative; null if everything is fine.
    pub help: Option<String>,
}

impl Subject {
    pub(super) fn fine(&self, found: impl Into<String>) -> Check {
        self.check(Status::Fine, found.into(), None)
    }

    pub(super) fn degraded(&self, found: impl Into<String>, help: impl Into<String>) -> Check {
        self.check(Status::Degraded, found.into(), Some(help.into()))
    }

    pub(super) fn missing(&self, found: impl Into<String>, help: impl Into<String>) -> Check {
        self.check(Status::Missing, found.into(), Some(help.into()))
    }

    /// The check did not end in time.
    pub(super) fn late(&self, limit: Duration) -> Check {
        Check { status: Status::Missing, ..self.unknown(limit) }
    }

    /// The same, of something that is not certainly needed.
    pub(super) fn unknown(&self, limit: Duration) -> Check {
        let found = format!("no answer within {} s", limit.as_secs());
        self.degraded(found, "check what blocks it, such as a network drive or a slow program on the PATH")
    }

    fn check(&self, status: Status, found: String, help: Option<String>) -> Check {
        let Self { id, name, group, needed_by } = *self;
        // The address of an engine or of a proxy may hold a password.
        let shown = |text: String| masked(&text).into_owned();
        let (found, help) = (shown(found), help.map(shown));
        Check { id, name: name.to_owned(), group, needed_by, status, found, help }
    }
}

static CONFIGURATION: Subject =
    Subject { id: "configuration", name: "Configuration", group: Group::Project, needed_by: &Task::ALL };

impl Check {
    /// The configuration; `found` describes it.
    pub fn configuration(found: String, problem: Option<String>) -> Self {
        match problem {
            None => CONFIGURATION.fine(found),
            Some(help) => CONFIGURATION.missing(found, help),
        }
    }

    /// A configuration with errors that concern only images.
    pub fn configuration_of_images(found: String, help: String) -> Self {
        let needed_by = &[Task::Build, Task::Up, Task::Deploy];
        Self { needed_by, ..CONFIGURATION.missing(found, help) }
    }

    /// Whether one of these commands needs it.
    pub fn is_for(&self, tasks: &[Task]) -> bool {
        self.needed_by.iter().any(|task| tasks.contains(task))
    }

    /// With a more specific name.
    pub(super) fn named(mut self, name: String) -> Self {
        self.name = name;
        self
    }
}
