//! Compiles a configuration to a plan: the first step of every command that builds something.

use std::path::{Component, Path, PathBuf};

use super::agent_lock::{self, ByDefault};
use super::build_options::HEADING;
use super::check::{self, ConfigOption};
use super::console::{self, visible_line};
use super::env::Env;
use super::image_name;
use super::server::ServerOption;
use super::source_date::source_date;
use crate::compiler::agent_lock::{AgentLock, Wanted};
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::back::plan::{Plan, Variant, Watch};
use crate::compiler::front::base_image::is_api_version;
use crate::compiler::front::config::Config;
use crate::compiler::front::keys;
use crate::compiler::words::listed;
use crate::compiler::{Options, Unused};
use crate::error::Error;
use crate::live;
use crate::project::{self, Project};

/// The options that decide the server and the base image.
#[derive(Debug, clap::Args)]
pub struct BaseOptions {
    #[command(flatten)]
    pub(super) config: ConfigOption,

    #[command(flatten)]
    pub(super) server: ServerOption,

    /// Base image, instead of the one in the configuration
    #[arg(long, value_name = "IMAGE", value_parser = image_name::parse, help_heading = HEADING, hide_short_help = true)]
    base_image: Option<String>,

    /// Version of the server in the image, such as 0.8, instead of the one in the configuration
    #[arg(long, value_name = "VERSION", value_parser = api_version, help_heading = HEADING, hide_short_help = true)]
    api_version: Option<String>,
}

/// The options of every command that plans an image.
#[derive(Debug, clap::Args)]
pub struct PlanOptions {
    #[command(flatten)]
    pub(super) base: BaseOptions,

    /// Use the images of agent.lock, and fail if it is not up to date; the default of builds in CI jobs if there is one
    #[arg(long, conflicts_with = "no_lock", help_heading = HEADING, hide_short_help = true)]
    locked: bool,

    /// Command that installs the packages of a JavaScript project, run in the current directory
    #[arg(long, value_name = "COMMAND", help_heading = HEADING, hide_short_help = true)]
    pub(super) install_command: Option<String>,

    /// Command that builds a JavaScript project, run in the configuration's directory
    #[arg(long, value_name = "COMMAND", help_heading = HEADING, hide_short_help = true)]
    pub(super) build_command: Option<String>,

    /// Mode of `langgraph build`, of which this program has the default
    #[arg(long = "engine-runtime-mode", value_name = "MODE", value_parser = runtime_mode, hide = true)]
    _runtime_mode: Option<String>,

    /// Ignore lock files: install the newest versions, on the base image that its tag names now
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
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
    /// The file that decided the images, and how to bring it up to date.
    locked: Option<(AgentLock, String)>,
    /// The context root, as a path that works from the current directory.
    pub context: PathBuf,
}

impl Planned {
    /// Checks that these images of services are locked if the base image is.
    pub(super) fn check_services(&self, images: &[&str]) -> Result<(), Error> {
        let Some((lock, hint)) = &self.locked else { return Ok(()) };
        let (config, wanted) = (Path::new(&self.project.source.name), Wanted::new(&self.config));
        agent_lock::check(Some(lock), config, &wanted, |image| images.contains(&image), || hint.clone())
    }

    /// The prefix of the server's routes, unless a variable sets another.
    pub(super) fn route_prefix(&self) -> String {
        live::mount_prefix(&self.plan, self.plan.contract.get(keys::HTTP), |_| None)
    }

    /// The changes of the project after which it is planned again: those of agent.lock, too, if that decides the images.
    pub(super) fn watch(&self) -> Watch {
        let mut watch = self.plan.local.watch.clone();
        watch.files.extend(self.locked.as_ref().map(|_| agent_lock::NAME.to_owned()));
        watch
    }

    /// Checks that the locked base image has an image for `platform`.
    pub(super) fn check_platform(&self, platform: &str) -> Result<(), Error> {
        let name = &self.plan.server.image;
        let Some(image) = self.locked.as_ref().and_then(|(lock, _)| lock.image(name)) else { return Ok(()) };
        if image.has_platform(platform) {
            return Ok(());
        }
        let platforms = listed(image.platforms.keys().map(String::as_str));
        Err(Error::usage(
            format!(
                "the base image `{}` is locked for {platforms}, not for `{}`",
                image.name,
                visible_line(platform)
            ),
            "choose one of these platforms, or run `agentcli lock --upgrade` if the base image has others now",
        ))
    }
}

