//! One repository of a registry.

mod tags;
mod upload;

use std::cell::{Cell, RefCell};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::auth::Challenge;
use super::error::Error;
use crate::api::RetryPolicy;
use crate::api::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use crate::api::http::{self, Client, RequestBuilder, Response, Url, body_up_to};
use crate::engine::RegistrySecret;

/// The host of Docker Hub's registry.
const HUB: &str = "registry-1.docker.io";

/// Types of manifests.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
                         application/vnd.docker.distribution.manifest.v2+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json";

/// Maximum size of a manifest or a configuration, in bytes.
const MAX_JSON: usize = 8 << 20;

/// Maximum length of a message of a registry, in characters.
const MAX_REASON: usize = 300;

/// Longest pause that a registry may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A repository of a registry, and its user.
pub(super) struct Repository {
    http: Client,
    /// The address of the API for the repository, with `/` at its end.
    base: Url,
    /// The registry, as in image names.
    pub(super) host: String,
    /// The repository's name in the registry.
    pub(super) name: String,
    secret: Option<RegistrySecret>,
    /// The scopes of tokens.
    scopes: RefCell<Vec<String>>,
    authorization: RefCell<Option<HeaderValue>>,
    policy: RetryPolicy,
    on_retry: Box<dyn Fn(String)>,
    sent: Cell<u64>,
}

/// A manifest.
pub(super) struct Manifest {
    pub(super) media_type: String,
    pub(super) digest: String,
    /// In bytes.
    pub(super) size: usize,
    pub(super) json: serde_json::Value,
}

impl Repository {
    /// The repository `name` of `host`, `docker.io` for Docker Hub. `pushes` is whether to ask for permission to push.
    ///
    /// # Errors
    ///
    /// There is no secure connection to the registry.
    pub(super) async fn open(
        host: &str,
        name: &str,
        secret: Option<RegistrySecret>,
        pushes: bool,
        policy: RetryPolicy,
        on_retry: impl Fn(String) + 'static,
    ) -> Result<Self, Error> {
        let tls = |reason: String| Error::Tls { host: host.to_owned(), reason };
        let is_hub = host == "docker.io";
        let address = if is_hub { HUB } else { host };
        let name = if is_hub && !name.contains('/') { format!("library/{name}") } else { name.to_owned() };
        let scope = format!("repository:{name}:{}", if pushes { "pull,push" } else { "pull" });
        let invalid = |_| tls("it has no valid address".to_owned());
        let mut base = Url::parse(&format!("https://{address}/v2/{name}/")).map_err(invalid)?;
        let builder = http::builder_for(&base).connect_timeout(policy.attempt);
        let http = http::build(builder).map_err(tls)?;
        if http::is_loopback(&base) {
            // As with engines, a registry on this machine may do without TLS. One that has it answers with status 400.
            let plain = Url::parse(&format!("http://{address}/v2/{name}/")).map_err(invalid)?;
            let api = plain.join("/v2/").map_err(invalid)?;
            let answered = http.get(api).timeout(policy.attempt).send().await;
            if answered.is_ok_and(|response| response.status().as_u16() != 400) {
                base = plain;
            }
        }
        Ok(Self {
            http,
            base,
            host: host.to_owned(),
            name,
            secret,
            scopes: RefCell::new(vec![scope]),
            authorization: RefCell::default(),
            policy,
            on_retry: Box::new(on_retry),
            sent: Cell::new(0),
        })
    }

