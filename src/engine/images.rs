//! Images that are run as they are: inspecting, pulling and removing them.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use bollard::Docker;
use bollard::models::ImageInspect;
use bollard::query_parameters::{CreateImageOptions, ListImagesOptions, RemoveImageOptions, TagImageOptions};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::call::whole;
use super::connect::Engine;
use super::credentials::{Login, anonymous_header, login_header};
use super::error::{Error, is_unauthorized};
use super::transfer::{Layers, Transfer};
use crate::compiler::manifests::image_name::ImageName;
use crate::live::Event;

/// The registry in names of images without one, on Podman.
const LOCAL: &str = "localhost/";

/// Deadline of a registry to answer a question of the engine.
const REGISTRY_DEADLINE: Duration = Duration::from_secs(60);

/// Whom a registry sees.
#[derive(Clone, Copy)]
pub enum RegistryUser<'a> {
    /// The user of `docker login`, if there is one.
    Stored,
    /// This user.
    Login(&'a Login),
    /// Nobody.
    Anonymous,
}

impl Engine {
    /// The ID of a local image; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn image(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.inspect_image(name).await?.and_then(|image| image.id))
    }

    /// The platform of a local image, such as `linux/amd64`; `None` if there is none of this name, or its platform is not
    /// known.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn platform(&self, name: &str) -> Result<Option<String>, Error> {
        let image = self.inspect_image(name).await?;
        let known = |part: Option<String>| part.filter(|part| !part.is_empty());
        Ok(image.and_then(|image| Some(format!("{}/{}", known(image.os)?, known(image.architecture)?))))
    }

    /// The environment variables of a local image; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn image_environment(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Error> {
        let Some(image) = self.inspect_image(name).await? else { return Ok(None) };
        let variables = image.config.and_then(|config| config.env).unwrap_or_default();
        let pair =
            |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Some(variables.iter().filter_map(pair).collect()))
    }

    /// The value of a label of a local image.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn image_label(&self, name: &str, label: &str) -> Result<Option<String>, Error> {
        let image = self.inspect_image(name).await?;
        let labels = image.and_then(|image| image.config?.labels);
        Ok(labels.and_then(|mut labels| labels.remove(label)))
    }

    /// The names `repository:tag` of local images whose repository begins with `prefix` and a slash.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn images_below(&self, prefix: &str) -> Result<Vec<String>, Error> {
        // Podman has images without a registry at `localhost`.
        let patterns = ["", LOCAL].map(|registry| format!("{registry}{prefix}/*"));
        let filters = HashMap::from([("reference".to_owned(), patterns.to_vec())]);
        let options = ListImagesOptions { filters: Some(filters), ..Default::default() };
        let listed = self.call("list its images", self.docker.list_images(Some(options))).await?;
        let names = listed.into_iter().flat_map(|image| image.repo_tags);
        let names = names.map(|name| name.strip_prefix(LOCAL).unwrap_or(&name).to_owned());
        let is_below = |name: &String| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        Ok(names.filter(is_below).collect())
    }

    /// Whether all of these images are here, of which there are some.
    pub(super) async fn has_all(&self, images: &[String]) -> bool {
        for image in images {
            if !matches!(self.image(image).await, Ok(Some(_))) {
                return false;
            }
        }
        !images.is_empty()
    }

    /// Gives a local image another name, `repository:tag`.
    ///
    /// # Errors
    ///
    /// There is no such image, or the engine refuses or disconnects.
    pub async fn tag(&self, image: &str, repository: &str, tag: &str) -> Result<(), Error> {
        let options = TagImageOptions { repo: Some(repository.to_owned()), tag: Some(tag.to_owned()) };
        let what = format!("name the image `{image}`");
        match self.call(&what, self.docker.tag_image(image, Some(options))).await {
            Err(Error::Request { status: 404, .. }) => Err(Error::NoImage { image: image.to_owned() }),
            tagged => tagged,
        }
    }

    /// The `ONBUILD` instructions of a local image, which a build on it runs; none if there is no image of this name.
    ///
    /// # Errors
    ///
    /// The engine refuses or disconnects.
    pub async fn build_triggers(&self, name: &str) -> Result<Vec<String>, Error> {
        let config = self.inspect_image(name).await?.and_then(|image| image.config);
        Ok(config.and_then(|config| config.on_build).unwrap_or_default())
    }

    /// Details of a local image; `None` if there is none of this name.
    pub(super) async fn inspect_image(&self, name: &str) -> Result<Option<ImageInspect>, Error> {
        let what = format!("inspect the image `{name}`");
        match self.call(&what, self.docker.inspect_image(name)).await {
            Err(Error::Request { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Pulls an image with the credentials of `docker login`, and reports progress to `events`. A problem with the
    /// credentials is a warning, and the image is pulled without them.
    ///
    /// # Errors
    ///
    /// [`Error::Pull`] if the registry refuses or cannot be reached.
    pub async fn pull(&self, name: &str, events: impl FnMut(Event)) -> Result<(), Error> {
        self.pull_as(name, RegistryUser::Stored, events).await
    }

    /// The same as another user of the registry.
    ///
    /// # Errors
    ///
    /// Those of [`Engine::pull`].
    pub async fn pull_as(
        &self,
        name: &str,
        user: RegistryUser<'_>,
        mut events: impl FnMut(Event),
    ) -> Result<(), Error> {
        let pulling =
            |Transfer { current, total, .. }| Event::Pulling { image: name.to_owned(), current, total };
        events(pulling(Transfer::default()));
        let credentials = match user {
            RegistryUser::Stored => self.stored_login(name, &mut events).await,
            RegistryUser::Login(login) => Some(login_header(login, name)),
            RegistryUser::Anonymous => None,
        };
        let options = CreateImageOptions { from_image: Some(with_tag(name)), ..Default::default() };
        let mut layers = Layers::default();
        let (docker, allowance) = self.streaming();
        let docker = with_credentials(docker, credentials);
        let answers = docker.create_image(Some(options), None, None);
        let mut answers = pin!(allowance.of_each(whole(answers)));
        while let Some(answer) = answers.next().await {
            let answer = answer.map_err(|error| self.pull_failed(name, error))?;
            layers.update(answer).into_iter().for_each(|it| events(pulling(it)));
        }
        Ok(())
    }

    /// The digest of an image in its registry, which is asked without credentials. Local images do not matter, but an engine
    /// that cannot ask a registry, as Podman, pulls the image.
    ///
    /// # Errors
    ///
    /// [`Error::Pull`] if the registry refuses or cannot be reached.
    pub async fn public_digest(&self, name: &str) -> Result<String, Error> {
        if self.is_podman().await? {
            self.pull_as(name, RegistryUser::Anonymous, |_| ()).await?;
            let image = self.inspect_image(name).await?;
            let digests = image.and_then(|image| image.repo_digests).unwrap_or_default();
            let repository = ImageName::parse(name).map_or(name, |parsed| parsed.name);
            let of_repository =
                |it: &String| Some(it.strip_prefix(repository)?.strip_prefix('@')?.to_owned());
            let digest = digests.iter().find_map(of_repository);
            return digest.ok_or_else(|| Error::NoImage { image: name.to_owned() });
        }
        let docker = with_credentials(self.docker.clone(), Some(anonymous_header()));
        let asked = timeout(REGISTRY_DEADLINE, docker.inspect_registry_image(name, None)).await;
        let late = |_| Error::Pull {
            image: name.to_owned(),
            unauthorized: false,
            reason: format!("its registry did not answer within {} s", REGISTRY_DEADLINE.as_secs()),
        };
        let asked = asked.map_err(late)?.map_err(|error| self.pull_failed(name, error))?;
        asked.descriptor.digest.ok_or_else(|| Error::NoImage { image: name.to_owned() })
    }

    /// Removes an image unless it has a name.
    ///
    /// # Errors
    ///
    /// The engine refuses, as it does for an image in use, or disconnects.
    pub async fn remove_unnamed(&self, id: &str) -> Result<(), Error> {
        let Some(image) = self.inspect_image(id).await? else { return Ok(()) };
        if image.repo_tags.is_some_and(|it| !it.is_empty())
            || image.repo_digests.is_some_and(|it| !it.is_empty())
        {
            return Ok(());
        }
        self.remove_image(id).await
    }

    /// Removes a name of an image, and the image with its last name.
    ///
    /// # Errors
    ///
    /// There is no such image, it is in use, or the engine disconnects.
    pub async fn remove_image(&self, name: &str) -> Result<(), Error> {
        // Its parents may be in the build cache.
        let options = RemoveImageOptions { noprune: true, ..RemoveImageOptions::default() };
        let remove = self.docker.remove_image(name, Some(options), None);
        self.call(&format!("remove the image `{name}`"), remove).await.map(drop)
    }

    fn pull_failed(&self, name: &str, error: bollard::errors::Error) -> Error {
        match self.failed("pull", error) {
            Error::Request { reason, .. } => {
                Error::Pull { image: name.to_owned(), unauthorized: is_unauthorized(&reason), reason }
            }
            error => error,
        }
    }
}

/// A client that sends credentials.
fn with_credentials(docker: Docker, header: Option<String>) -> Docker {
    docker.with_request_modifier(move |mut request| {
        if let Some(value) = header.as_ref().and_then(|header| header.parse().ok()) {
            request.headers_mut().insert("x-registry-auth", value);
        }
        request
    })
}

/// `name` with a tag: without one, the engine would pull all tags.
fn with_tag(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains([':', '@']) { name.to_owned() } else { format!("{name}:latest") }
}

#[cfg(test)]
mod tests {
    use super::with_tag;

    #[test]
    fn the_default_tag_is_latest() {
        assert_eq!(with_tag("redis"), "redis:latest");
        assert_eq!(with_tag("redis:6"), "redis:6");
        assert_eq!(with_tag("localhost:5000/a"), "localhost:5000/a:latest");
        assert_eq!(with_tag("a@sha256:0"), "a@sha256:0");
    }
}
