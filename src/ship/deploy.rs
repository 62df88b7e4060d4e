//! From a request to a deployed revision.

use super::event::{self, Hooks};
use super::follow::NewRevision;
use super::image::Route;
use super::name::check_new;
use super::request::{Destination, Request, Target};
use super::{Error, Service};
use crate::api::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, DeploymentStatus, Source, SourceConfig,
    SourceRevisionConfig,
};
use crate::api::{self, Client};
use crate::live::Event;

/// One run.
pub(super) struct Shipment<'a, H> {
    pub(super) request: &'a Request,
    pub(super) service: Service,
    pub(super) hooks: &'a mut H,
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
        let route = self.route(&destination).await?;
        if self.request.dry_run {
            return self.rehearse(&destination, &route).await;
        }
        self.confirm(&destination).await?;
        let (deployment, patch) = match route {
            Route::Image(engine) => {
                let image = self.image(&engine, &destination.name).await?;
                let deployment = self.existing(destination, Source::InternalContainer).await?;
                let pushed = self.push(&engine, &deployment, image).await?;
                let config = SourceRevisionConfig { image_uri: Some(pushed), ..Default::default() };
                (deployment, self.patch(Source::InternalContainer, config))
            }
            Route::Source => {
                let packed = self.pack().await?;
                let deployment = self.existing(destination, Source::InternalSource).await?;
                let config = self.upload(&deployment, &packed).await?;
                (deployment, self.patch(Source::InternalSource, config))
            }
            Route::Repository => {
                let deployment = self.existing(destination, Source::Codehost).await?;
                (deployment, self.patch(Source::Codehost, SourceRevisionConfig::default()))
            }
        };
        let new = self.revise(&deployment.id, &patch).await?;
        self.settle(&new).await
    }

    async fn find(&mut self) -> Result<Destination, Error> {
        let existing = match &self.request.target {
            Target::Id(id) => Some(self.call(async |client| client.deployment(id).await).await?),
            Target::Name(name) => self.call(async |client| client.find_by_name(name).await).await?,
        };
        let (Target::Id(name) | Target::Name(name)) = &self.request.target;
        let Some(found) = &existing else {
            check_new(name)?;
            return Ok(Destination { name: name.clone(), existing });
        };
        self.hooks.event(&event::found(found));
        check_not_deleted(found)?;
        Ok(Destination { name: found.name.clone(), existing })
    }

    async fn confirm(&mut self, destination: &Destination) -> Result<(), Error> {
        if destination.existing.is_some() {
            return Ok(());
        }
        let confirmed = self.hooks.confirm_creation(&destination.name, &self.request.deployment_type);
        if self.service.stop.unless_asked(confirmed).await? { Ok(()) } else { Err(Error::Declined) }
    }

    /// The deployment, which is created if it does not exist.
    async fn existing(&mut self, destination: Destination, source: Source) -> Result<Deployment, Error> {
        if let Some(deployment) = destination.existing {
            return Ok(deployment);
        }
        let commands = match source {
            Source::InternalSource => self.request.commands.clone(),
            _ => SourceConfig::default(),
        };
        let creation = DeploymentCreation {
            name: destination.name,
            source,
            source_config: SourceConfig {
                deployment_type: Some(self.request.deployment_type.clone()),
                ..commands
            },
            source_revision_config: SourceRevisionConfig::default(),
            secrets: self.request.secrets.clone().unwrap_or_default(),
            secret_references: None,
            other: Default::default(),
        };
        match self.call(async |client| client.create(&creation).await).await {
            Ok(created) => {
                let (deployment_id, name) = (created.id.clone(), created.name.clone());
                self.hooks.event(&Event::Created { deployment_id, name });
                Ok(created)
            }
            Err(Error::Interrupted(_)) => Err(Error::InterruptedAtService {
                hint: format!("`{}` may have been created; see `agentcli deploy list`", creation.name),
            }),
            Err(Error::Api(error @ api::Error::Conflict { .. })) => {
                self.created_meanwhile(&creation, error).await
            }
            Err(error) => Err(error),
        }
    }

    /// The deployment that somebody else created under the same name, if it has the same source.
    async fn created_meanwhile(
        &mut self,
        creation: &DeploymentCreation,
        error: api::Error,
    ) -> Result<Deployment, Error> {
        let found = self.call(async |client| client.find_by_name(&creation.name).await).await?;
        let found = found.filter(|it| it.source == creation.source).ok_or(error)?;
        self.hooks.event(&event::found(&found));
        Ok(found)
    }

    fn patch(&self, source: Source, config: SourceRevisionConfig) -> DeploymentPatch {
        let commands = self.request.commands.clone();
        DeploymentPatch {
            source_config: (source == Source::InternalSource && commands != SourceConfig::default())
                .then_some(commands),
            source_revision_config: (source != Source::Codehost).then_some(config),
            revision_source: Some(source),
            secrets: self.request.secrets.clone(),
            ..Default::default()
        }
    }

    /// Makes a revision.
    async fn revise(&mut self, id: &str, patch: &DeploymentPatch) -> Result<NewRevision, Error> {
        // The deployment may have changed since it was found.
        let before = self.call(async |client| client.deployment(id).await).await?;
        let made = async {
            let patched = self.call(async |client| client.patch(&before, patch).await).await?;
            self.newest(&before, patched).await
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
