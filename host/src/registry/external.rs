//! The registry that images are pushed to.

use agentcli::api::wire::Redacted;
use url::Url;

/// Credentials for pushes.
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
}

impl Registry {
    /// The registry at `HOST[:PORT][/PREFIX]`.
    ///
    /// # Errors
    ///
    /// The address is invalid, with the reason as a lowercase fragment.
    pub fn new(address: &str, login: Option<Login>) -> Result<Self, String> {
        let (host, prefix) = address.split_once('/').unwrap_or((address, ""));
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]_".contains(c);
        let is_path = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/".contains(c);
        if host.is_empty() || !host.chars().all(is_host) || Url::parse(&format!("https://{host}/")).is_err() {
            return Err(format!("`{address}` is not HOST[:PORT][/PREFIX]"));
        }
        if !prefix.chars().all(is_path) || prefix.starts_with('/') || prefix.contains("//") {
            return Err(format!("`{prefix}` cannot begin the name of an image"));
        }
        Ok(Self { host: host.to_owned(), prefix: prefix.trim_end_matches('/').to_owned(), login })
    }

    /// Credentials for pushes.
    pub(crate) fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// The registry with its prefix.
    pub(crate) fn address(&self) -> String {
        [&*self.host, &*self.prefix].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// Name of the images of a deployment of this name.
    pub(crate) fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.address())
    }

    /// Whether the image is in this registry.
    pub(crate) fn holds(&self, image: &str) -> bool {
        image.strip_prefix(&self.address()).is_some_and(|rest| rest.starts_with('/'))
    }
}
