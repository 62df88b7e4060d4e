//! `agentcli deploy` itself: the project to the deployment service, and then it is watched.

mod event;
mod follow;
mod image;
mod name;
mod rehearse;
mod secrets;
mod source;

use std::pin::pin;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use event::{Event, Voice};
use name::Wanted;

use crate::api::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, DeploymentStatus, DeploymentType, Secret, Source,
    SourceConfig, SourceRevisionConfig,
};
use crate::api::{self, Client};
use crate::cli::account::AccountOptions;
use crate::cli::ask::confirm;
use crate::cli::compile::{PlanOptions, Planned};
use crate::cli::env::Env;
use crate::cli::image::platform;
use crate::cli::name::check_new;
use crate::compiler::words::similar;
use crate::error::Error;
use crate::live::Stop;

/// What `agentcli deploy` takes; its help text stands in the parent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy --name my-agent
  agentcli deploy --name my-agent --remote --deployment-type prod --yes
  agentcli deploy -t my-agent:v2 --no-pull         with options of `build`
  agentcli deploy logs --name my-agent --follow")]
pub(super) struct Ship {
    /// Nothing: the options of `build` that hold here have names.
    #[arg(hide = true, value_name = "COMMAND", value_parser = refused, trailing_var_arg = true)]
    build_args: Vec<String>,

    #[command(flatten)]
    account: AccountOptions,

    /// Name of the deployment [env or .env: PLATFORM_DEPLOYMENT_NAME] [default: the current directory's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Deployment to update, whatever its name
    #[arg(long, value_name = "ID")]
    deployment_id: Option<String>,

    /// What a new deployment is for
    #[arg(long, value_name = "TYPE", value_enum, default_value_t)]
    deployment_type: Kind,

    /// Let the service build the image [default: where no container engine is reachable]
    #[arg(long, overrides_with = "no_remote")]
    remote: bool,

    /// Build the image here or not at all
    #[arg(long)]
    no_remote: bool,

    /// Push this image of the container engine, and build none
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["remote", "tags", "platform", "no_cache"])]
    image: Option<String>,

    /// What the revision is made from; `codehost` sends nothing and builds what is in the repository
    #[arg(long, value_name = "SOURCE", value_enum, conflicts_with_all = ["remote", "image"])]
    revision_source: Option<From>,

    /// Do not wait until the revision is deployed
    #[arg(long)]
    no_wait: bool,

    /// How long the revision may take to be deployed, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1800, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,

    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Create a deployment without asking
    #[arg(short, long)]
    yes: bool,

    /// Print events as JSON, one a line
    #[arg(long)]
    json: bool,

    /// Name of the image, as NAME or NAME:TAG; it is pushed with that tag
    #[arg(short, long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Platform to build for [default: linux/amd64]
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<String>,

    /// Ask the registry for a newer base image (the default)
    #[arg(long, overrides_with = "no_pull")]
    pull: bool,

    /// Use the base image that is here
    #[arg(long)]
    no_pull: bool,

    /// Build every step anew, even if the image is up to date
    #[arg(long)]
    no_cache: bool,

    /// Send .env files and files of credentials, too, where .dockerignore does not leave them out
    #[arg(long)]
    include_credentials: bool,

    #[command(flatten)]
    options: PlanOptions,
}

/// Arguments that an engine's build would take are given with names here, or not at all.
fn refused(word: &str) -> Result<String, String> {
    let commands = super::commands();
    if let Some(close) = similar(word, commands.iter().map(String::as_str)) {
        return Err(format!("it is no subcommand; did you mean `agentcli deploy {close}`?"));
    }
    Err("it is no subcommand, and the arguments of a build are options, as `agentcli build` has them: -t, --platform, \
         --pull, --no-pull, --no-cache; -c names the configuration"
        .to_owned())
}

/// What a deployment is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// Development
    #[default]
    Dev,
    /// Production
    Prod,
}

/// What a revision is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum From {
    /// What the deployment's repository has
    Codehost,
    /// An image that is built here
    InternalContainer,
    /// The source, which the service builds
    InternalSource,
}

/// How the project gets to the service.
enum Way {
    /// As an image of this engine.
    Image(Box<crate::engine::Engine>),
    /// As a packed source.
    Source,
    /// It is there.
    Repository,
}

