//! From a request to a deployed revision.

use super::event::{self, Hooks};
use super::image::Route;
use super::name::check_new;
use super::request::{Destination, Request, Target};
use super::shipment::{NewRevision, Shipment};
use super::{Error, Service};
use crate::api::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, DeploymentStatus, Secret, Source, SourceConfig,
    SourceRevisionConfig,
};
use crate::api::{self, Client};
use crate::context::Packed;
use crate::live::Event;

/// A deployment, and whether this run created it.
enum Outcome {
    Created(Deployment),
    Found(Deployment),
}

/// Deploys the project and waits until the revision is deployed.
///
/// # Errors
///
/// See [`Error`]. Nothing is created at the service before the image is built or the source is packed.
pub async fn run<H: Hooks>(request: &Request, service: Service, hooks: &mut H) -> Result<(), Error> {
    Shipment { request, service, hooks }.run().await
}

impl<H: Hooks> Shipment<'_, H> {
    async fn run(mut self) -> Result<(), Error> {
        let destination = self.find().await?;
        if let Some(before) = &destination.existing {
            self.secrets(before)?;
        }
        let route = self.route(&destination).await?;
        if self.request.dry_run {
            return self.rehearse(&destination, &route).await;
        }
        self.confirm(&destination, &route).await?;
        let (deployment, patch) = match route {
            Route::Image(engine) => {
                let image = self.images().image(&engine, &destination.name).await?;
                let deployment = self.existing(destination, Source::InternalContainer).await?;
                let pushed = self.push(&engine, &deployment, image).await?;
                (deployment, self.patch(Some(Source::InternalContainer), image_config(pushed)))
            }
            // The deployment exists, since it has an image.
            Route::Replaced(digest) => {
                let deployment = self.existing(destination, Source::InternalContainer).await?;
                let patch = match self.replace(&deployment, &digest).await? {
                    Some(image) => self.patch(Some(Source::InternalContainer), image_config(image)),
                    None => {
                        let packed = self.pack().await?;
                        self.source_patch(&deployment, &packed).await?
                    }
                };
                (deployment, patch)
            }
            Route::External(external, config) => {
                let pushed = image_config(self.images().external_image(external, &destination.name).await?);
                let creation = self.creation(Source::ExternalContainer, *config, pushed.clone());
                match self.found_or_created(destination, creation).await? {
                    Outcome::Created(deployment) => return self.first_revision(deployment).await,
                    Outcome::Found(deployment) => (deployment, self.patch(None, pushed)),
                }
            }
            Route::Source => {
                let packed = self.pack().await?;
                let deployment = self.existing(destination, Source::InternalSource).await?;
                let patch = self.source_patch(&deployment, &packed).await?;
                (deployment, patch)
            }
            Route::Repository => {
                let deployment = self.existing(destination, Source::Codehost).await?;
                (deployment, self.patch(Some(Source::Codehost), SourceRevisionConfig::default()))
            }
        };
        let new = self.revise(&deployment.id, &patch).await?;
        self.settle(&new).await
    }

    /// Follows the revision that a deployment from an external image has from its creation.
    async fn first_revision(mut self, deployment: Deployment) -> Result<(), Error> {
        let id = deployment.id.clone();
        let new = self.newest(None, deployment).await;
        let new = new.map_err(|error| error.while_revision_continues(&id, "the revision continues"))?;
        self.settle(&new).await
    }

    async fn find(&mut self) -> Result<Destination, Error> {
        let (existing, target) = (self.look_up().await?, &self.request.target);
        let Some(found) = &existing else {
            if let Target::Name(name) = target {
                check_new(name)?;
            }
            return Ok(Destination { name: target.name().to_owned(), existing });
        };
        self.hooks.event(&event::found(found));
        check_not_deleted(found)?;
        Ok(Destination { name: found.name.clone(), existing })
    }

    async fn look_up(&mut self) -> Result<Option<Deployment>, Error> {
        match &self.request.target {
            Target::Id(id) => self.call(async |client| client.deployment(id).await).await.map(Some),
            Target::Name(name) => self.call(async |client| client.find_by_name(name).await).await,
            Target::Agent(agent) => self.call(async |client| client.find_by_agent(agent).await).await,
        }
    }

    async fn confirm(&mut self, destination: &Destination, route: &Route) -> Result<(), Error> {
        if destination.existing.is_some() {
            return Ok(());
        }
        let (title, details) = (self.request.target.title(), self.creation_details(route));
        let question = format!("There is no {title}. Create it ({details})?");
        let confirmed = self.hooks.confirm(&question);
        if self.service.stop.unless_asked(confirmed).await? { Ok(()) } else { Err(Error::Declined) }
    }

    /// The deployment, which is created without a revision if it does not exist.
    async fn existing(&mut self, destination: Destination, source: Source) -> Result<Deployment, Error> {
        let commands = match source {
            Source::InternalSource => self.request.commands.clone(),
            _ => SourceConfig::default(),
        };
        let config = SourceConfig { deployment_type: Some(self.request.deployment_type.clone()), ..commands };
        let creation = self.creation(source, config, SourceRevisionConfig::default());
        let (Outcome::Created(deployment) | Outcome::Found(deployment)) =
            self.found_or_created(destination, creation).await?;
        Ok(deployment)
    }

    fn creation(
        &self,
        source: Source,
        source_config: SourceConfig,
        source_revision_config: SourceRevisionConfig,
    ) -> DeploymentCreation {
        let (name, agent) = match &self.request.target {
            Target::Id(name) | Target::Name(name) => (Some(name.clone()), None),
            Target::Agent(agent) => (None, Some(agent.clone())),
        };
        DeploymentCreation {
            name,
            agent,
            source,
            source_config,
            source_revision_config,
            secrets: self.request.secrets.clone().unwrap_or_default(),
            secret_references: None,
            other: Default::default(),
        }
    }

    /// The deployment, which is created if it does not exist.
    async fn found_or_created(
        &mut self,
        destination: Destination,
        creation: DeploymentCreation,
    ) -> Result<Outcome, Error> {
        if let Some(deployment) = destination.existing {
            return Ok(Outcome::Found(deployment));
        }
        match self.call(async |client| client.create(&creation).await).await {
            Ok(created) => {
                let (deployment_id, name) = (created.id.clone(), created.name.clone());
                self.hooks.event(&Event::Created { deployment_id, name });
                Ok(Outcome::Created(created))
            }
            Err(Error::Interrupted(_)) => Err(Error::InterruptedAtService {
                hint: format!(
                    "the {} may have been created; see `agentcli deploy list`",
                    self.request.target.title()
                ),
            }),
            Err(Error::Api(error @ api::Error::Conflict { .. })) => {
                self.created_meanwhile(&creation, error).await.map(Outcome::Found)
            }
            Err(error) => Err(error),
        }
    }

    /// The deployment that somebody else created under the same name or for the same agent, if it has the same source.
    async fn created_meanwhile(
        &mut self,
        creation: &DeploymentCreation,
        error: api::Error,
    ) -> Result<Deployment, Error> {
        let found = self.look_up().await?.filter(|it| it.source == creation.source).ok_or(error)?;
        self.hooks.event(&event::found(&found));
        Ok(found)
    }

    /// The patch of `deployment` to the source of the project, which is uploaded.
    async fn source_patch(
        &mut self,
        deployment: &Deployment,
        packed: &Packed,
    ) -> Result<DeploymentPatch, Error> {
        let config = self.upload(deployment, packed).await?;
        Ok(self.patch(Some(Source::InternalSource), config))
    }

    /// The patch that makes a revision from `source`, or from that of the deployment.
    fn patch(&self, source: Option<Source>, config: SourceRevisionConfig) -> DeploymentPatch {
        let (none, Request { commands, tracked_packages, .. }) = (SourceConfig::default(), self.request);
        let has_commands = source == Some(Source::InternalSource) && *commands != none;
        let is_sent = source != Some(Source::Codehost);
        DeploymentPatch {
            source_config: has_commands.then(|| commands.clone()),
            source_revision_config: is_sent.then_some(config),
            tracked_packages: (is_sent && !tracked_packages.is_empty()).then(|| tracked_packages.clone()),
            revision_source: source,
            ..Default::default()
        }
    }

    /// The secrets of a patch of a deployment, with those that it keeps.
    fn secrets(&self, before: &Deployment) -> Result<Option<Vec<Secret>>, Error> {
        let mut secrets = self.request.secrets.clone();
        let Some(given) = secrets.as_mut().filter(|_| !self.request.replaces_secrets) else {
            return Ok(secrets);
        };
        let refused = |lost: Vec<String>| Error::Refused {
            message: format!("this would remove secrets of `{}`: {}", before.name, lost.join(", ")),
            hint: "add them to the project's `env`, or pass --replace-secrets".to_owned(),
        };
        before.keep_secrets(given).map_err(refused).map(|()| secrets)
    }

    /// Makes a revision.
    async fn revise(&mut self, id: &str, patch: &DeploymentPatch) -> Result<NewRevision, Error> {
        // The deployment may have changed since it was found.
        let before = self.call(async |client| client.deployment(id).await).await?;
        let patch = &DeploymentPatch { secrets: self.secrets(&before)?, ..patch.clone() };
        let made = async {
            let patched = self.call(async |client| client.patch(&before, patch).await).await?;
            self.newest(before.latest_revision_id.as_ref(), patched).await
        };
        made.await
            .map_err(|error: Error| error.while_revision_continues(id, "a revision may have been created"))
    }

    /// Follows the new revision to its end, unless the request does not wait.
    async fn settle(&mut self, new: &NewRevision) -> Result<(), Error> {
        let (deployment_id, revision_id) = (new.deployment.id.clone(), new.id.clone());
        self.hooks.event(&Event::Revision { deployment_id, revision_id });
        let Some(timeout) = self.request.wait else {
            self.hooks.event(&event::result("submitted", new, None));
            return Ok(());
        };
        let done = self.follow(new, timeout).await;
        if let Err(Error::Interrupted(_)) = done {
            self.hooks.event(&event::result("pending", new, None));
        }
        done.map_err(|error| error.while_revision_continues(&new.deployment.id, "the revision continues"))
    }

    /// Calls the service.
    pub(super) async fn call<T>(
        &mut self,
        call: impl AsyncFnOnce(&Client) -> Result<T, api::Error>,
    ) -> Result<T, Error> {
        let Self { service, hooks, .. } = self;
        service.call(call, |message| hooks.note(message)).await
    }
}

/// The configuration of a revision from an image.
fn image_config(image: String) -> SourceRevisionConfig {
    SourceRevisionConfig { image_uri: Some(image), ..Default::default() }
}

fn check_not_deleted(deployment: &Deployment) -> Result<(), Error> {
    let Deployment { id, name, status, .. } = deployment;
    if *status != DeploymentStatus::AwaitingDelete {
        return Ok(());
    }
    Err(Error::Pending {
        message: format!("the deployment `{name}` is being deleted"),
        hint: format!("wait until `agentcli deploy get {id}` no longer finds it, or pass another --name"),
    })
}
