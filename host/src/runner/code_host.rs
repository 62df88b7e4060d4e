//! Code hosts: URLs of repositories, and the repositories that the operator lists.

use agentcli::api::wire::{Redacted, Repository, SourceConfig};
use url::Url;

use crate::store::DEFAULT_TENANT;

/// Fails unless a repository is fetched over HTTPS, HTTP or SSH, with the credentials of the host: those of a URL would be in
/// logs, answers and arguments. The reason says what the URL must be.
pub(crate) fn check_url(text: &str) -> Result<(), &'static str> {
    if is_short(text) {
        return Ok(());
    }
    let wrong = "be the https, http or ssh URL of a repository";
    let url = Url::parse(text).ok().filter(|_| text.contains("://")).ok_or(wrong)?;
    let host = url.host_str().unwrap_or_default();
    let is_plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    let may_start = |part: &str| !part.starts_with('-');
    if !matches!(url.scheme(), "https" | "http" | "ssh")
        || host.is_empty()
        || !may_start(host)
        || !may_start(url.username())
        || !is_plain
    {
        return Err(wrong);
    }
    if url.password().is_some() || (url.scheme() != "ssh" && !url.username().is_empty()) {
        return Err("have no credentials; the git of the service has those of listed repositories");
    }
    Ok(())
}

/// Whether it has the short form of SSH, `USER@HOST:PATH`.
fn is_short(text: &str) -> bool {
    let is_word = |part: &str| {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('-') && part.chars().all(is_inner)
    };
    let parts = text.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        let is_path = !path.is_empty() && !path.starts_with(['-', '/', ':']);
        is_word(user) && is_word(host) && is_path && path.chars().all(|c| c.is_ascii_graphic())
    })
}

/// Whether two URLs are those of one repository: hosts are case-insensitive, and `.git` at the end is optional.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    plain(left) == plain(right)
}

fn plain(text: &str) -> String {
    let text = Url::parse(text).map_or_else(|_| text.to_owned(), |url| url.to_string());
    let text = text.trim_end_matches('/');
    text.strip_suffix(".git").unwrap_or(text).to_owned()
}

/// Field of a record with the name of the tenant that it is for. It is not returned.
const TENANT: &str = "tenant";

/// Minimum length of a secret.
const SHORTEST_SECRET: usize = 16;

/// Field of a repository record with the secret. It is never returned.
const SECRET: &str = "webhook_secret";

/// The repositories that the operator lists, each for one tenant.
#[derive(Clone, Default)]
pub struct Repositories(Vec<(String, Repository)>);

impl Repositories {
    /// The repositories of records: a record without a `tenant` is for the default one. The error is a fragment.
    pub fn new(records: Vec<Repository>) -> Result<Self, String> {
        let owned = |mut record: Repository| {
            let wrong = || format!("{TENANT} of {} is not the name of a tenant", record.name);
            let tenant = match record.other.get(TENANT) {
                None => DEFAULT_TENANT.to_owned(),
                Some(value) => value.as_str().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned(),
            };
            record.other.remove(TENANT);
            Ok((tenant, record))
        };
        records.into_iter().map(owned).collect::<Result<_, _>>().map(Self)
    }

    /// All records with the names of their tenants.
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut (String, Repository)> {
        self.0.iter_mut()
    }

    /// Whether the operator lists none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The repositories of an integration for a tenant of this name.
    pub(crate) fn of_integration<'a>(
        &'a self,
        tenant: &'a str,
        integration: &'a str,
    ) -> impl Iterator<Item = &'a Repository> {
        let own = self.0.iter().filter(move |(owner, _)| owner == tenant).map(|(_, record)| record);
        own.filter(move |record| record.host_integration_id == integration)
    }

    /// Whether the repository of a deployment is listed for a tenant of this name.
    pub(crate) fn has(&self, tenant: &str, config: &SourceConfig) -> bool {
        let Some((integration, url)) = config.integration_id.as_ref().zip(config.repo_url.as_ref()) else {
            return false;
        };
        self.of_integration(tenant, integration).any(|record| is_same(&record.url, url))
    }
}

