//! `agentcli deploy` itself: its arguments, and the request that they make.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::agent::AgentOptions;
use super::cluster::{ClusterOptions, InCluster, RevisionOptions};
use super::confirmation::Confirmation;
use super::external::{ExternalImage, PlacementOptions};
use crate::api::wire::{DeploymentType, Redacted, Secret, SourceConfig};
use crate::cli::account::AccountOptions;
use crate::cli::agent_lock;
use crate::cli::build_options::{BuildOptions, in_long_help};
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::console::{note, visible_line, warn};
use crate::cli::env::Env;
use crate::cli::image;
use crate::cli::image_name::platform;
use crate::cli::printer::Printer;
use crate::cli::service::Service;
use crate::cli::settings::{Settings, deployment_name};
use crate::cli::variables::{self, Reserved};
use crate::cluster;
use crate::compiler::manifests::Unreadable;
use crate::compiler::manifests::image_name::ImageName;
use crate::compiler::manifests::tracked::Tracked;
use crate::compiler::words::similar;
use crate::engine::{self, BuildRequest};
use crate::error::Error;
use crate::ship::{self, Method, PLATFORM, Request, Target};

/// Types of new deployments: the name, the word of the API, and the help.
const TYPES: [(&str, &str, &str); 4] = [
    ("dev", "dev", "Development"),
    ("prod", "prod", "Production"),
    ("serverless", "dev_zero", "Scales to zero"),
    ("dedicated", "prod", "The same as prod"),
];

/// The tag of a pushed image without --tag.
const TAG: &str = "latest";

/// The arguments of `agentcli deploy` itself; its description is in the parent.
#[derive(Debug, clap::Args)]
#[command(mut_args(in_long_help))]
#[command(after_help = "\
Examples:
  agentcli deploy --name my-agent
  agentcli deploy --name my-agent --remote --deployment-type prod --yes
  agentcli deploy -t my-agent:v2 --no-pull         # with build options
  agentcli deploy --push-to registry.example/my-agent:v2
  agentcli deploy --to kubernetes --push-to registry.example/my-agent
  agentcli deploy logs my-agent --follow")]
pub(super) struct Ship {
    /// Refused: the build arguments that apply here are options.
    #[arg(hide = true, value_name = "COMMAND", value_parser = refused, trailing_var_arg = true)]
    build_args: Vec<String>,

    #[command(flatten)]
    account: AccountOptions,

    /// Name of the deployment [env or .env: PLATFORM_DEPLOYMENT_NAME] [default: name of the current directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// ID of an existing deployment to update
    #[arg(long, value_name = "ID", hide_short_help = true)]
    deployment_id: Option<String>,

    #[command(flatten)]
    agent: AgentOptions,

    /// Type of a new deployment
    #[arg(long, value_name = "TYPE", value_parser = new_type(), default_value = "dev")]
    deployment_type: DeploymentType,

    /// Build remotely on the deployment service [default: if there is no container engine and the source of the image cannot be replaced]
    #[arg(long, overrides_with = "no_remote", conflicts_with_all = ["base_image", "api_version", "locked"])]
    remote: bool,

    /// Do not fall back to a remote build
    #[arg(long, hide_short_help = true)]
    no_remote: bool,

