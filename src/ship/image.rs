//! How the project gets to the service; as an image, built here and pushed to the service's registry or the user's.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::event::Hooks;
use super::name::slug;
use super::request::{Destination, Method, Placement};
use super::shipment::Shipment;
use super::{Error, Request};
use crate::api::wire::{Deployment, Source, SourceConfig};
use crate::engine::{self, BuildRequest, Engine, Login, PushRequest, Pushed};
use crate::live::{Event, Stop, relay};
use crate::registry::{self, Access, Replaced, Replacement, settle};

/// The platform of deployment services.
pub const PLATFORM: &str = "linux/amd64";

/// What is done where there is no engine, and the place of the image follows.
const REPLACING: &str = "replacing the source in the image of";

/// How the project gets to the service.
pub(super) enum Route {
    /// As an image of this engine.
    Image(Box<Engine>),
    /// As the image with this digest in the service's registry, with another source.
    Replaced(String),
    /// As an image in the user's registry, with the configuration of a new deployment.
    External(ExternalImage, Box<SourceConfig>),
    /// As packed source.
    Source,
    /// It is in the deployment's repository.
    Repository,
}

/// An image in a registry of the user's.
pub(super) enum ExternalImage {
    /// It is there.
    Pushed(String),
    /// This engine pushes it to this repository.
    Push(Box<Engine>, String),
    /// It is the one in this repository, with another source.
    Replace(String),
}

impl<H: Hooks> Shipment<'_, H> {
    /// Chooses the route. Only deployments that were created from an image can be pushed to.
    pub(super) async fn route(&mut self, destination: &Destination) -> Result<Route, Error> {
        check_source(destination, self.request)?;
        match &self.request.method {
            Method::Repository => return Ok(Route::Repository),
            Method::Source => return Ok(Route::Source),
            Method::PushTo(repository) => {
                let config = Box::new(self.placed(destination).await?);
                let external = self.images().pushed_to(repository).await?;
                return Ok(Route::External(external, config));
            }
            Method::ImageUri(image) => {
                let config = Box::new(self.placed(destination).await?);
                return Ok(Route::External(ExternalImage::Pushed(image.clone()), config));
            }
            Method::Image | Method::Auto => {}
        }
        if let Some(Deployment { name, source, .. }) = &destination.existing
            && *source != Source::InternalContainer
        {
            self.note_remote_build(&format!("`{name}` was created from {source}"));
            return Ok(Route::Source);
        }
        match self.service.stop.unless_asked(Engine::connect(&self.request.engine)).await? {
            Ok(engine) => Ok(Route::Image(Box::new(engine))),
            Err(error)
                if error.is_absent()
                    && self.request.image.is_none()
                    && let Some(digest) = destination.digest() =>
            {
                self.hooks.note(format!("{error}; {REPLACING} the deployment"));
                Ok(Route::Replaced(digest.to_owned()))
            }
            Err(
                error @ (engine::Error::NoEngine { .. }
                | engine::Error::Timeout { .. }
                | engine::Error::Unreachable { .. }),
            ) if self.request.method == Method::Auto => {
                self.note_remote_build(&error.to_string());
                Ok(Route::Source)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says that the service builds, and why.
    fn note_remote_build(&mut self, why: &str) {
        let lock = if self.request.is_locked { ", where only `agentcli host` reads agent.lock" } else { "" };
        self.hooks.note(format!("{why}; building remotely{lock}"));
    }

    /// Pushes `image`; returns its name in the registry, with its digest.
    pub(super) async fn push(
        &mut self,
        engine: &Engine,
        deployment: &Deployment,
        image: String,
    ) -> Result<String, Error> {
        let (repository, login) = self.own_repository(deployment).await?;
        self.images().push_to(engine, &repository, Some(login), image).await
    }

    /// Replaces the source in the image of `deployment` with this digest; returns the new one's name. `None` if that is not
    /// possible, and the service is to build it.
    pub(super) async fn replace(
        &mut self,
        deployment: &Deployment,
        digest: &str,
    ) -> Result<Option<String>, Error> {
        let (repository, login) = self.own_repository(deployment).await?;
        let from = format!("{repository}@{digest}");
        match self.images().replaced(&repository, Some(&from), Some(login)).await {
            Err(error) if self.request.method == Method::Auto && error.is_of_registry() => {
                self.note_remote_build(&error.to_string());
                Ok(None)
            }
            Err(registry::Error::Different { image, reason, .. }) => {
                let hint = "start a container engine, or pass --remote";
                Err(registry::Error::Different { image, reason, hint }.into())
            }
            image => Ok(Some(image?)),
        }
    }

    /// The repository of `deployment` in the service's registry, and the credentials for it.
    async fn own_repository(&mut self, deployment: &Deployment) -> Result<(String, Login), Error> {
        let token = self.call(async |client| client.push_token(&deployment.id).await).await?;
        let repository = token.repository_url.as_ref().unwrap_or(&token.registry_url);
        let login = Login { user: token.username().to_owned(), password: token.token.expose().to_owned() };
        Ok((without_scheme(repository).to_owned(), login))
    }

    /// The images of the request.
    pub(super) fn images(&mut self) -> Images<'_, H> {
        Images { request: self.request, stop: &self.service.stop, hooks: self.hooks }
    }
}

/// Builds and pushes the images of a request, for any target.
pub(super) struct Images<'a, H> {
    request: &'a Request,
    stop: &'a Stop,
    hooks: &'a mut H,
}

