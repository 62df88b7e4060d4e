//! Single attempts of calls: a request and its response.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderValue};
use reqwest::{Method, Response, Url, redirect};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::{Failure, Secrets, is_json, media_type};
use super::http::{self, body_up_to, is_loopback};
use super::time::parse_http_date;
use super::vocabulary::{Vocabulary, is_public_service};
use super::wire::{Redacted, expected};
use super::{Call, Error};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 32 << 20;

/// Timeout to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// A service and the credentials of its caller.
#[derive(Clone, Debug)]
pub struct Account {
    /// Address of the service, such as `https://host`.
    pub host: String,
    /// The API key, which is sent to this address only.
    pub key: Redacted,
    /// UUID of the workspace, if the key has several.
    pub tenant: Option<String>,
    /// API dialect of the service.
    pub vocabulary: Vocabulary,
}

/// A request to the service.
pub(super) struct Request {
    pub(super) method: Method,
    /// In the dialect of the specification.
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
}

impl Request {
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), body: None }
    }

    /// With a JSON body.
    pub(super) fn body(mut self, body: &impl serde::Serialize) -> Result<Self, Error> {
        let unserializable =
            |error| Error::Invalid { message: format!("cannot write the request as JSON: {error}") };
        self.body = Some(serde_json::to_value(body).map_err(unserializable)?);
        Ok(self)
    }

    pub(super) fn call(&self) -> Call {
        Call { method: self.method.to_string(), path: self.path.clone() }
    }
}

/// The connection to the service.
pub(super) struct Transport {
    /// Also for requests to other addresses; it has no key.
    pub(super) http: reqwest::Client,
    base: Url,
    account: Account,
    key: HeaderValue,
    tenant: Option<HeaderValue>,
}

impl Transport {
    pub(super) fn new(account: Account) -> Result<Self, Error> {
        let base = address(&account.host)?;
        let key = header("key", account.key.expose())?;
        let tenant = account.tenant.as_deref().map(|tenant| header("workspace", tenant)).transpose()?;
        let builder = http::builder_for(&base).redirect(redirect::Policy::none()).connect_timeout(CONNECT);
        let http = http::build(builder).map_err(|reason| Error::Tls { host: origin(&base), reason })?;
        Ok(Self { http, base, account, key, tenant })
    }

    /// Makes one attempt; the response must be complete within `limit`.
    pub(super) async fn attempt<T: DeserializeOwned>(
        &self,
        request: &Request,
        limit: Duration,
    ) -> Result<T, Failure> {
        let call = request.call();
        let failed =
            |error: reqwest::Error| Failure::from_transport(&call, &origin(&self.base), &error, limit);
        let response = self.send(request, limit).await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = match body_up_to(MAX_RESPONSE, response).await {
            Ok(Some(body)) => body,
            Ok(None) => {
                return Err(Failure::malformed(&call, format!("it is larger than {MAX_RESPONSE} bytes")));
            }
            Err(error) => return Err(failed(error)),
        };
        if !status.is_success() {
            let secrets = Secrets::new(self.account.key.expose(), request.body.as_ref());
            return Err(Failure::from_status(&call, status, &headers, &body, &secrets));
        }
        self.parse(&headers, &body).map_err(|reason| Failure::malformed(&call, reason))
    }

    /// Contacts the service without the key; returns its time, if the response has one.
    pub(super) async fn time(&self, limit: Duration) -> Result<Option<i64>, Failure> {
        let call = Request::new(Method::HEAD, self.base.path()).call();
        let sent = self.http.head(self.base.clone()).timeout(limit).send().await;
        let response =
            sent.map_err(|error| Failure::from_transport(&call, &origin(&self.base), &error, limit))?;
        let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
        Ok(date.and_then(parse_http_date))
    }

    async fn send(&self, request: &Request, limit: Duration) -> reqwest::Result<Response> {
        let mut url = self.base.clone();
        let path = self.account.vocabulary.path(&request.path);
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let mut builder =
            self.http.request(request.method.clone(), url).timeout(limit).header(ACCEPT, "application/json");
        builder = builder.header("X-Api-Key", &self.key);
        if let Some(tenant) = &self.tenant {
            builder = builder.header("X-Tenant-Id", tenant);
        }
        if let Some(body) = &request.body {
            let mut body = body.clone();
            self.account.vocabulary.exchange(&mut body);
            builder = builder.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        builder.send().await
    }

    fn parse<T: DeserializeOwned>(&self, headers: &HeaderMap, body: &[u8]) -> Result<T, String> {
        let mut value = match body {
            [] => Value::Null,
            _ if !is_json(headers) => {
                return Err(match media_type(headers).as_str() {
                    "" => "it has no content type".to_owned(),
                    kind => format!("its content type is {kind}, not JSON"),
                });
            }
            body => serde_json::from_slice(body).map_err(|error| {
                if error.is_eof() {
                    "its JSON is truncated".to_owned()
                } else {
                    format!("its JSON is invalid at line {}, column {}", error.line(), error.column())
                }
            })?,
        };
        let is_empty = value.is_null();
        self.account.vocabulary.exchange(&mut value);
        serde_json::from_value(value).map_err(|error| {
            if is_empty { "it is empty".to_owned() } else { without_values(&error.to_string()) }
        })
    }
}

impl Account {
    /// `address` without a user, a password or a query, even if it is invalid.
    pub(crate) fn without_secrets(address: &str) -> String {
        let is_scheme = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let shown = match address.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) {
            // The host cannot be told from a password.
            Some((_, rest)) if rest.contains('@') && rest.contains(['?', '#']) => None,
            Some((scheme, rest)) => {
                let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
                rest.split(['?', '#']).next().map(|host| format!("{scheme}://{host}"))
            }
            None => is_host(address).then(|| address.to_owned()),
        };
        shown.unwrap_or_else(|| "…".to_owned())
    }