    /// Push an existing local image instead of building one
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["remote", "platform", "no_cache"], hide_short_help = true)]
    image: Option<String>,

    /// Source of the revision
    #[arg(long, value_name = "SOURCE", value_enum, conflicts_with_all = ["remote", "image"], hide_short_help = true)]
    revision_source: Option<RevisionSource>,

    /// Remove the secrets of the deployment that the project's `env` lacks
    #[arg(long)]
    replace_secrets: bool,

    /// Exit without waiting for the revision to be deployed
    #[arg(long)]
    no_wait: bool,

    /// Timeout for the revision to be deployed, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..), hide_short_help = true)]
    timeout: u64,

    /// Print the planned changes without applying them
    #[arg(long)]
    dry_run: bool,

    /// Create a deployment without confirmation
    // `langgraph deploy` calls it --no-input.
    #[arg(short, long, alias = "no-input")]
    yes: bool,

    /// Print events as JSON Lines (`agentcli schema deploy-events`)
    #[arg(long)]
    json: bool,

    /// Name of the image, as NAME or NAME:TAG; the tag is also used for the push. With --push-to or --image, the tag alone
    #[arg(short, long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Target platform of the build [default: linux/amd64]
    #[arg(long, value_name = "PLATFORM", hide_short_help = true)]
    platform: Option<String>,

    /// Do not use the build cache
    #[arg(long, hide_short_help = true)]
    no_cache: bool,

    #[command(flatten)]
    build: BuildOptions,

    #[command(flatten)]
    options: PlanOptions,

    // The last: its heading applies to all options after it.
    #[command(flatten)]
    external: ExternalImage,

    #[command(flatten)]
    placement: PlacementOptions,

    #[command(flatten)]
    revision: RevisionOptions,
}

/// Explains why an argument without a name is refused: it is a misspelt subcommand or a build argument.
fn refused(word: &str) -> Result<String, String> {
    let commands = super::commands();
    if let Some(close) = similar(word, commands.iter().map(String::as_str)) {
        return Err(format!("not a subcommand; did you mean `agentcli deploy {close}`?"));
    }
    Err("not a subcommand; build arguments are options, as in `agentcli build`: -t, --platform, --pull, --no-pull, \
         --no-cache, and -c for the configuration"
        .to_owned())
}

/// Type of a new deployment.
fn new_type() -> impl TypedValueParser<Value = DeploymentType> {
    let types = TYPES.map(|(name, _, help)| PossibleValue::new(name).help(help));
    let word = |name: String| TYPES.iter().find(|it| it.0 == name).map_or(&*name, |it| it.1).into();
    PossibleValuesParser::new(types).map(word)
}

/// Source of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum RevisionSource {
    /// The repository of the deployment, without sending anything
    Codehost,
    /// An image that is built locally
    InternalContainer,
    /// The packed source, which is built remotely
    InternalSource,
}