impl BaseOptions {
    /// The advice to bring agent.lock up to date, as a hint.
    fn lock_hint(&self) -> String {
        let config = self.config.config.as_ref().map(|path| project::with_slashes(path));
        let options = [
            ("--server ", self.server.given().map(|server| server.name)),
            ("--base-image ", self.base_image.as_deref()),
            ("--api-version ", self.api_version.as_deref()),
        ];
        let options = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
        let words = config.iter().map(|path| ("", &**path)).chain(options);
        let words: String = words.map(|(option, word)| format!(" {option}{}", shell_word(word))).collect();
        format!("run `agentcli lock{}`", visible_line(&words))
    }

    /// Options with these values.
    pub(super) fn options(&self, env: &Env) -> Result<Options, Error> {
        Ok(Options {
            server: self.server.server(env)?,
            is_reproducible: source_date(env)?.is_some(),
            base_image: self.base_image.clone(),
            api_version: self.api_version.clone(),
            ..Options::default()
        })
    }
}

impl PlanOptions {
    /// Whether an option, not the configuration, decides what is in the image.
    pub(super) fn changes_image(&self) -> bool {
        self.base.base_image.is_some() || self.base.api_version.is_some()
    }

    /// Whether lock files beside local dependencies are not used.
    pub(super) fn no_lock(&self) -> bool {
        self.no_lock
    }

    /// Whether the images have to be those of agent.lock.
    pub(super) fn locked(&self) -> bool {
        self.locked
    }

    /// Reads, checks and plans; findings and notes are printed on stderr.
    pub(super) fn plan(&self, env: &mut Env, default: ByDefault) -> Result<Planned, Error> {
        self.plan_with(env, &[], default)
    }

    /// The same for a command that neither makes an image nor runs one.
    pub(super) fn plan_unlocked(&self, env: &mut Env) -> Result<Planned, Error> {
        if self.locked {
            let hint = "remove it, or build the image here";
            return Err(Error::usage("--locked is for images that are built here", hint));
        }
        self.plan_with(env, &[], ByDefault::Never)
    }

    /// The same for a command that makes an image and starts nothing: no image has the values of `env`.
    pub(super) fn plan_image(&self, env: &mut Env, default: ByDefault) -> Result<Planned, Error> {
        self.plan_with(env, &["/env"], default)
    }

    /// The directory of the configuration.
    pub(super) fn directory(&self, env: &mut Env) -> PathBuf {
        let path = self.base.config.path(env);
        directory_of(&env.directory.join(path))
    }

    /// Plans for a command that does not read `keys`.
    fn plan_with(&self, env: &mut Env, keys: &[&str], default: ByDefault) -> Result<Planned, Error> {
        let path = self.base.config.path(env);
        let directory = directory_of(&env.directory.join(&path));
        let agent_lock =
            if self.no_lock { None } else { agent_lock::to_use(env, &path, self.locked, default)? };
        let options = Options {
            install_command: self.install_command.clone(),
            build_command: self.build_command.clone(),
            called_from: project::relative(&directory, &env.directory),
            no_lock: self.no_lock,
            agent_lock,
            ..self.base.options(env)?
        };
        let unused = Unused { keys, ..Unused::default() };
        let (project, config, plan) = check::compile(env, &path, &options, unused)?;
        if plan.server.variant != Variant::Javascript {
            self.refuse_javascript_options()?;
        }
        let lock = options.agent_lock.as_ref();
        if self.locked || lock.is_some() {
            agent_lock::check(lock, &path, &Wanted::new(&config), |_| false, || self.base.lock_hint())?;
        }
        self.base.server.note(env, options.server);
        for note in &plan.notes {
            console::note(env, &note.message);
        }
        let context = tidy(&path.parent().unwrap_or(Path::new("")).join(&plan.context.root));
        let locked = options.agent_lock.map(|lock| (lock, self.base.lock_hint()));
        Ok(Planned { project, config, plan, locked, context })
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