/// The image of a request for a cluster: pushed to the registry of the user's, unless it is there.
///
/// # Errors
///
/// It cannot be built or pushed, or no registry is named.
pub async fn external_image<H: Hooks>(
    request: &Request,
    stop: &Stop,
    hooks: &mut H,
) -> Result<String, Error> {
    let mut images = Images { request, stop, hooks };
    let external = match (&request.method, &request.image) {
        (Method::PushTo(repository), _) => images.pushed_to(repository).await?,
        (Method::ImageUri(image), _) | (_, Some(image)) => ExternalImage::Pushed(image.clone()),
        _ => {
            return Err(Error::Refused {
                message: "a cluster pulls its images from a registry, and none is named".to_owned(),
                hint: "pass --push-to REPOSITORY, or --image IMAGE for one that the cluster can pull"
                    .to_owned(),
            });
        }
    };
    images.external_image(external, request.target.name()).await
}

/// The name of an image that is built for the nodes of a cluster on this machine: it has no registry, and a tag of its own.
///
/// # Errors
///
/// It cannot be built.
pub async fn local_image<H: Hooks>(request: &Request, stop: &Stop, hooks: &mut H) -> Result<String, Error> {
    let engine = stop.unless_asked(Engine::connect(&request.engine)).await??;
    let name = request.target.name();
    let id = Images { request, stop, hooks }.image(&engine, name).await?;
    let repository = format!("agentcli-deploy/{}", slug(name));
    let tag: String = id.trim_start_matches("sha256:").chars().take(12).collect();
    engine.tag(&id, &repository, &tag).await?;
    Ok(format!("{repository}:{tag}"))
}

impl<H: Hooks> Images<'_, H> {
    /// How the image gets to a repository of the user's.
    async fn pushed_to(&mut self, repository: &str) -> Result<ExternalImage, Error> {
        match self.stop.unless_asked(Engine::connect(&self.request.engine)).await? {
            Err(error) if error.is_absent() && self.request.image.is_none() => {
                self.hooks.note(format!("{error}; {REPLACING} `{repository}`"));
                Ok(ExternalImage::Replace(repository.to_owned()))
            }
            engine => Ok(ExternalImage::Push(Box::new(engine?), repository.to_owned())),
        }
    }

    /// The name of the image in the user's registry, with its digest. It is built and pushed unless it is there.
    pub(super) async fn external_image(
        &mut self,
        external: ExternalImage,
        name: &str,
    ) -> Result<String, Error> {
        match external {
            ExternalImage::Pushed(image) => Ok(image),
            ExternalImage::Push(engine, repository) => {
                let image = self.image(&engine, name).await?;
                self.push_to(&engine, &repository, None, image).await
            }
            ExternalImage::Replace(repository) => Ok(self.replaced(&repository, None, None).await?),
        }
    }

    /// The name or ID of the image to push, which is built unless it is given.
    pub(super) async fn image(&mut self, engine: &Engine, name: &str) -> Result<String, Error> {
        if let Some(image) = &self.request.image {
            let platform = self.stop.unless_asked(engine.platform(image)).await??;
            check_platform(image, platform.as_deref(), self.request.build.platform.as_deref())?;
            return Ok(image.clone());
        }
        let mut build: BuildRequest = self.request.build.clone();
        if build.tags.is_empty() {
            build.tags = vec![format!("agentcli-deploy/{}", slug(name))];
        }
        let Self { stop, hooks, .. } = self;
        let building = engine.build(build, |event| hooks.building(&event));
        let built = stop.unless_asked(building).await;
        hooks.built(built.as_ref().ok().and_then(|built| built.as_ref().err()));
        let built = built??;
        self.hooks.event(&Event::Built { id: built.id.clone(), tags: built.tags });
        Ok(built.id)
    }

    /// Makes an image from the one that is called `from`, and pushes it to `repository`; returns its name there, with its
    /// digest.
    async fn replaced(
        &mut self,
        repository: &str,
        from: Option<&str>,
        login: Option<Login>,
    ) -> Result<String, registry::Error> {
        let request = BuildRequest {
            tags: vec![format!("{repository}:{}", self.request.tag)],
            ..self.request.build.clone()
        };
        let (access, events) = access(self.request, repository, login);
        let replacement = Replacement { request: &request, from, access };
        let Self { stop, hooks, .. } = self;
        let Replaced { images, .. } = relay(&mut **hooks, events, replacement.run(stop)).await?;
        let image = images.into_iter().next().unwrap_or_default();
        self.hooks.event(&Event::Pushed { image: image.clone() });
        Ok(image)
    }

    /// Pushes `image` to `repository`; returns its name there, with its digest.
    async fn push_to(
        &mut self,
        engine: &Engine,
        repository: &str,
        login: Option<Login>,
        image: String,
    ) -> Result<String, Error> {
        let request = PushRequest {
            image,
            repository: repository.to_owned(),
            tag: self.request.tag.clone(),
            login,
            silence: self.request.push_silence,
        };
        let Self { stop, hooks, .. } = self;
        let Pushed { repository, mut digest } =
            engine.push(&request, |event| hooks.event(&event), stop).await?;
        let build = &self.request.build;
        if self.request.image.is_none() && engine.settles(build).await? {
            let (access, events) = access(self.request, &repository, request.login);
            let image = format!("{repository}:{}@{digest}", request.tag);
            digest = relay(&mut **hooks, events, settle(&access, &image, build, stop)).await?;
        }
        let uri = format!("{repository}@{digest}");
        self.hooks.event(&Event::Pushed { image: uri.clone() });
        Ok(uri)
    }
}

