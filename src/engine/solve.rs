//! Builds that may use named images and the context only: BuildKit decides about each source, whatever the Dockerfile says.
//!
//! The engine's own route for builds has no place for a source policy; BuildKit's, behind `/grpc`, has.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bollard::errors::Error as Bollard;
use bollard::models::{BuildInfo, BuildInfoAux, ImageId};
use bollard_buildkit_proto::moby::buildkit::v1::control_client::ControlClient;
use bollard_buildkit_proto::moby::buildkit::v1::sourcepolicy::{
    MatchType, Policy, PolicyAction, Rule, Selector,
};
use bollard_buildkit_proto::moby::buildkit::v1::{SolveRequest, StatusRequest};
use hyper::Uri;
use hyper::body::Incoming;
use hyper_util::rt::TokioExecutor;
use tokio::sync::mpsc;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;

use super::build::{Report, arguments};
use super::connect::Engine;
use super::error::Error;
use super::reference::registry_and_repository;
use super::request::BuildRequest;
use super::session::upgrade;

/// Where BuildKit gets the context: from the session, by a name that nobody can guess.
const SESSION: &str = "http://buildkit-session/";

/// The field of the response with the ID of the image.
const IMAGE_ID: &str = "containerimage.digest";

/// The first version of the engine's API whose BuildKit has source policies. Older ones ignore them.
const WITH_POLICIES: (u32, u32) = (1, 43);

/// Maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 16 << 20;

impl Engine {
    /// Whether it decides about the sources of builds: Docker since version 24, and not Podman.
    ///
    /// # Errors
    ///
    /// It does not answer.
    pub async fn has_source_policies(&self) -> Result<bool, Error> {
        if self.is_podman().await? {
            return Ok(false);
        }
        let version = self.version().await?.api_version.unwrap_or_default();
        let number = |part: Option<&str>| part?.parse::<u32>().ok();
        let mut parts = version.split('.');
        let version = number(parts.next()).zip(number(parts.next()));
        Ok(version.is_some_and(|version| version >= WITH_POLICIES))
    }

    /// Builds the image with `images` as its only sources besides the context, which the session `session` has; the last
    /// report, which is not sent.
    pub(super) async fn solve(
        &self,
        request: &BuildRequest,
        images: &[String],
        session: &str,
        reports: &mpsc::Sender<Report>,
    ) -> Result<Report, Bollard> {
        let text = |error: String| Bollard::DockerStreamError { error };
        let connection = upgrade(self, "/grpc", None).await.map_err(text)?;
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), connection).await;
        let (sender, connection) = handshake.map_err(|error| text(error.to_string()))?;
        tokio::spawn(connection);
        let mut control = ControlClient::with_origin(Channel(sender), Uri::from_static("http://docker"))
            .max_decoding_message_size(MAX_MESSAGE);
        let failed = |status: Status| text(status.message().to_owned());
        let solving = solve_request(request, images, session);
        let asked = StatusRequest { r#ref: solving.r#ref.clone() };
        let mut progress = control.clone();
        let watched = async {
            let mut answers = progress.status(asked).await?.into_inner();
            while let Some(answer) = answers.message().await? {
                if reports.send(of_engine(BuildInfoAux::BuildKit(answer))).await.is_err() {
                    break;
                }
            }
            Ok::<_, Status>(())
        };
        // The progress ends with the build; a build that does not begin has none.
        let (solved, _) = tokio::join!(control.solve(solving), watched);
        let id = solved.map_err(failed)?.into_inner().exporter_response.remove(IMAGE_ID);
        Ok(of_engine(BuildInfoAux::Default(ImageId { id })))
    }
}

fn of_engine(aux: BuildInfoAux) -> Report {
    Report::Engine(Box::new(BuildInfo { aux: Some(aux), ..BuildInfo::default() }))
}

/// The name of the context in its session.
fn context_url(session: &str) -> String {
    format!("{SESSION}{session}")
}