    /// Whether it is an account of the public service.
    pub(crate) fn is_of_public_service(&self) -> bool {
        is_public_service(&self.host)
    }

    /// Whether the key would be sent over a network unencrypted.
    pub(crate) fn is_unencrypted(&self) -> bool {
        address(&self.host).is_ok_and(|url| url.scheme() == "http" && !is_loopback(&url))
    }
}

/// Whether `text` may be a host, with or without a port.
fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    host.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
        && port.chars().all(|c| c.is_ascii_digit())
}

/// The address of a service; an error if it has a user, a password, a query or a fragment.
fn address(host: &str) -> Result<Url, Error> {
    let refused = |host: &str, reason: &str| Error::Host { host: host.to_owned(), reason: reason.to_owned() };
    let shown = Account::without_secrets(host);
    let url = Url::parse(host).map_err(|error| {
        if host.contains('@') {
            refused("…", "it cannot be read")
        } else {
            refused(&shown, &error.to_string())
        }
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(&origin(&url), "it contains a user or a password; pass the key with --api-key"));
    }
    match url.scheme() {
        "http" | "https" if url.query().is_none() && url.fragment().is_none() => Ok(url),
        "http" | "https" => Err(refused(&origin(&url), "it contains a query or a fragment")),
        _ => Err(refused(&shown, "it does not start with http:// or https://")),
    }
}

/// Scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The value of a header, which is not logged; `what` is its name for the user.
fn header(what: &str, value: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(value).map_err(|_| Error::Invalid {
        message: format!(
            "the {what} contains characters that are not valid in an HTTP header, such as a line break"
        ),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// An error of serde without the value, which may be secret.
fn without_values(message: &str) -> String {
    // The last one: the value before it may contain the same words.
    match message.rsplit_once(", expected ") {
        Some((_, kind)) if !message.starts_with("missing field") => {
            format!("expected {} where it has something else", expected(kind))
        }
        _ if message.starts_with("missing field") => message.to_owned(),
        _ => "it has an unexpected shape".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_no_user_password_query_or_fragment() {
        for fine in ["https://host", "http://127.0.0.1:1/api-host", "http://[::1]:1/"] {
            assert!(address(fine).is_ok(), "{fine}");
        }
        for (wrong, told) in [
            ("host", "relative URL without a base"),
            ("ftp://host", "http://"),
            ("https://host/?key=1", "query"),
            ("https://user:hidden@host", "password"),
            ("https://user:hidden@", "cannot be read"),
            ("host/?token=hidden", "relative URL without a base"),
            ("hidden token", "relative URL without a base"),
            ("host:80/?token=hidden", "http://"),
            ("https://?token=hidden", "empty host"),
        ] {
            let error = address(wrong).unwrap_err().to_string();
            assert!(error.contains(told) && !error.contains("hidden"), "{wrong}: {error}");
        }
    }

    #[test]
    fn addresses_are_shown_without_secrets() {
        for (address, shown) in [
            ("https://host:1/path", "https://host:1/path"),
            ("http://user:hidden@host", "http://host"),
            ("http://h/?token=hidden", "http://h/"),
            ("http://h#hidden", "http://h"),
            ("http://h/?token=hid@den", "…"),
            ("http://user:hid#den@h", "…"),
            ("h?token=http://hidden", "…"),
            ("user:hidden", "…"),
            ("host.example", "host.example"),
            ("localhost:8900", "localhost:8900"),
        ] {
            assert_eq!(Account::without_secrets(address), shown, "{address}");
        }
    }

    #[test]
    fn errors_of_serde_are_reported_without_values() {
        let told = |json: &str| {
            let value: Value = serde_json::from_str(json).unwrap();
            let error = serde_json::from_value::<crate::api::wire::Repository>(value).unwrap_err();
            without_values(&error.to_string())
        };
        let number = "expected a whole number of at least 0 where it has something else";
        assert_eq!(told(r#"{"id": "hidden"}"#), number);
        let said = r#"{"id": "what was expected hidden, expected hidden"}"#;
        assert_eq!(told(said), number);
        assert_eq!(told("[1]"), "expected an object where it has something else");
        assert!(told("{}").starts_with("missing field `host_integration_id`"));
    }
}