/// A repository that sends webhooks.
pub struct Webhook {
    /// Name of the tenant whose deployments it concerns.
    pub(crate) tenant: String,
    pub(crate) integration_id: String,
    pub(crate) url: String,
    pub(crate) secret: Redacted,
}

impl Webhook {
    /// Moves the secrets out of repositories. The error is a fragment.
    pub fn take(repositories: &mut Repositories) -> Result<Vec<Self>, String> {
        let mut webhooks = Vec::new();
        for (tenant, repository) in repositories.iter_mut() {
            let Some(value) = repository.other.remove(SECRET) else { continue };
            let secret = value.as_str().filter(|secret| secret.len() >= SHORTEST_SECRET);
            let wrong = || {
                format!("{SECRET} of {} is not a text of at least {SHORTEST_SECRET} bytes", repository.name)
            };
            let secret = Redacted::new(secret.ok_or_else(wrong)?);
            let Repository { host_integration_id, url, .. } = repository;
            let (tenant, integration_id) = (tenant.clone(), host_integration_id.clone());
            webhooks.push(Self { tenant, integration_id, url: url.clone(), secret });
        }
        Ok(webhooks)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_urls_of_other_machines_are_fetched() {
        for url in [
            "https://codehost.example/acme/agent",
            "http://localhost:8080/a.git",
            "ssh://git@codehost.example:22/acme/agent.git",
            "git@codehost.example:acme/agent.git",
        ] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "ext::sh -c id",
            "ext://x/sh",
            "file:///etc",
            "file:/etc",
            "/srv/agent.git",
            "agent.git",
            "--upload-pack=id",
            "-oProxyCommand=id@host:x",
            "git@-oProxyCommand=id:x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-oProxyCommand=id@host/x",
            "git://codehost.example/x",
            "https://codehost.example/a b",
            "https:codehost.example/a",
            "https://me:token@codehost.example/a",
            "https://token@codehost.example/a",
            "ssh://git:password@codehost.example/a",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn urls_of_one_repository_are_the_same() {
        let url = "https://codehost.example/acme/agent";
        for same in ["https://Codehost.example/acme/agent.git", "https://codehost.example:443/acme/agent/"] {
            assert!(is_same(url, same), "{same}");
        }
        for other in ["https://codehost.example/acme/other", "http://codehost.example/acme/agent"] {
            assert!(!is_same(url, other), "{other}");
        }
    }

    #[test]
    fn record_is_for_one_tenant_and_one_repository() {
        let record = |tenant: serde_json::Value, name: &str| {
            let mut record = json!({
                "host_integration_id": "i", "id": 1, "name": name, "owner": "o", "default_branch": "main",
                "url": format!("https://codehost.example/o/{name}"),
            });
            if !tenant.is_null() {
                record[TENANT] = tenant;
            }
            serde_json::from_value::<Repository>(record).unwrap()
        };
        let records = vec![record("a".into(), "one"), record(json!(null), "two")];
        let repositories = Repositories::new(records).unwrap();
        let config = |integration: &str, name: &str| SourceConfig {
            integration_id: Some(integration.to_owned()),
            repo_url: Some(format!("https://CODEHOST.example/o/{name}.git")),
            ..SourceConfig::default()
        };
        for (tenant, integration, name, expected) in [
            ("a", "i", "one", true),
            ("a", "i", "two", false),
            ("a", "j", "one", false),
            ("b", "i", "one", false),
            (DEFAULT_TENANT, "i", "two", true),
            (DEFAULT_TENANT, "i", "one", false),
        ] {
            assert_eq!(
                repositories.has(tenant, &config(integration, name)),
                expected,
                "{tenant} {integration} {name}"
            );
        }
        assert!(!json!(repositories.0[0].1).as_object().unwrap().contains_key(TENANT));
        for wrong in [json!(1), json!("")] {
            assert!(Repositories::new(vec![record(wrong, "one")]).is_err());
        }
    }
}