    /// Bytes of layers, configurations and manifests sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent.get()
    }

    /// A manifest by its tag or digest; `None` if there is none.
    pub(super) async fn manifest(&self, reference: &str) -> Result<Option<Manifest>, Error> {
        let what = format!("read the image `{}`", self.image(reference));
        let url = self.url(&what, &format!("manifests/{reference}"))?;
        let get = || self.http.get(url.clone()).header(ACCEPT, MANIFESTS).timeout(self.policy.attempt);
        let response = self.send(&what, get).await?;
        if response.status().as_u16() == 404 {
            return Ok(None);
        }
        let response = self.successful(&what, response).await?;
        let headers = response.headers().clone();
        let body = self.body(&what, response).await?;
        let digest = digest_of(&body);
        self.check(&what, if reference.starts_with("sha256:") { reference } else { &digest }, &digest)?;
        self.check_header(&what, &headers, &digest)?;
        let json: serde_json::Value =
            serde_json::from_slice(&body).map_err(|_| self.invalid(&what, "the manifest is not JSON"))?;
        let media_type = json["mediaType"].as_str().map(str::to_owned);
        let media_type = media_type.or_else(|| header(&headers, CONTENT_TYPE.as_str()));
        let (media_type, size) = (media_type.unwrap_or_default(), body.len());
        Ok(Some(Manifest { media_type, digest, size, json }))
    }

    /// A configuration of an image.
    pub(super) async fn configuration(&self, digest: &str) -> Result<serde_json::Value, Error> {
        let what = format!("read the image `{}`", self.image(digest));
        let url = self.url(&what, &format!("blobs/{digest}"))?;
        let response = self.send(&what, || self.http.get(url.clone()).timeout(self.policy.attempt)).await?;
        let response = self.successful(&what, response).await?;
        let body = self.body(&what, response).await?;
        self.check(&what, digest, &digest_of(&body))?;
        serde_json::from_slice(&body).map_err(|_| self.invalid(&what, "the configuration is not JSON"))
    }

    /// The first bytes of a layer, at least `length` of them unless it is shorter.
    pub(super) async fn beginning(&self, digest: &str, length: usize) -> Result<Vec<u8>, Error> {
        let what = format!("read the image `{}`", self.image(digest));
        let url = self.url(&what, &format!("blobs/{digest}"))?;
        let response = self.send(&what, || self.http.get(url.clone()).timeout(self.policy.upload)).await?;
        let mut response = self.successful(&what, response).await?;
        let mut bytes = Vec::new();
        while bytes.len() < length {
            match response.chunk().await.map_err(|error| self.unavailable(&what, http::reason(&error)))? {
                Some(chunk) => bytes.extend_from_slice(&chunk),
                None => break,
            }
        }
        Ok(bytes)
    }

    /// Makes the registry take a blob of the repository `other` without sending it; returns whether it does.
    pub(super) async fn mount(&self, what: &str, digest: &str, other: &str) -> Result<bool, Error> {
        let scope = format!("repository:{other}:pull");
        if !self.scopes.borrow().contains(&scope) {
            self.scopes.borrow_mut().push(scope);
            // The token so far does not allow it, which some registries answer by starting an upload.
            self.authorization.borrow_mut().take();
        }
        let mut url = self.url(what, "blobs/uploads/")?;
        url.query_pairs_mut().append_pair("mount", digest).append_pair("from", other);
        let post = || self.http.post(url.clone()).header("content-length", 0).timeout(self.policy.attempt);
        Ok(self.send(what, post).await?.status().as_u16() == 201)
    }

    /// Sends a manifest under a tag; everything that it names has to be there.
    pub(super) async fn push_manifest(
        &self,
        what: &str,
        tag: &str,
        media_type: &str,
        manifest: &Bytes,
    ) -> Result<String, Error> {
        let digest = digest_of(manifest);
        let url = self.url(what, &format!("manifests/{tag}"))?;
        let put = || {
            let request = self.http.put(url.clone()).header(CONTENT_TYPE, media_type);
            request.timeout(self.policy.attempt).body(manifest.clone())
        };
        let response = self.send(what, put).await?;
        let response = self.successful(what, response).await?;
        self.check_header(what, response.headers(), &digest)?;
        self.sent.set(self.sent.get() + manifest.len() as u64);
        Ok(digest)
    }

    /// Sends a request, with credentials once the registry asks for them, again while that may help. The response may have
    /// any status but those that are temporary or about credentials.
    async fn send(&self, what: &str, request: impl Fn() -> RequestBuilder) -> Result<Response, Error> {
        let mut attempt = 1;
        let mut has_asked = false;
        loop {
            let mut builder = request();
            if let Some(value) = &*self.authorization.borrow() {
                builder = builder.header("authorization", value);
            }
            let (error, asked) = match builder.send().await {
                Err(error) => (self.lost(what, &error), None),
                Ok(response) if response.status().as_u16() == 401 && !has_asked => {
                    has_asked = true;
                    self.authorize(what, &response).await?;
                    continue;
                }
                Ok(response) => match response.status().as_u16() {
                    401 | 403 | 408 | 429 | 500.. => {
                        let asked = http::retry_after(response.headers());
                        (self.failed(what, response).await, asked)
                    }
                    _ => return Ok(response),
                },
            };
            self.wait(error, asked, attempt).await?;
            attempt += 1;
        }
    }

    /// Waits before the attempt after the failed `attempt`, at least as long as the registry asked for.
    ///
    /// # Errors
    ///
    /// The error, if another attempt does not help or has to wait too long.
    async fn wait(&self, error: Error, asked: Option<Duration>, attempt: u32) -> Result<(), Error> {
        let may_pass = matches!(error, Error::Unavailable { .. }) && attempt < self.policy.attempts;
        if !may_pass || asked.is_some_and(|pause| pause > LONGEST_PAUSE) {
            return Err(error);
        }
        let pause = asked.unwrap_or_default().max(self.policy.pause_after(attempt));
        (self.on_retry)(format!("{error}; trying again in {:.0} s", pause.as_secs_f64().ceil()));
        tokio::time::sleep(pause).await;
        Ok(())
    }

    async fn authorize(&self, what: &str, response: &Response) -> Result<(), Error> {
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let challenge = challenges.filter_map(|value| value.to_str().ok()).find_map(Challenge::parse);
        let denied =
            |reason: String| Error::Unauthorized { what: what.to_owned(), host: self.host.clone(), reason };
        let challenge =
            challenge.ok_or_else(|| denied("it asks for no known kind of credentials".to_owned()))?;
        let scopes = self.scopes.borrow().clone();
        let answer = challenge.answer(&self.http, self.secret.as_ref(), &scopes);
        let answer = tokio::time::timeout(self.policy.attempt, answer).await;
        let answer =
            answer.map_err(|_| self.unavailable(what, "its token service did not answer".to_owned()))?;
        *self.authorization.borrow_mut() = Some(answer.map_err(denied)?);
        Ok(())
    }

    async fn successful(&self, what: &str, response: Response) -> Result<Response, Error> {
        if response.status().is_success() { Ok(response) } else { Err(self.failed(what, response).await) }
    }

    async fn failed(&self, what: &str, response: Response) -> Error {
        let status = response.status();
        let asked = http::retry_after(response.headers());
        let body = body_up_to(MAX_JSON, response).await.ok().flatten().unwrap_or_default();
        let reason =
            message(&body).or_else(|| status.canonical_reason().map(str::to_owned)).unwrap_or_default();
        let (what, host) = (what.to_owned(), self.host.clone());
        match status.as_u16() {
            401 | 403 => Error::Unauthorized { what, host, reason },
            408 | 429 | 500.. => {
                let pause =
                    asked.map_or_else(String::new, |pause| format!(", retry after {} s", pause.as_secs()));
                Error::Unavailable {
                    what,
                    host,
                    reason: format!("status {}: {reason}{pause}", status.as_u16()),
                }
            }
            status => Error::Refused { what, host, status, reason },
        }
    }

    async fn body(&self, what: &str, response: Response) -> Result<Vec<u8>, Error> {
        let body = body_up_to(MAX_JSON, response).await;
        let body = body.map_err(|error| self.unavailable(what, http::reason(&error)))?;
        body.ok_or_else(|| self.invalid(what, "it is too large"))
    }

    fn lost(&self, what: &str, error: &http::Error) -> Error {
        match http::certificate_error(error) {
            Some(reason) => Error::Tls { host: self.host.clone(), reason },
            None => self.unavailable(what, http::reason(error)),
        }
    }

    fn unavailable(&self, what: &str, reason: String) -> Error {
        Error::Unavailable { what: what.to_owned(), host: self.host.clone(), reason }
    }

    pub(super) fn invalid(&self, what: &str, reason: &str) -> Error {
        Error::Invalid { what: what.to_owned(), host: self.host.clone(), reason: reason.to_owned() }
    }

    pub(super) fn check(&self, what: &str, expected: &str, found: &str) -> Result<(), Error> {
        if expected == found {
            return Ok(());
        }
        Err(self.invalid(what, &format!("the digest is {found} instead of {expected}")))
    }

    fn check_header(&self, what: &str, headers: &HeaderMap, digest: &str) -> Result<(), Error> {
        match header(headers, "docker-content-digest") {
            Some(found) if found.starts_with("sha256:") => self.check(what, digest, &found),
            _ => Ok(()),
        }
    }

    /// The name of an image of the repository.
    pub(super) fn image(&self, reference: &str) -> String {
        let separator = if reference.contains(':') { '@' } else { ':' };
        format!("{}/{}{separator}{reference}", self.host, self.name)
    }

    fn url(&self, what: &str, path: &str) -> Result<Url, Error> {
        self.base.join(&format!("./{path}")).map_err(|_| self.invalid(what, "the name has no address"))
    }
}

/// `sha256:` and the digest in hexadecimal.
pub(super) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// The message of a registry's error, on one line.
fn message(body: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    let error = &json["errors"][0];
    let text = error["message"].as_str().filter(|text| !text.is_empty()).or(error["code"].as_str())?;
    Some(text.chars().filter(|c| !c.is_control()).take(MAX_REASON).collect())
}