/// A project on its way.
struct Shipment<'a> {
    env: &'a mut Env,
    ship: &'a Ship,
    planned: Planned,
    client: &'a Client,
    /// What the client tells while it works.
    notes: UnboundedReceiver<String>,
    stop: Stop,
    voice: Voice,
    /// Nothing where the configuration has no variables: what the deployment has stays.
    secrets: Option<Vec<Secret>>,
}

impl Ship {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        self.platform.as_deref().map(platform).transpose()?;
        let planned = self.options.plan(env)?;
        let config = self.options.config.config.as_deref();
        let runtime = env.runtime()?;
        let account = self.account.resolve(env, config, &runtime)?;
        let (sender, notes) = unbounded_channel();
        let client = Client::new(account)?.with_patience(env.patience).telling(move |note| {
            // Nobody listens where the command is over.
            sender.send(note).ok();
        });
        let secrets = secrets::of(env, &planned);
        let wanted = name::wanted(env, &self, &planned)?;
        let done = runtime.block_on(async {
            let stop = env.stop.clone();
            let voice = Voice::new(env, self.json);
            let (ship, client) = (&self, &client);
            let shipment = Shipment { env, ship, planned, client, notes, stop, voice, secrets };
            shipment.run(wanted).await
        });
        // A question may still be waiting for its answer.
        runtime.shutdown_background();
        done
    }
}

