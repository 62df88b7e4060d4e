//! The registry that images are pushed to, and whether it has an image.

use std::time::Duration;

use axum::http::{StatusCode, header};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use agentcli::api::http::{self, Client, Response, Url, body_up_to};
use agentcli::api::wire::Redacted;

/// Timeout for a response of the registry.
const ANSWER: Duration = Duration::from_secs(20);

/// Maximum size of a response, in bytes: more than any manifest, configuration or token.
const LARGEST: usize = 4 << 20;

/// Platform of the images.
const PLATFORM: (&str, &str) = ("linux", "amd64");

const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

/// Label with the version of an image.
const VERSION: &str = "org.opencontainers.image.version";

/// Credentials for pushes and pulls.
#[derive(Clone, Debug)]
pub struct Login {
    /// User name.
    pub username: String,
    /// Password.
    pub password: Redacted,
}

/// A registry, and the prefix of the images of deployments.
#[derive(Clone, Debug)]
pub struct Registry {
    host: String,
    prefix: String,
    login: Option<Login>,
    client: Client,
}

/// An image in the registry.
#[derive(Debug, Default)]
pub(super) struct Image {
    /// Digest of the manifest.
    pub(super) digest: String,
    /// Version: the label, or else the tag.
    pub(super) version: Option<String>,
}

impl Registry {
    /// The registry at `HOST[:PORT][/PREFIX]`, over HTTPS, or over HTTP on this machine.
    ///
    /// # Errors
    ///
    /// The address is invalid, with the reason as a lowercase fragment.
    pub fn new(address: &str, login: Option<Login>) -> Result<Self, String> {
        let (host, prefix) = address.split_once('/').unwrap_or((address, ""));
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
        let is_path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c);
        if host.is_empty() || !host.chars().all(is_host) || url(host, "v2/").is_err() {
            return Err(format!("`{address}` is not HOST[:PORT][/PREFIX]"));
        }
        if !prefix.chars().all(is_path) || prefix.starts_with('/') || prefix.contains("//") {
            return Err(format!("`{prefix}` cannot begin the name of an image"));
        }
        let client = http::builder().timeout(ANSWER).no_proxy().build();
        let client = client.map_err(|error| error.to_string())?;
        Ok(Self { host: host.to_owned(), prefix: prefix.trim_end_matches('/').to_owned(), login, client })
    }

    /// Credentials for pushes.
    pub(super) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// The registry with its prefix.
    pub(super) fn address(&self) -> String {
        [&*self.host, &*self.prefix].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// Name of the images of a deployment of this name.
    pub(super) fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.address())
    }

    /// Whether the image is in this registry.
    pub(super) fn holds(&self, image: &str) -> bool {
        image.strip_prefix(&self.address()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Fetches the manifest of the image, and checks its digest and platform.
    ///
    /// # Errors
    ///
    /// The image cannot be run, with the reason as a lowercase fragment.
    pub(super) async fn check(&self, image: &str) -> Result<Image, String> {
        let path = image.strip_prefix(&self.host).and_then(|path| path.strip_prefix('/')).unwrap_or(image);
        let (name, tag, digest) = parts(path);
        let reference = digest.or(tag).unwrap_or("latest");
        let (manifest, found) = self.manifest(image, name, reference).await?;
        if digest.is_some_and(|digest| digest != found) {
            return Err(format!("the registry has another manifest for {image}: {found}"));
        }
        let manifest = match manifest.get("manifests") {
            None => manifest,
            Some(several) => self.manifest(image, name, of_platform(image, several)?).await?.0,
        };
        let config = self.config(image, name, &manifest).await?;
        check_platform(image, &config)?;
        let label = config.pointer("/config/Labels").and_then(|labels| labels.get(VERSION)?.as_str());
        Ok(Image { digest: found, version: label.or(tag).map(str::to_owned) })
    }

    async fn manifest(&self, image: &str, name: &str, reference: &str) -> Result<(Value, String), String> {
        let path = format!("v2/{name}/manifests/{reference}");
        let bytes = self.get(image, &path).await?;
        let value = serde_json::from_slice(&bytes)
            .map_err(|_| format!("the registry's manifest of {image} is not JSON"))?;
        Ok((value, digest(&bytes)))
    }

    async fn config(&self, image: &str, name: &str, manifest: &Value) -> Result<Value, String> {
        let wanted = manifest.pointer("/config/digest").and_then(Value::as_str);
        let wanted = wanted.ok_or_else(|| format!("the manifest of {image} names no configuration"))?;
        check_digest(image, wanted)?;
        let bytes = self.get(image, &format!("v2/{name}/blobs/{wanted}")).await?;
        if digest(&bytes) != wanted {
            return Err(format!("the configuration of {image} is not what its digest says"));
        }
        serde_json::from_slice(&bytes).map_err(|_| format!("the configuration of {image} is not JSON"))
    }

    /// The body of the response.
    async fn get(&self, image: &str, path: &str) -> Result<Vec<u8>, String> {
        let address = url(&self.host, path)?;
        let lost = |error: http::Error| {
            let why = if error.is_timeout() { "it takes too long" } else { "it does not answer" };
            format!("cannot ask the registry {} for {image}: {why}", self.host)
        };
        let mut response = self.request(address.clone(), None).await.map_err(lost)?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(token) = self.token(&response).await
        {
            response = self.request(address, Some(token)).await.map_err(lost)?;
        }
        match response.status() {
            status if status.is_success() => {}
            StatusCode::NOT_FOUND => return Err(format!("the registry {} has no {image}", self.host)),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(format!("the registry {} does not let the service read {image}", self.host));
            }
            status => return Err(format!("the registry {} answers {status} for {image}", self.host)),
        }
        let body = body_up_to(LARGEST, response).await.map_err(lost)?;
        body.ok_or_else(|| format!("the registry's answer for {image} is too large"))
    }

    async fn request(&self, address: Url, token: Option<String>) -> http::Result<Response> {
        let request = self.client.get(address).header(header::ACCEPT, ACCEPT);
        let request = match (token, &self.login) {
            (Some(token), _) => request.bearer_auth(token),
            (None, Some(login)) => request.basic_auth(&login.username, Some(login.password.expose())),
            (None, None) => request,
        };
        request.send().await
    }

    /// Fetches a token from the address in the registry's `WWW-Authenticate: Bearer`.
    async fn token(&self, response: &Response) -> Option<String> {
        let challenge = response.headers().get(header::WWW_AUTHENTICATE)?.to_str().ok()?;
        let parameters = challenge.strip_prefix("Bearer ")?;
        let parameter = |name: &str| {
            let start = parameters.find(&format!("{name}=\""))? + name.len() + 2;
            parameters.get(start..)?.split('"').next()
        };
        let mut realm = Url::parse(parameter("realm")?).ok()?;
        // The password is sent only over a connection that nobody can read.
        if realm.scheme() != "https" && !realm.host_str().is_some_and(is_loopback) {
            return None;
        }
        for name in ["service", "scope"] {
            if let Some(value) = parameter(name) {
                realm.query_pairs_mut().append_pair(name, value);
            }
        }
        let answer = self.request(realm, None).await.ok()?;
        let answer = body_up_to(LARGEST, answer).await.ok()??;
        let answer: Value = serde_json::from_slice(&answer).ok()?;
        let token = answer.get("token").or_else(|| answer.get("access_token"))?;
        token.as_str().map(str::to_owned)
    }
}