fn solve_request(request: &BuildRequest, images: &[String], session: &str) -> SolveRequest {
    let mut attributes: HashMap<String, String> = HashMap::from([
        ("context".to_owned(), context_url(session)),
        ("filename".to_owned(), request.dockerfile.clone()),
    ]);
    let pairs = |prefix: &'static str, pairs: Vec<(String, String)>| {
        pairs.into_iter().map(move |(name, value)| (format!("{prefix}{name}"), value))
    };
    attributes.extend(pairs("build-arg:", arguments(&request.settings).into_iter().collect()));
    attributes.extend(pairs("label:", request.settings.labels.clone().into_iter().collect()));
    attributes.extend(request.platform.clone().map(|platform| ("platform".to_owned(), platform)));
    attributes.extend(request.no_cache.then(|| ("no-cache".to_owned(), String::new())));
    attributes.extend(request.pull.then(|| ("image-resolve-mode".to_owned(), "pull".to_owned())));
    let tags: Vec<String> = request.tags.iter().map(|tag| normalized(tag)).collect();
    SolveRequest {
        r#ref: format!("{session}build"),
        exporter_deprecated: "moby".to_owned(),
        // An empty name is an invalid one.
        exporter_attrs_deprecated: tags.iter().take(1).map(|_| ("name".to_owned(), tags.join(","))).collect(),
        session: session.to_owned(),
        frontend: "dockerfile.v0".to_owned(),
        frontend_attrs: attributes,
        source_policy: Some(policy(images, session)),
        ..SolveRequest::default()
    }
}

/// Denies everything but images and the context; the last rule that fits a source decides.
fn policy(images: &[String], session: &str) -> Policy {
    let rule = |action: PolicyAction, identifier: String, kind: MatchType| Rule {
        action: action.into(),
        selector: Some(Selector { identifier, match_type: kind.into(), constraints: Vec::new() }),
        updates: None,
    };
    let mut rules = vec![
        rule(PolicyAction::Deny, "*".to_owned(), MatchType::Wildcard),
        rule(PolicyAction::Allow, context_url(session), MatchType::Exact),
    ];
    for image in images {
        let identifier = format!("docker-image://{}", normalized(image));
        // BuildKit adds the digest that it found.
        let found = format!("^{}@sha256:[0-9a-f]{{64}}$", escaped(&identifier));
        rules.push(rule(PolicyAction::Allow, identifier, MatchType::Exact));
        rules.push(rule(PolicyAction::Allow, found, MatchType::Regex));
    }
    Policy { version: 1, rules }
}

/// A text as a regular expression.
fn escaped(text: &str) -> String {
    let escape = |letter: char| [(!letter.is_ascii_alphanumeric()).then_some('\\'), Some(letter)];
    text.chars().flat_map(escape).flatten().collect()
}

/// The name of an image as BuildKit has it, with its registry and a tag or a digest.
fn normalized(image: &str) -> String {
    let (registry, repository) = registry_and_repository(image);
    let library = if registry == "docker.io" && !repository.contains('/') { "library/" } else { "" };
    let tag = if repository.contains([':', '@']) { "" } else { ":latest" };
    format!("{registry}/{library}{repository}{tag}")
}

/// Requests over one connection.
#[derive(Clone)]
struct Channel(hyper::client::conn::http2::SendRequest<Body>);

impl Service<hyper::Request<Body>> for Channel {
    type Response = hyper::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, task: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(task)
    }

    fn call(&mut self, request: hyper::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_names_of_buildkit() {
        for (image, expected) in [
            ("python", "docker.io/library/python:latest"),
            ("python:3.11@sha256:0", "docker.io/library/python:3.11@sha256:0"),
            ("docker.io/python@sha256:0", "docker.io/library/python@sha256:0"),
            ("a/b:1", "docker.io/a/b:1"),
            ("localhost:5000/a", "localhost:5000/a:latest"),
            ("ghcr.io/a/b/c:1", "ghcr.io/a/b/c:1"),
        ] {
            assert_eq!(normalized(image), expected, "{image}");
        }
        assert_eq!(escaped("docker-image://a.b/c_d:1"), "docker\\-image\\:\\/\\/a\\.b\\/c\\_d\\:1");
    }
}
