//! How a registry wants its users to identify themselves: the challenge of a response, and tokens.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::api::http::header::HeaderValue;
use crate::api::http::{Client, Method, Url, body_up_to, is_loopback};
use crate::engine::RegistrySecret;

/// Maximum size of the response of a token service, in bytes.
const MAX_TOKEN: usize = 1 << 20;

/// The authentication that a response with status 401 requires.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// A user and a password.
    Basic,
    /// A token of this service.
    Bearer { realm: String, service: Option<String> },
}

/// The answer of a token service. Both names are in use.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    /// Reads a `WWW-Authenticate` header.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        let parameter = |name: &str| {
            parameters(rest).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let realm = parameter("realm").filter(|_| scheme.eq_ignore_ascii_case("bearer"))?;
        Some(Self::Bearer { realm, service: parameter("service") })
    }

    /// The value of the header that satisfies the challenge, for `scopes` such as `repository:team/agent:pull,push`; the
    /// error is a fragment.
    pub(super) async fn answer(
        &self,
        http: &Client,
        secret: Option<&RegistrySecret>,
        scopes: &[String],
    ) -> Result<HeaderValue, String> {
        match (self, secret) {
            (Self::Basic, Some(RegistrySecret::Login(login))) => {
                sensitive(&basic(&login.user, &login.password))
            }
            (Self::Basic, Some(RegistrySecret::IdentityToken(token))) => sensitive(&basic("<token>", token)),
            (Self::Basic, None) => Err("no credentials are stored for it".to_owned()),
            (Self::Bearer { realm, service }, secret) => {
                let url = realm_of(realm)?;
                let token = ask(http, url, service.as_deref(), scopes, secret).await?;
                sensitive(&format!("Bearer {token}"))
            }
        }
    }
}

/// The token service: credentials go to secure addresses and to this machine only.
fn realm_of(realm: &str) -> Result<Url, String> {
    let url = Url::parse(realm).map_err(|_| "its token service has no valid address".to_owned())?;
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err("its token service has no secure address".to_owned()),
    }
}

async fn ask(
    http: &Client,
    mut url: Url,
    service: Option<&str>,
    scopes: &[String],
    secret: Option<&RegistrySecret>,
) -> Result<String, String> {
    let service = service.map(|service| ("service", service));
    let request = match secret {
        Some(RegistrySecret::IdentityToken(token)) => {
            let scope = scopes.join(" ");
            let fields = [
                ("grant_type", "refresh_token"),
                ("refresh_token", token),
                ("scope", &scope),
                ("client_id", "agentcli"),
            ];
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            let body = form.extend_pairs(fields).extend_pairs(service).finish();
            http.post(url).header("content-type", "application/x-www-form-urlencoded").body(body)
        }
        login => {
            let scopes = scopes.iter().map(|scope| ("scope", scope.as_str()));
            url.query_pairs_mut().extend_pairs(service.into_iter().chain(scopes));
            let request = http.request(Method::GET, url);
            match login {
                Some(RegistrySecret::Login(login)) => {
                    request.header("authorization", sensitive(&basic(&login.user, &login.password))?)
                }
                _ => request,
            }
        }
    };
    let response = request.send().await.map_err(|error| crate::api::http::reason(&error))?;
    let status = response.status();
    if !status.is_success() {
        return Err(format!("its token service refused with status {}", status.as_u16()));
    }
    let body = body_up_to(MAX_TOKEN, response).await.ok().flatten().unwrap_or_default();
    let token = serde_json::from_slice::<Token>(&body).ok();
    token
        .and_then(|it| it.token.or(it.access_token))
        .ok_or_else(|| "its token service gave no token".to_owned())
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// A header that is not logged.
fn sensitive(value: &str) -> Result<HeaderValue, String> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| "the credentials are not valid in a header".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// `name="value"` or `name=value`, separated by commas.
fn parameters(mut rest: &str) -> impl Iterator<Item = (String, String)> {
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_matches([' ', ',']).to_owned();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        rest = after;
        Some((name, value.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_of_registries() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (header, challenge) in [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a/t\",service=\"s,1\",scope=\"repository:x:pull,push\"",
                bearer("https://a/t", Some("s,1")),
            ),
            ("bearer service=s, realm=https://a", bearer("https://a", Some("s"))),
            ("Bearer service=\"s\"", None),
            ("Digest realm=\"x\"", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header), challenge, "{header}");
        }
    }

    #[test]
    fn credentials_go_to_secure_addresses() {
        for (realm, is_safe) in [
            ("https://a.example/token", true),
            ("http://127.0.0.1:1/token", true),
            ("http://a.example/token", false),
            ("ftp://a", false),
            ("token", false),
        ] {
            assert_eq!(realm_of(realm).is_ok(), is_safe, "{realm}");
        }
    }
}