impl Shipment<'_> {
    async fn run(mut self, wanted: Wanted) -> Result<(), Error> {
        let before = self.find(&wanted).await?;
        if let (None, Wanted::Name(name)) = (&before, &wanted) {
            check_new(name)?;
        }
        let way = self.way(before.as_ref()).await?;
        if self.ship.dry_run {
            return self.rehearse(&wanted, before.as_ref(), &way).await;
        }
        self.agree(&wanted, before.as_ref()).await?;
        let (deployment, patch) = match way {
            Way::Image(engine) => {
                let image = self.image(&engine, &wanted.name(before.as_ref())).await?;
                let deployment = self.existing(&wanted, before, Source::InternalContainer).await?;
                let pushed = self.push(&engine, &deployment, image).await?;
                let config = SourceRevisionConfig { image_uri: Some(pushed), ..Default::default() };
                (deployment, self.patch(Source::InternalContainer, config))
            }
            Way::Source => {
                let packed = self.pack().await?;
                let deployment = self.existing(&wanted, before, Source::InternalSource).await?;
                let config = self.upload(&deployment, &packed).await?;
                (deployment, self.patch(Source::InternalSource, config))
            }
            Way::Repository => {
                let deployment = self.existing(&wanted, before, Source::Codehost).await?;
                (deployment, self.patch(Source::Codehost, SourceRevisionConfig::default()))
            }
        };
        // What it was when it was found may be long ago by now.
        let before = self.ask(self.client.deployment(&deployment.id)).await?;
        let doubt = "there may be a new revision already";
        let patched = self.ask(self.client.patch(&before, &patch)).await;
        let patched = patched.map_err(|error| unwatched(error, &before, doubt))?;
        let revision = self.newest(&before, &patched).await;
        let revision = revision.map_err(|error| unwatched(error, &before, doubt))?;
        self.settle(&patched, &revision).await
    }

    async fn find(&mut self, wanted: &Wanted) -> Result<Option<Deployment>, Error> {
        let found = match wanted {
            Wanted::Id(id) => Some(self.ask(self.client.deployment(id)).await?),
            Wanted::Name(name) => self.ask(self.client.find_by_name(name)).await?,
        };
        if let Some(found) = &found {
            self.say(Event::Found { deployment_id: found.id.clone(), name: found.name.clone() });
        }
        match found {
            Some(Deployment { status: DeploymentStatus::AwaitingDelete, id, name, .. }) => {
                Err(Error::DeploymentPending {
                    message: format!("the deployment `{name}` is being deleted"),
                    hint: format!(
                        "once `agentcli deploy get {id}` finds it no more, deploy again, or choose another --name"
                    ),
                })
            }
            found => Ok(found),
        }
    }

    /// Asks before something new is made, where there is somebody to ask.
    async fn agree(&mut self, wanted: &Wanted, before: Option<&Deployment>) -> Result<(), Error> {
        let Wanted::Name(name) = wanted else { return Ok(()) };
        if before.is_some() || self.ship.yes || self.ship.json || !self.env.err.is_terminal {
            return Ok(());
        }
        let kind = self.kind();
        let question = format!("there is no deployment `{name}`; create it, of type {}?", kind.word());
        let answer = confirm(self.env, &question, true);
        if self.stop.unless_asked(answer).await? { Ok(()) } else { Err(Error::Declined) }
    }

    /// The deployment, which is made where there is none.
    async fn existing(
        &mut self,
        wanted: &Wanted,
        before: Option<Deployment>,
        source: Source,
    ) -> Result<Deployment, Error> {
        let name = match (before, wanted) {
            (Some(before), _) => return Ok(before),
            (None, Wanted::Name(name)) => name.clone(),
            (None, Wanted::Id(id)) => return Err(Error::Internal(format!("`{id}` was found before"))),
        };
        let kind = Some(self.kind());
        let source_config = match source {
            Source::InternalSource => SourceConfig { deployment_type: kind, ..self.commands() },
            _ => SourceConfig { deployment_type: kind, ..Default::default() },
        };
        let creation = DeploymentCreation {
            name,
            source,
            source_config,
            source_revision_config: SourceRevisionConfig::default(),
            secrets: self.secrets.clone().unwrap_or_default(),
            secret_references: None,
            other: Default::default(),
        };
        let created = match self.ask(self.client.create(&creation)).await {
            Ok(created) => created,
            // Somebody else was faster.
            Err(Error::Api(error @ api::Error::Conflict { .. })) => {
                return self.taken(&creation, error).await;
            }
            Err(error) => return Err(error),
        };
        self.say(Event::Created { deployment_id: created.id.clone(), name: created.name.clone() });
        Ok(created)
    }

    /// The deployment that took the name meanwhile, where it is such a one as was to be made.
    async fn taken(&mut self, creation: &DeploymentCreation, error: api::Error) -> Result<Deployment, Error> {
        let found = self.ask(self.client.find_by_name(&creation.name)).await?;
        let found = found.filter(|it| it.source == creation.source).ok_or(error)?;
        self.say(Event::Found { deployment_id: found.id.clone(), name: found.name.clone() });
        Ok(found)
    }

    fn patch(&self, source: Source, config: SourceRevisionConfig) -> DeploymentPatch {
        let commands = self.commands();
        DeploymentPatch {
            source_config: (source == Source::InternalSource && commands != SourceConfig::default())
                .then_some(commands),
            source_revision_config: (source != Source::Codehost).then_some(config),
            revision_source: Some(source),
            secrets: self.secrets.clone(),
            ..Default::default()
        }
    }

    /// Follows the new revision to its end, unless nobody wants to wait.
    async fn settle(&mut self, deployment: &Deployment, revision: &str) -> Result<(), Error> {
        let (deployment_id, revision_id) = (deployment.id.clone(), revision.to_owned());
        self.say(Event::Revision { deployment_id, revision_id });
        if self.ship.no_wait {
            self.say(Event::result("submitted", deployment, revision, None));
            return Ok(());
        }
        let done = self.follow(deployment, revision, Duration::from_secs(self.ship.timeout)).await;
        if let Err(Error::Interrupted) = done {
            self.say(Event::result("pending", deployment, revision, None));
        }
        done.map_err(|error| unwatched(error, deployment, "the revision goes on without you"))
    }

    /// Calls the service.
    async fn ask<T>(&mut self, call: impl Future<Output = Result<T, api::Error>>) -> Result<T, Error> {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                biased;
                () = self.stop.asked() => return Err(Error::Interrupted),
                Some(message) = self.notes.recv() => self.say(Event::Note { message }),
                answer = &mut call => return Ok(answer?),
            }
        }
    }

    fn kind(&self) -> DeploymentType {
        match self.ship.deployment_type {
            Kind::Dev => DeploymentType::Dev,
            Kind::Prod => DeploymentType::Prod,
        }
    }

    /// How the service builds a JavaScript project.
    fn commands(&self) -> SourceConfig {
        let [install_command, build_command] = self.ship.options.commands();
        SourceConfig { install_command, build_command, ..Default::default() }
    }

    fn say(&mut self, event: Event) {
        self.voice.tell(self.env, event);
    }
}

/// Where a revision may be on its way already, the same command would make another one.
fn unwatched(error: Error, deployment: &Deployment, why: &str) -> Error {
    let hint = || format!("{why}: see `agentcli deploy revisions list {}`", deployment.id);
    if let Error::Interrupted = error { Error::InterruptedWatch { hint: hint() } } else { error }
}
