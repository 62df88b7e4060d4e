//! Sending an image to a registry.

use std::pin::pin;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use bollard::Docker;
use bollard::auth::DockerCredentials;
use bollard::models::CreateImageInfo;
use bollard::query_parameters::{CreateImageOptions, RemoveImageOptions, TagImageOptions};
use futures_util::StreamExt as _;
use tokio::time::timeout;

use super::answers;
use super::connect::{Engine, root_cause};
use super::credentials::registry;
use super::error::{Error, Refusal};
use crate::live::Stop;

/// How often a push is begun where the connection breaks, or the registry is not well.
const ATTEMPTS: u32 = 3;

/// How long to wait before the second attempt; before the third, twice as long.
const PAUSE: Duration = Duration::from_secs(1);

/// Time to remove the temporary tag.
const CLEANUP: Duration = Duration::from_secs(4);

/// What to push, and where to.
#[derive(Clone)]
pub struct PushRequest {
    /// The image that is here: its id or one of its names.
    pub image: String,
    /// Where it goes, without a tag: `registry.example:5000/team/agent`.
    pub repository: String,
    /// The name that it gets there.
    pub tag: String,
    /// What the registry wants to know; nothing where it lets everybody in.
    pub login: Option<Login>,
    /// How long the engine may be silent in the midst of an attempt: it reports every second while it sends.
    pub silence: Duration,
}

/// Who pushes. Neither printed nor debugged.
#[derive(Clone)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password or token.
    pub password: String,
}

/// Something that happened in a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushEvent {
    /// A layer has advanced.
    Layer {
        /// The layer, as the engine calls it.
        id: String,
        /// How far it is.
        state: Layer,
    },
    /// The push is begun anew.
    Again {
        /// Why.
        reason: String,
    },
}

/// How far a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// It is known, and waits.
    Waiting,
    /// It is on its way.
    Pushing {
        /// How much is sent, in bytes.
        current: u64,
        /// How much there is to send, in bytes; 0 where that is not known.
        total: u64,
    },
    /// The registry had it before.
    There,
    /// The registry has it now.
    Pushed,
}

/// An image in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Where it is, without a tag.
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
        mut events: impl FnMut(PushEvent),
        stop: &Stop,
    ) -> Result<Pushed, Error> {
        let name = stop.unless_asked(Name::find(self, request)).await??;
        let mut given = pin!(name.give(&request.image));
        let outcome = match stop.unless_asked(given.as_mut()).await {
            Ok(Err(error)) => return Err(error),
            Ok(Ok(())) => stop.unless_asked(self.attempts(request, &mut events)).await,
            Err(interrupted) => {
                // The engine may be about to give it.
                timeout(CLEANUP, given).await.ok();
                Err(interrupted)
            }
        };
        stop.unless_forced(timeout(CLEANUP, name.take_away())).await?.ok();
        outcome?
    }

    async fn attempts(
        &self,
        request: &PushRequest,
        events: &mut impl FnMut(PushEvent),
    ) -> Result<Pushed, Error> {
        let mut attempt = 1;
        loop {
            // An engine that could not ask how to log in is told the same as one that is not let in.
            let may_be_let_in =
                |error: &Error| attempt == 1 && request.login.is_some() && error.is_unauthorized();
            let error = match self.attempt(request, events).await {
                Err(error) if (error.is_passing() && attempt < ATTEMPTS) || may_be_let_in(&error) => error,
                outcome => return outcome,
            };
            events(PushEvent::Again { reason: error.to_string() });
            tokio::time::sleep(PAUSE * attempt).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        request: &PushRequest,
        events: &mut impl FnMut(PushEvent),
    ) -> Result<Pushed, Error> {
        let docker = pushing(self.docker.clone(), request);
        let mut answers = pin!(answers::whole(docker.create_image(None::<CreateImageOptions>, None, None)));
        let mut digest = None;
        let silent =
            |_| self.lost_push(request, format!("it was silent for {} s", request.silence.as_secs()));
        while let Some(answer) = timeout(request.silence, answers.next()).await.map_err(silent)? {
            let line = answer.map_err(|error| self.explain_push(request, &error))?;
            digest = line.status.as_deref().and_then(digest_in).or(digest);
            if let Some(event) = event(line) {
                events(event);
            }
        }
        let nameless = || self.lost_push(request, "it ended the answer without a digest".to_owned());
        Ok(Pushed { repository: request.repository.clone(), digest: digest.ok_or_else(nameless)? })
    }

    fn explain_push(&self, request: &PushRequest, error: &bollard::errors::Error) -> Error {
        use bollard::errors::Error as Bollard;
        match error {
            Bollard::DockerStreamError { error: reason }
            | Bollard::DockerResponseServerError { message: reason, .. } => Error::Push {
                image: format!("{}:{}", request.repository, request.tag),
                reason: reason.trim().to_owned(),
                refusal: Refusal::of(reason),
            },
            other => self.lost_push(request, root_cause(other)),
        }
    }

    fn lost_push(&self, request: &PushRequest, reason: String) -> Error {
        Error::LostPush { host: self.host.clone(), repository: request.repository.clone(), reason }
    }
}