impl Ship {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        let planned = self.plan(env)?;
        let mut settings = Settings::of(env, &planned.project);
        let mut service = Service::with(env, &self.account, &mut settings)?;
        let request = self.request(service.env, &planned, &settings, variables::OF_SERVICE)?;
        if !self.dry_run {
            let secrets = request.secrets.iter().flatten().map(|secret| secret.name.as_str());
            service.confirm_address("the project", secrets)?;
        }
        let Service { env, runtime, service, .. } = service;
        let mut printer = Printer::new(env, self.json, Confirmation { is_given: self.yes });
        printer.source = Some(planned.project.source);
        let done = runtime.block_on(ship::run(&request, service, &mut printer));
        // The threads of name resolution cannot be interrupted.
        runtime.shutdown_background();
        Ok(done?)
    }

    /// Deploys to a cluster.
    pub(super) fn run_in(mut self, env: &mut Env, options: &ClusterOptions) -> Result<(), Error> {
        let directory = self.options.directory(env);
        let saved = options.saved(self.external.push_to(), &directory)?;
        if self.revision.save {
            let name = saved.save(&directory)?;
            note(env, &format!("wrote {name}"));
        }
        if self.image.is_none() {
            self.external.push_by_default(saved.push_to.as_deref())?;
        }
        let cluster = InCluster::find(env, &saved)?;
        self.platform = Some(cluster.platform(self.platform.take())?);
        let planned = self.plan(cluster.env)?;
        let settings = Settings::of(cluster.env, &planned.project);
        let request = self.request(cluster.env, &planned, &settings, variables::OF_CLUSTER)?;
        let image = match &request.method {
            Method::ImageUri(image) => image.clone(),
            Method::PushTo(_) => String::new(),
            _ => self.image.clone().unwrap_or_default(),
        };
        let name = deployment_name(cluster.env, self.name.as_deref(), &settings)?;
        let found = cluster.call(async |cluster| cluster.deployment(&name).await)?;
        let mut change = self.revision.change(name, image, found.as_ref(), &planned)?;
        let secrets = request.secrets.iter().flatten();
        change.secrets = secrets.map(|secret| (secret.name.clone(), secret.value.clone())).collect();
        if self.replace_secrets {
            let known = found.as_ref().and_then(|found| found.latest()).map(|it| &it.record.variables);
            for name in known.into_iter().flatten() {
                change.secrets.entry(name.clone()).or_insert(None);
            }
        }
        change.wait = request.wait;
        change.is_dry_run = self.dry_run;
        let InCluster { env, runtime, cluster } = cluster;
        let mut printer = Printer::new(env, self.json, Confirmation { is_given: self.yes });
        printer.source = Some(planned.project.source);
        let deploying = cluster::run(&cluster, change, Some(&request), &mut printer);
        let done = runtime.block_on(deploying);
        // The threads of name resolution cannot be interrupted.
        runtime.shutdown_background();
        Ok(done.map(drop)?)
    }

    fn plan(&self, env: &mut Env) -> Result<Planned, Error> {
        let platform = self.platform()?;
        let planned = if self.builds() {
            self.options.plan(env, agent_lock::ByDefault::InCi)?
        } else {
            self.options.plan_unlocked(env)?
        };
        planned.check_platform(&platform)?;
        Ok(planned)
    }

    fn request(
        &self,
        env: &mut Env,
        planned: &Planned,
        settings: &Settings,
        reserved: Reserved,
    ) -> Result<Request, Error> {
        let (secrets, tag) = (secrets(env, planned, settings, reserved), self.pushed_tag()?);
        Ok(Request {
            target: self.target(env, settings)?,
            deployment_type: self.deployment_type.clone(),
            method: self.method(),
            placement: self.placement.placement(),
            image: self.image.clone(),
            build: BuildRequest {
                tags: self.external.pushed_name(tag).map_or_else(|| self.tags.clone(), |name| vec![name]),
                platform: Some(self.platform()?),
                pull: self.build.pulls(),
                no_cache: self.no_cache,
                settings: self.build_settings(env, planned)?,
                ..image::request(env, planned)?
            },
            engine: env.engine(),
            tag: tag.to_owned(),
            config_path: image::configuration_path(&planned.plan),
            lock_path: (!self.options.no_lock()).then(|| image::lock_path(&planned.plan)),
            commands: SourceConfig {
                install_command: self.options.install_command.clone(),
                build_command: self.options.build_command.clone(),
                ..Default::default()
            },
            tracked_packages: tracked_packages(env, planned),
            secrets,
            replaces_secrets: self.replace_secrets,
            is_locked: !planned.plan.images.is_empty(),
            wait: (!self.no_wait).then_some(Duration::from_secs(self.timeout)),
            poll: env.retry_policy.poll,
            registry: env.retry_policy,
            push_silence: env.retry_policy.push,
            reads_build_log: self.json || env.verbose,
            dry_run: self.dry_run,
        })
    }

    /// The settings of a local build.
    fn build_settings(&self, env: &mut Env, planned: &Planned) -> Result<engine::Settings, Error> {
        self.build.read(env, &planned.plan, self.builds())
    }

    /// Whether the image is built here, or may be.
    fn builds(&self) -> bool {
        self.image.is_none() && matches!(self.method(), Method::Auto | Method::Image | Method::PushTo(_))
    }

    fn target(&self, env: &Env, settings: &Settings) -> Result<Target, Error> {
        let option = if self.deployment_id.is_some() { "--deployment-id" } else { "--name" };
        match (self.agent.agent(env, settings)?, &self.deployment_id, &self.name) {
            (Some((_, origin)), Some(_), _) | (Some((_, origin)), _, Some(_)) => Err(Error::usage(
                format!("{option} cannot be used together with an agent ({origin})"),
                format!("leave out {option}, or do not set an agent"),
            )),
            (Some((agent, _)), None, None) => Ok(Target::Agent(agent)),
            (None, Some(id), _) => Ok(Target::Id(id.clone())),
            (None, None, name) => Ok(Target::Name(deployment_name(env, name.as_deref(), settings)?)),
        }
    }

    /// How the project gets to the service.
    fn method(&self) -> Method {
        if let Some(method) = self.external.method() {
            return method;
        }
        match self.revision_source {
            Some(RevisionSource::Codehost) => Method::Repository,
            Some(RevisionSource::InternalSource) => Method::Source,
            None if self.remote => Method::Source,
            Some(RevisionSource::InternalContainer) => Method::Image,
            None if self.no_remote || self.image.is_some() || self.needs_local_build() => Method::Image,
            None => Method::Auto,
        }
    }

    /// Whether there are options that a remote build does not have.
    fn needs_local_build(&self) -> bool {
        !self.build.is_empty() || self.options.changes_image() || self.options.locked()
    }

    /// The platform of the image.
    fn platform(&self) -> Result<String, Error> {
        self.platform.as_deref().map_or_else(|| Ok(PLATFORM.to_owned()), platform)
    }

    /// The tag to push: that of --push-to, else of the first --tag. A build for the service's registry has the names of
    /// --tag; everywhere else, there is one tag.
    fn pushed_tag(&self) -> Result<&str, Error> {
        let own = self.external.tag();
        let has_names = self.image.is_none() && self.external.method().is_none();
        match (own, &self.tags[..]) {
            (_, []) => Ok(own.unwrap_or(TAG)),
            (_, tags) if has_names => {
                let names =
                    tags.iter().map(|name| ImageName::parse(name).map_err(|why| invalid_tag(name, why)));
                let names = names.collect::<Result<Vec<_>, _>>()?;
                Ok(names[0].tag.unwrap_or(TAG))
            }
            (None, [name]) => {
                let tag = name.rsplit_once(':').map_or(&**name, |(_, tag)| tag);
                let is_tag = ImageName::parse(&format!("image:{tag}")).is_ok();
                is_tag.then_some(tag).ok_or_else(|| invalid_tag(name, "it is not a tag"))
            }
            _ => Err(Error::usage(
                "one tag is pushed, and several are given".to_owned(),
                "give one, in --push-to or with --tag",
            )),
        }
    }
}

