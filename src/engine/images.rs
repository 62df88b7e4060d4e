//! Images that are run as they are: whether they are here, and pulling them.

use std::collections::HashMap;
use std::pin::pin;

use bollard::Docker;
use bollard::models::ImageInspect;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptions};
use futures_util::StreamExt as _;

use super::answers;
use super::connect::Engine;
use super::credentials::{Config, registry};
use super::error::{Error, is_unauthorized};

/// How far the download of an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downloaded {
    /// Bytes that are here.
    pub current: u64,
    /// Bytes that are known of; more may come.
    pub total: u64,
}

impl Engine {
    /// The id of an image; nothing where it is not here.
    ///
    /// # Errors
    ///
    /// The engine refuses, or is gone.
    pub async fn image(&self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.inspect_image(name).await?.and_then(|image| image.id))
    }

    /// All that the engine knows of an image; nothing where it is not here.
    pub(super) async fn inspect_image(&self, name: &str) -> Result<Option<ImageInspect>, Error> {
        let what = format!("inspect the image `{name}`");
        match self.call(&what, self.docker.inspect_image(name)).await {
            Err(Error::Request { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Takes the newest image of this name from its registry, with the credentials of `docker login`. What does not
    /// work with the credentials is told to `warn`, and the image is pulled without.
    ///
    /// # Errors
    ///
    /// [`Error::Pull`] where it cannot be had.
    pub async fn pull(
        &self,
        name: &str,
        mut progress: impl FnMut(Downloaded),
        mut warn: impl FnMut(String),
    ) -> Result<(), Error> {
        let registry = registry(name);
        let mut credentials = None;
        match Config::read(&self.env) {
            Ok(config) => {
                let found = config.credentials([registry.clone()], &self.env, warn).await;
                credentials = found.header_of(&registry);
            }
            Err(error) => warn(format!("{error}; `{name}` is pulled without credentials")),
        }
        let options = CreateImageOptions { from_image: Some(with_tag(name)), ..Default::default() };
        let mut layers = HashMap::new();
        let docker = with_credentials(&self.docker, credentials);
        let mut answers = pin!(answers::whole(docker.create_image(Some(options), None, None)));
        while let Some(answer) = answers.next().await {
            let answer = answer.map_err(|error| self.pull_failed(name, error))?;
            let detail = answer.progress_detail.unwrap_or_default();
            if let (Some(layer), Some(current), Some(total)) = (answer.id, detail.current, detail.total) {
                let bytes = |number: i64| u64::try_from(number).unwrap_or_default();
                if answer.status.as_deref() == Some("Downloading") {
                    layers.insert(layer, (bytes(current), bytes(total)));
                    let sum = |pick: fn(&(u64, u64)) -> u64| layers.values().map(pick).sum();
                    progress(Downloaded { current: sum(|it| it.0), total: sum(|it| it.1) });
                }
            }
        }
        Ok(())
    }

    /// Removes an image that has no name, unless something uses it.
    ///
    /// # Errors
    ///
    /// The engine refuses, as it does for an image in use, or is gone.
    pub async fn remove_unnamed(&self, id: &str) -> Result<(), Error> {
        let Some(image) = self.inspect_image(id).await? else { return Ok(()) };
        if image.repo_tags.is_some_and(|it| !it.is_empty())
            || image.repo_digests.is_some_and(|it| !it.is_empty())
        {
            return Ok(());
        }
        // What it was made of may be somebody's cache.
        let options = RemoveImageOptions { noprune: true, ..RemoveImageOptions::default() };
        let remove = self.docker.remove_image(id, Some(options), None);
        self.call(&format!("remove the image `{id}`"), remove).await.map(drop)
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

/// A client whose requests say who asks.
fn with_credentials(docker: &Docker, header: Option<String>) -> Docker {
    docker.clone().with_request_modifier(move |mut request| {
        if let Some(value) = header.as_ref().and_then(|header| header.parse().ok()) {
            request.headers_mut().insert("x-registry-auth", value);
        }
        request
    })
}

/// Without a tag all of them would be pulled.
fn with_tag(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains([':', '@']) { name.to_owned() } else { format!("{name}:latest") }
}

#[cfg(test)]
mod tests {
    use super::with_tag;

    #[test]
    fn a_tag_is_added_where_there_is_none() {
        assert_eq!(with_tag("redis"), "redis:latest");
        assert_eq!(with_tag("redis:6"), "redis:6");
        assert_eq!(with_tag("localhost:5000/a"), "localhost:5000/a:latest");
        assert_eq!(with_tag("a@sha256:0"), "a@sha256:0");
    }
}