/// HTTP on this machine, HTTPS elsewhere.
fn url(host: &str, path: &str) -> Result<Url, String> {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    let scheme = if is_loopback(name.map_or(host, |(name, _)| name)) { "http" } else { "https" };
    Url::parse(&format!("{scheme}://{host}/{path}")).map_err(|error| format!("{host}/{path}: {error}"))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Name, tag and digest of `NAME[:TAG][@DIGEST]`.
fn parts(path: &str) -> (&str, Option<&str>, Option<&str>) {
    let (path, digest) = path.split_once('@').map_or((path, None), |(path, digest)| (path, Some(digest)));
    match path.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((name, tag)) => (name, Some(tag), digest),
        None => (path, None, digest),
    }
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The digest of the manifest for the platform of the service.
fn of_platform<'a>(image: &str, several: &'a Value) -> Result<&'a str, String> {
    let (os, architecture) = PLATFORM;
    let is_ours = |entry: &&Value| {
        let part = |name| entry.get("platform").and_then(|platform| platform.get(name)?.as_str());
        part("os") == Some(os) && part("architecture") == Some(architecture)
    };
    let found = several.as_array().and_then(|entries| entries.iter().find(is_ours));
    let found = found.and_then(|entry| entry.get("digest")?.as_str());
    let found = found.ok_or_else(|| format!("{image} is not for {os}/{architecture}"))?;
    check_digest(image, found)?;
    Ok(found)
}

/// Rejects an invalid digest: it becomes part of a URL, and its text comes from the user who pushed it.
fn check_digest(image: &str, digest: &str) -> Result<(), String> {
    if is_digest(digest) {
        Ok(())
    } else {
        Err(format!("the manifest of {image} names something without a digest"))
    }
}

/// Whether `text` is `sha256:` and 64 hexadecimal digits.
pub(super) fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    hex.len() == 64 && hex.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
}

fn check_platform(image: &str, config: &Value) -> Result<(), String> {
    let (os, architecture) = PLATFORM;
    let part = |name| config.get(name).and_then(Value::as_str).unwrap_or_default();
    if (part("os"), part("architecture")) == PLATFORM {
        return Ok(());
    }
    Err(format!("{image} is for {}/{}, and not for {os}/{architecture}", part("os"), part("architecture")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_without_tls() {
        for (host, expected) in [
            ("localhost:5000", "http://localhost:5000/v2/"),
            ("127.0.0.1", "http://127.0.0.1/v2/"),
            ("[::1]:5000", "http://[::1]:5000/v2/"),
            ("registry.example", "https://registry.example/v2/"),
            ("localhost.example:5000", "https://localhost.example:5000/v2/"),
            ("10.0.0.1:5000", "https://10.0.0.1:5000/v2/"),
        ] {
            assert_eq!(url(host, "v2/").unwrap().as_str(), expected);
        }
    }

    #[test]
    fn parts_of_a_name() {
        let digest = "sha256:12";
        assert_eq!(parts("a/b"), ("a/b", None, None));
        assert_eq!(parts("a/b:1"), ("a/b", Some("1"), None));
        assert_eq!(parts("a/b@sha256:12"), ("a/b", None, Some(digest)));
        assert_eq!(parts("a/b:1@sha256:12"), ("a/b", Some("1"), Some(digest)));
    }
}