/// How the registry of `repository` is reached, with credentials other than those of `docker login` if there are.
fn access<'a>(
    request: &'a Request,
    repository: &str,
    login: Option<Login>,
) -> (Access<'a>, UnboundedReceiver<Event>) {
    let (sender, events) = unbounded_channel();
    let login = login.map(|login| (repository.to_owned(), login));
    (Access { env: &request.engine, login, policy: request.registry, events: sender }, events)
}

/// Refuses methods that the deployment does not accept.
fn check_source(destination: &Destination, request: &Request) -> Result<(), Error> {
    let refused = |message: String, hint: String| Err(Error::Refused { message, hint });
    let (name, method) = (&destination.name, &request.method);
    match (&destination.existing, method) {
        (Some(Deployment { source: Source::ExternalContainer, .. }), _) if !method.is_external() => refused(
            format!("cannot deploy to `{name}`: it runs images of your own registry"),
            "pass --push-to REPOSITORY to push an image there, or --image-uri REPOSITORY@DIGEST for one that is there"
                .to_owned(),
        ),
        (Some(Deployment { source, .. }), _)
            if method.is_external() && *source != Source::ExternalContainer =>
        {
            refused(
                format!("cannot deploy an external image to `{name}`: it was created from {source}"),
                "pass another --name to create a deployment, or leave out --push-to and --image-uri".to_owned(),
            )
        }
        (Some(_), _) if request.placement != Placement::default() => refused(
            format!("`{name}` exists, and its listener, namespace and pull secrets cannot be changed here"),
            "leave out --listener-id, --k8s-namespace and --image-pull-secret".to_owned(),
        ),
        (None, Method::Repository) => refused(
            format!("cannot build from a repository: there is no {}", request.target.title()),
            "run `agentcli deploy list` to see all deployments, or pass --deployment-id".to_owned(),
        ),
        (Some(Deployment { source, .. }), Method::Image) if *source != Source::InternalContainer => refused(
            format!("cannot push an image to `{name}`: it was created from {source}"),
            "pass --remote to build the image on the deployment service".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Refuses an image for another platform; an engine may not know it.
fn check_platform(image: &str, platform: Option<&str>, needed: Option<&str>) -> Result<(), Error> {
    let needed = needed.unwrap_or(PLATFORM);
    match platform {
        Some(platform) if platform != needed => Err(Error::Refused {
            message: format!("cannot deploy `{image}`: it is for {platform}, and {needed} is needed"),
            hint: format!("build it with `agentcli build --platform {needed}`"),
        }),
        _ => Ok(()),
    }
}

/// `registry.example/x` of `https://registry.example/x/`
fn without_scheme(address: &str) -> &str {
    address.split_once("://").map_or(address, |(_, rest)| rest).trim_end_matches('/')
}
