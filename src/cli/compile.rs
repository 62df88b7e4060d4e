//! Compiles a configuration to a plan: the first step of every command that builds something.

use std::path::{Component, Path, PathBuf};

use super::check::{self, ConfigOption};
use super::console;
use super::env::Env;
use super::image_name;
use super::server::ServerOption;
use crate::compiler::back::plan::{Plan, Variant};
use crate::compiler::front::base_image::is_api_version;
use crate::compiler::front::config::Config;
use crate::compiler::{Options, Unused};
use crate::error::Error;
use crate::project::{self, Project};

/// The options of every command that plans an image.
#[derive(Debug, clap::Args)]
pub struct PlanOptions {
    #[command(flatten)]
    pub(super) config: ConfigOption,

    #[command(flatten)]
    server: ServerOption,

    /// Base image, instead of the one in the configuration
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse)]
    base_image: Option<String>,

    /// Version of the server in the image, such as 0.8, instead of the one in the configuration
    #[arg(long, value_name = "VERSION", value_parser = api_version)]
    api_version: Option<String>,

    /// Command that installs the packages of a JavaScript project, run in the current directory
    #[arg(long, value_name = "COMMAND")]
    pub(super) install_command: Option<String>,

    /// Command that builds a JavaScript project, run in the configuration's directory
    #[arg(long, value_name = "COMMAND")]
    pub(super) build_command: Option<String>,

    /// Mode of `langgraph build`, of which this program has the default
    #[arg(long = "engine-runtime-mode", value_name = "MODE", value_parser = runtime_mode, hide = true)]
    _runtime_mode: Option<String>,

    /// Install the newest versions, not those of the lock files beside local dependencies
    #[arg(long)]
    no_lock: bool,
}

/// A plan and where it applies.
pub struct Planned {
    /// The configuration and its tree.
    pub project: Project,
    /// The configuration, with the values of `env`.
    pub config: Config,
    /// The plan.
    pub plan: Plan,
    /// The context root, as a path that works from the current directory.
    pub context: PathBuf,
}

impl PlanOptions {
    /// Whether an option, not the configuration, decides what is in the image.
    pub(super) fn changes_image(&self) -> bool {
        self.base_image.is_some() || self.api_version.is_some()
    }

    /// Whether lock files beside local dependencies are not used.
    pub(super) fn no_lock(&self) -> bool {
        self.no_lock
    }

    /// Reads, checks and plans; findings and notes are printed on stderr.
    pub fn plan(&self, env: &mut Env) -> Result<Planned, Error> {
        self.plan_without(env, &[])
    }

    /// The same for a command that makes an image and starts nothing: no image has the values of `env`.
    pub fn plan_image(&self, env: &mut Env) -> Result<Planned, Error> {
        self.plan_without(env, &["/env"])
    }

    fn plan_without(&self, env: &mut Env, keys: &[&str]) -> Result<Planned, Error> {
        let path = self.config.path(env);
        let directory = directory_of(&env.directory.join(&path));
        let options = Options {
            server: self.server.server(env)?,
            base_image: self.base_image.clone(),
            api_version: self.api_version.clone(),
            install_command: self.install_command.clone(),
            build_command: self.build_command.clone(),
            called_from: project::relative(&directory, &env.directory),
            no_lock: self.no_lock,
        };
        let unused = Unused { keys, ..Unused::default() };
        let (project, config, plan) = check::compile(env, &path, &options, unused)?;
        if plan.server.variant != Variant::Javascript {
            self.refuse_javascript_options()?;
        }
        self.server.note(env, options.server);
        for note in &plan.notes {
            console::note(env, &note.message);
        }
        let context = tidy(&path.parent().unwrap_or(Path::new("")).join(&plan.context.root));
        Ok(Planned { project, config, plan, context })
    }

    fn refuse_javascript_options(&self) -> Result<(), Error> {
        let given = [("--install-command", &self.install_command), ("--build-command", &self.build_command)];
        match given.iter().find(|(_, command)| command.is_some()) {
            None => Ok(()),
            Some((option, _)) => Err(Error::usage(
                format!("{option} is for JavaScript projects, and this one runs on the Python server"),
                "leave it out, or install what is needed with `dockerfile_lines`",
            )),
        }
    }
}

/// Accepts the only mode of the server in one container.
fn runtime_mode(mode: &str) -> Result<String, &'static str> {
    const COMBINED: &str = "combined_queue_worker";
    let refusal =
        "the queue runs in the server's container, which is `combined_queue_worker`; leave the option out";
    if mode == COMBINED { Ok(mode.to_owned()) } else { Err(refusal) }
}

fn api_version(version: &str) -> Result<String, &'static str> {
    if is_api_version(version) {
        Ok(version.to_owned())
    } else {
        Err("it is not a version of the server; write it as major.minor or major.minor.patch, such as 0.8")
    }
}

pub(super) fn directory_of(path: &Path) -> PathBuf {
    path.parent().map_or_else(PathBuf::new, Path::to_owned)
}

/// Without `.` and inner `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(tidy.components().next_back(), Some(Component::Normal(_))) => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    if tidy.as_os_str().is_empty() { PathBuf::from(".") } else { tidy }
}