/// A client whose request to create an image is one to push `request`: bollard's own drops which layer a line is about,
/// and encodes credentials in an alphabet that the engine does not read.
fn pushing(docker: Docker, request: &PushRequest) -> Docker {
    let target = format!("/images/{}/push?tag={}", request.repository, request.tag);
    let login = header(request.login.as_ref(), &request.repository);
    docker.with_request_modifier(move |mut request| {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = target.parse().ok();
        if let Ok(uri) = parts.try_into() {
            *request.uri_mut() = uri;
        }
        if let Ok(value) = login.parse() {
            request.headers_mut().insert("x-registry-auth", value);
        }
        request
    })
}

/// The value of the header that tells the engine who pushes; it wants one, also where there is nothing to tell.
fn header(login: Option<&Login>, repository: &str) -> String {
    let credentials = login.map_or_else(DockerCredentials::default, |login| DockerCredentials {
        username: Some(login.user.clone()),
        password: Some(login.password.clone()),
        serveraddress: Some(registry(repository)),
        ..DockerCredentials::default()
    });
    URL_SAFE.encode(serde_json::to_vec(&credentials).unwrap_or_default())
}

/// `sha256:…` of `TAG: digest: sha256:… size: 528`, which is how engines tell what they have pushed.
fn digest_in(status: &str) -> Option<String> {
    let rest = status.split_once(": digest: ")?.1;
    let digest = rest.split_whitespace().next()?;
    let hex = digest.strip_prefix("sha256:")?;
    (hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| digest.to_owned())
}

fn event(line: CreateImageInfo) -> Option<PushEvent> {
    let id = line.id.filter(|id| !id.is_empty())?;
    let detail = line.progress_detail.unwrap_or_default();
    let bytes = |number: Option<i64>| u64::try_from(number.unwrap_or_default()).unwrap_or_default();
    let state = match &*line.status? {
        "Pushing" => Layer::Pushing { current: bytes(detail.current), total: bytes(detail.total) },
        "Pushed" => Layer::Pushed,
        "Layer already exists" => Layer::There,
        status if status.starts_with("Mounted from") => Layer::There,
        "Preparing" | "Waiting" => Layer::Waiting,
        _ => return None,
    };
    Some(PushEvent::Layer { id, state })
}

/// The name that an image has while it is pushed, and what had it before.
struct Name<'a> {
    engine: &'a Engine,
    repository: &'a str,
    tag: &'a str,
    former: Option<String>,
}

impl<'a> Name<'a> {
    async fn find(engine: &'a Engine, request: &'a PushRequest) -> Result<Self, Error> {
        let (repository, tag) = (&*request.repository, &*request.tag);
        let name = format!("{repository}:{tag}");
        let former = engine.image(&name).await?;
        Ok(Self { engine, repository, tag, former })
    }

    async fn give(&self, image: &str) -> Result<(), Error> {
        match self.move_to(image).await {
            Err(Error::Request { status: 404, .. }) => Err(Error::NoImage { image: image.to_owned() }),
            given => given,
        }
    }

    async fn move_to(&self, image: &str) -> Result<(), Error> {
        let options =
            TagImageOptions { repo: Some(self.repository.to_owned()), tag: Some(self.tag.to_owned()) };
        let what = format!("tag the image `{image}`");
        self.engine.call(&what, self.engine.docker.tag_image(image, Some(options))).await
    }

    /// A name that stays behind harms nobody, so that nothing is said of it.
    async fn take_away(&self) {
        let undone = match &self.former {
            Some(former) => self.move_to(former).await,
            None => {
                let options = RemoveImageOptions { noprune: true, ..RemoveImageOptions::default() };
                let name = format!("{}:{}", self.repository, self.tag);
                let remove = self.engine.docker.remove_image(&name, Some(options), None);
                self.engine.call(&format!("remove the tag `{name}`"), remove).await.map(drop)
            }
        };
        undone.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_taken_from_the_engines_words_or_not_at_all() {
        let hex = "0123456789abcdef".repeat(4);
        let said = |status: &str| digest_in(status);
        assert_eq!(said(&format!("1.0: digest: sha256:{hex} size: 528")), Some(format!("sha256:{hex}")));
        assert_eq!(said(&format!("1.0: digest: sha256:{} size: 528", &hex[1..])), None);
        assert_eq!(said("1.0: digest: sha512:ab size: 1"), None);
        assert_eq!(said("Pushed"), None);
    }

    #[test]
    fn credentials_are_in_the_alphabet_that_engines_read() {
        let login = Login { user: "a?b~>".to_owned(), password: "ÿ?>~÷".to_owned() };
        let value = header(Some(&login), "localhost:5000/x");
        assert!(!value.contains(['+', '/']));
        let json: serde_json::Value = serde_json::from_slice(&URL_SAFE.decode(value).unwrap()).unwrap();
        assert_eq!((&json["username"], &json["password"]), (&"a?b~>".into(), &"ÿ?>~÷".into()));
        assert_eq!(json["serveraddress"], "localhost:5000");
    }
}
