//! Compiles a configuration to a plan: the first step of every command that builds something.

use std::path::{Component, Path, PathBuf};

use super::check::{ConfigOption, Unused};
use super::console;
use super::env::Env;
use super::image;
use super::server::ServerOption;
use crate::compiler::back::lower::{self, Options};
use crate::compiler::back::plan::{Plan, Variant};
use crate::compiler::front::base_image::{self, base_image, is_api_version};
use crate::compiler::front::config::Config;
use crate::compiler::manifests::requires_python::RequiresPython;
use crate::error::Error;
use crate::project::{self, Project};

/// Rules about the language versions of the image.
const VERSION_RULES: &[&str] = &["incompatible-python", "refused-node", "untested-node", "untested-python"];

/// Rules about the command that installs the packages of a JavaScript project by default.
const INSTALLATION_RULES: &[&str] = &["no-package-json", "outdated-package-lock"];

/// Rules about files that a build command makes.
const UNBUILT_RULES: &[&str] = &["reference-not-built", "workspace-package-not-built"];

/// The options of every command that plans an image.
#[derive(Debug, clap::Args)]
pub struct PlanOptions {
    #[command(flatten)]
    pub(super) config: ConfigOption,

    #[command(flatten)]
    server: ServerOption,

    /// Base image, instead of the one in the configuration
    #[arg(long, value_name = "IMAGE", value_parser = image::name)]
    base_image: Option<String>,

    /// Version of the server in the image, such as 0.8, instead of the one in the configuration
    #[arg(long, value_name = "VERSION")]
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

    /// Reads, checks and plans; findings and notes are printed on stderr.
    pub fn plan(&self, env: &mut Env) -> Result<Planned, Error> {
        self.plan_without(env, &[])
    }

    /// The same for a command that makes an image and starts nothing: no image has the values of `env`.
    pub fn plan_image(&self, env: &mut Env) -> Result<Planned, Error> {
        self.plan_without(env, &["/env"])
    }

    fn plan_without(&self, env: &mut Env, keys: &[&str]) -> Result<Planned, Error> {
        let unbuilt = if self.build_command.is_some() { UNBUILT_RULES } else { &[] };
        let uninstalled = if self.install_command.is_some() { INSTALLATION_RULES } else { &[] };
        // They are about the base image of the configuration.
        let other: &[&str] = if self.base_image.is_some() { VERSION_RULES } else { &[] };
        let server = self.server.server(env)?;
        let rules = [unbuilt, uninstalled, other].concat();
        let (project, mut config) =
            self.config.load(env, server, Unused { rules: &rules, keys, ..Unused::default() })?;
        if let Some(image) = self.base_image.clone() {
            config.set_base_image(image);
        }
        if let Some(version) = &self.api_version {
            set_api_version(&mut config, version)?;
        }
        let options = Options {
            install_command: self.install_command.clone(),
            build_command: self.build_command.clone(),
            no_lock: self.no_lock,
            called_from: project::relative(&directory_of(&env.directory.join(&project.path)), &env.directory),
        };
        let plan = lowered(&project, &config, &options);
        if plan.server.variant != Variant::Javascript {
            self.refuse_javascript_options()?;
        }
        self.check_python(env, &config, &plan)?;
        self.server.note(env, server);
        for note in &plan.notes {
            console::note(env, &note.message);
        }
        let context =
            tidy(&Path::new(&project.source.name).parent().unwrap_or(Path::new("")).join(&plan.context.root));
        Ok(Planned { project, config, plan, context })
    }

    /// Refuses a given base image whose Python the local packages refuse. Notes that it is not known.
    fn check_python(&self, env: &mut Env, config: &Config, plan: &Plan) -> Result<(), Error> {
        let (Some(image), Some(packages)) = (&self.base_image, &plan.local.python) else { return Ok(()) };
        let version = base_image::python(config).map(|(version, _)| version);
        let is_refused = |it: &&RequiresPython| {
            version.is_none_or(|version| it.fit_of_series(version).is_refused(packages.uses_pip))
        };
        let Some(RequiresPython { path, range, .. }) = packages.requires_python.iter().find(is_refused)
        else {
            return Ok(());
        };
        let Some((major, minor)) = version else {
            console::note(env, &format!("the Python of `{image}` is not known; `{path}` requires `{range}`"));
            return Ok(());
        };
        let message =
            format!("--base-image: `{image}` has Python {major}.{minor}, and `{path}` requires `{range}`");
        Err(Error::usage(message, "choose an image with a Python of that range"))
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

fn set_api_version(config: &mut Config, version: &str) -> Result<(), Error> {
    if !is_api_version(version) {
        let message = format!("--api-version: `{version}` is not a version of the server");
        return Err(Error::usage(message, "write it as major.minor or major.minor.patch, such as 0.8"));
    }
    config.set_api_version(version.to_owned());
    match base_image(config).unused.iter().find(|(key, _)| *key == "api_version") {
        None => Ok(()),
        Some((_, why)) => Err(Error::usage(
            format!("--api-version has no effect: {why}"),
            "leave it out, or remove the tag",
        )),
    }
}

/// The plan of a configuration without errors.
pub(super) fn lowered(project: &Project, config: &Config, options: &Options) -> Plan {
    let name = project.path.file_name().unwrap_or_default().to_string_lossy();
    lower::lower(config, &project.files, &name, options)
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
