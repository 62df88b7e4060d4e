//! Pushing images to a registry.

use std::pin::pin;
use std::time::Duration;

use bollard::Docker;
use bollard::query_parameters::{CreateImageOptions, TagImageOptions};
use futures_util::StreamExt as _;
use futures_util::future::{FusedFuture as _, FutureExt as _};
use hyper::header::HeaderValue;
use tokio::time::timeout;

use super::call::whole;
use super::connect::{Engine, root_cause};
use super::credentials::{Login, anonymous_header, login_header};
use super::error::{Error, Refusal};
use super::progress::cut;
use super::transfer::{Layers, Transfer};
use crate::compiler::manifests::image_name::{ImageName, is_sha256};
use crate::live::{Event, Stop};

/// Maximum number of attempts if the connection breaks or the registry is unavailable.
const ATTEMPTS: u32 = 3;

/// Pause before the second attempt; before the third, it is twice as long.
const PAUSE: Duration = Duration::from_secs(1);

/// Timeout to remove the temporary tag.
const CLEANUP: Duration = Duration::from_secs(4);

/// An image to push, and where to.
#[derive(Clone)]
pub struct PushRequest {
    /// ID or name of the local image.
    pub image: String,
    /// The repository, without a tag: `registry.example:5000/team/agent`.
    pub repository: String,
    /// The tag in the registry.
    pub tag: String,
    /// Credentials of the registry [default: those of `docker login`].
    pub login: Option<Login>,
    /// Timeout for the engine to report progress; it reports every second while it sends.
    pub silence: Duration,
}

impl PushRequest {
    /// The request to push `image` as `name`, with the credentials of `docker login`.
    ///
    /// # Errors
    ///
    /// Why the name cannot be pushed to, as a fragment.
    pub fn of_name(image: &str, name: &str, silence: Duration) -> Result<Self, &'static str> {
        let ImageName { name: repository, tag, digest } = ImageName::parse(name)?;
        if digest.is_some() {
            return Err("a registry computes the digest itself");
        }
        // Docker Hub keeps such names for itself.
        if !repository.contains('/') {
            return Err("it names no registry");
        }
        Ok(Self {
            image: image.to_owned(),
            repository: repository.to_owned(),
            tag: tag.unwrap_or("latest").to_owned(),
            login: None,
            silence,
        })
    }

    /// The name of the image in the registry.
    fn name(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

/// An image in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The repository, without a tag.
    pub repository: String,
    /// The digest of its manifest, `sha256:` and 64 hexadecimal digits.
    pub digest: String,
}

impl Engine {
    /// Pushes a local image and reports progress to `events`. The temporary tag that this needs is removed again, also
    /// when the push fails or is interrupted.
    ///
    /// # Errors
    ///
    /// There is no such image, the registry refuses it or cannot be reached, the engine disconnects, or the push is
    /// interrupted.
    pub async fn push(
        &self,
        request: &PushRequest,
        mut events: impl FnMut(Event),
        stop: &Stop,
    ) -> Result<Pushed, Error> {
        let login = stop.unless_asked(self.login(request, &mut events)).await?;
        let tag = stop.unless_asked(TemporaryTag::new(self, request)).await??;
        let mut set = pin!(tag.set(&request.image).fuse());
        let outcome = match stop.unless_asked(set.as_mut()).await {
            Ok(Err(error)) => return Err(error),
            Ok(Ok(())) => stop.unless_asked(self.attempts(request, login, &mut events)).await,
            Err(interrupted) => Err(interrupted),
        };
        if outcome.is_err() && tag.former.is_none() {
            let message =
                format!("removing the temporary tag `{}` from the container engine", request.name());
            events(Event::Note { message });
        }
        let clean_up = async {
            // The engine may be about to set the tag.
            if !set.is_terminated() {
                set.await.ok();
            }
            tag.restore().await;
        };
        stop.unless_forced(timeout(CLEANUP, clean_up)).await?.ok();
        outcome?
    }

    /// The credentials as the value of a header.
    async fn login(&self, request: &PushRequest, events: &mut impl FnMut(Event)) -> Option<String> {
        match &request.login {
            Some(login) => Some(login_header(login, &request.repository)),
            None => self.stored_login(&request.name(), events).await,
        }
    }