fn invalid_tag(tag: &str, why: &str) -> Error {
    Error::usage(
        format!("--tag {}: {why}", visible_line(tag)),
        "write it as NAME:TAG, or as TAG alone with --push-to or --image",
    )
}

/// The packages of the project that the service counts. Warns about manifests that cannot be read.
fn tracked_packages(env: &mut Env, planned: &Planned) -> Vec<String> {
    let Planned { config, project, .. } = planned;
    let entries = match (&config.source, &config.dependencies) {
        (Some(source), _) => vec![&*source.root],
        (None, None) => vec!["."],
        (None, Some(_)) => config.entries().map(|(_, entry)| entry).collect(),
    };
    let found = Tracked::new(entries.into_iter(), &project.files);
    for Unreadable { path, broken } in &found.unreadable {
        warn(env, &format!("looking for tracked packages without `{path}`: {}", broken.message));
    }
    found.packages
}

/// The variables of `env` that can be secrets of a deployment; `None` without any.
fn secrets(env: &mut Env, planned: &Planned, settings: &Settings, reserved: Reserved) -> Option<Vec<Secret>> {
    let is_sealed = settings.own_service.is_some();
    let values = variables::values(env, &planned.project, &planned.config, is_sealed);
    let secret =
        |(name, value)| Secret { name, value: Some(Redacted::new(value)), other: Default::default() };
    let secrets: Vec<Secret> = variables::deployable(env, reserved, values).into_iter().map(secret).collect();
    (!secrets.is_empty()).then_some(secrets)
}