    async fn attempts(
        &self,
        request: &PushRequest,
        login: Option<String>,
        events: &mut impl FnMut(Event),
    ) -> Result<Pushed, Error> {
        let has_login = login.is_some();
        let login = login.unwrap_or_else(anonymous_header);
        let mut attempt = 1;
        loop {
            // If the registry breaks off while the engine asks how to log in, the engine reports a denial.
            let may_be_granted = |error: &Error| attempt == 1 && has_login && error.is_unauthorized();
            let error = match self.attempt(request, &login, events).await {
                Err(error) if (error.is_passing() && attempt < ATTEMPTS) || may_be_granted(&error) => error,
                outcome => return outcome,
            };
            events(Event::Warning { message: format!("{error}; retrying the push") });
            tokio::time::sleep(PAUSE * attempt).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        request: &PushRequest,
        login: &str,
        events: &mut impl FnMut(Event),
    ) -> Result<Pushed, Error> {
        let (docker, allowance) = self.streaming();
        let docker = pushing(docker, request, login);
        let answers = docker.create_image(None::<CreateImageOptions>, None, None);
        let mut answers = pin!(allowance.of_each(whole(answers)));
        let (mut digest, mut layers) = (None, Layers::default());
        let silent = |_| self.lost_push(request, format!("no progress for {} s", request.silence.as_secs()));
        while let Some(answer) = timeout(request.silence, answers.next()).await.map_err(silent)? {
            let line = answer.map_err(|error| self.explain_push(request, &error))?;
            digest = line.status.as_deref().and_then(digest_in).or(digest);
            if let Some(Transfer { current, total, layers }) = layers.update(line) {
                events(Event::Push { bytes: current, total, layers });
            }
        }
        let missing = || self.lost_push(request, "the engine reported no digest".to_owned());
        Ok(Pushed { repository: request.repository.clone(), digest: digest.ok_or_else(missing)? })
    }

    fn explain_push(&self, request: &PushRequest, error: &bollard::errors::Error) -> Error {
        use bollard::errors::Error as Bollard;
        match error {
            Bollard::DockerStreamError { error: reason }
            | Bollard::DockerResponseServerError { message: reason, .. } => Error::Push {
                image: request.name(),
                reason: cut(reason.trim()).to_owned(),
                refusal: Refusal::from_reason(reason),
            },
            other => self.lost_push(request, root_cause(other)),
        }
    }

    fn lost_push(&self, request: &PushRequest, reason: String) -> Error {
        Error::LostPush { host: self.endpoint.host.clone(), repository: request.repository.clone(), reason }
    }
}

/// A client that turns a request to create an image into a push. Bollard's own push drops the layer IDs, and encodes
/// credentials in an alphabet that engines do not accept.
fn pushing(docker: Docker, request: &PushRequest, login: &str) -> Docker {
    let login = login.parse::<HeaderValue>();
    let target = format!("/images/{}/push?tag={}", request.repository, request.tag);
    docker.with_request_modifier(move |mut request| {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = target.parse().ok();
        if let Ok(uri) = parts.try_into() {
            *request.uri_mut() = uri;
        }
        if let Ok(value) = &login {
            request.headers_mut().insert("x-registry-auth", value.clone());
        }
        request
    })
}

/// `sha256:…` in `TAG: digest: sha256:… size: 528`, the last status of a push.
fn digest_in(status: &str) -> Option<String> {
    let rest = status.split_once(": digest: ")?.1;
    rest.split_whitespace().next().filter(|digest| is_sha256(digest)).map(str::to_owned)
}

/// The tag of an image while it is pushed. Engines push tags only.
struct TemporaryTag<'a> {
    engine: &'a Engine,
    request: &'a PushRequest,
    /// The image that had the tag before.
    former: Option<String>,
}

impl<'a> TemporaryTag<'a> {
    async fn new(engine: &'a Engine, request: &'a PushRequest) -> Result<Self, Error> {
        let former = engine.image(&request.name()).await?;
        Ok(Self { engine, request, former })
    }

    async fn set(&self, image: &str) -> Result<(), Error> {
        let PushRequest { repository, tag, .. } = self.request;
        let options = TagImageOptions { repo: Some(repository.clone()), tag: Some(tag.clone()) };
        let what = format!("tag the image `{image}`");
        match self.engine.call(&what, self.engine.docker.tag_image(image, Some(options))).await {
            Err(Error::Request { status: 404, .. }) => Err(Error::NoImage { image: image.to_owned() }),
            set => set,
        }
    }

    /// Removes the tag, or gives it back. A tag that stays is harmless, so a failure is not reported.
    async fn restore(&self) {
        let restored = match &self.former {
            Some(former) => self.set(former).await,
            None => self.engine.remove_image(&self.request.name()).await,
        };
        restored.ok();
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE;

    use super::*;

    #[test]
    fn the_digest_is_read_from_the_status() {
        let hex = "0123456789abcdef".repeat(4);
        assert_eq!(digest_in(&format!("1.0: digest: sha256:{hex} size: 528")), Some(format!("sha256:{hex}")));
        assert_eq!(digest_in(&format!("1.0: digest: sha256:{} size: 528", &hex[1..])), None);
        assert_eq!(digest_in("1.0: digest: sha512:ab size: 1"), None);
        assert_eq!(digest_in("Pushed"), None);
    }

    #[test]
    fn names_without_a_registry_are_not_pushed_to() {
        let target = |name: &str| {
            PushRequest::of_name("sha256:0", name, Duration::ZERO).map(|it| (it.repository, it.tag))
        };
        for (name, repository, tag) in [
            ("r.example:5000/a/b:1", "r.example:5000/a/b", "1"),
            ("localhost:5000/a", "localhost:5000/a", "latest"),
            ("user/a", "user/a", "latest"),
        ] {
            assert_eq!(target(name), Ok((repository.to_owned(), tag.to_owned())));
        }
        for name in ["a", "a:1", &format!("r.example/a@sha256:{}", "0".repeat(64)), "r.example/A b"] {
            assert!(target(name).is_err(), "{name}");
        }
    }

    #[test]
    fn credentials_are_in_the_url_safe_alphabet() {
        let login = Login { user: "a?b~>".to_owned(), password: "ÿ?>~÷".to_owned() };
        let value = login_header(&login, "localhost:5000/x");
        assert!(!value.contains(['+', '/']));
        let json: serde_json::Value = serde_json::from_slice(&URL_SAFE.decode(value).unwrap()).unwrap();
        assert_eq!((&json["username"], &json["password"]), (&"a?b~>".into(), &"ÿ?>~÷".into()));
        assert_eq!(json["serveraddress"], "localhost:5000");
    }
}
