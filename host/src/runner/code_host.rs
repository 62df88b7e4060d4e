//! Code hosts: URLs of repositories, and the repositories that the operator lists.

use agentcli::api::wire::{Redacted, Repository, SourceConfig};
use url::{Host, Url};

use crate::store::DEFAULT_TENANT;

/// The URL of a repository as git gets it: `text` as it was understood here, printed again, since git could understand `text` in
/// another way. It is one of HTTPS, HTTP or SSH, without credentials: those of a URL would be in logs, answers and arguments.
/// The reason says what the URL must be.
pub(crate) fn printed(text: &str) -> Result<String, &'static str> {
    let wrong = "be the https, http or ssh URL of a repository";
    if !text.chars().all(|c| c.is_ascii_graphic() && !"\\?#".contains(c)) {
        return Err(wrong);
    }
    if short(text).is_some() {
        return Ok(text.to_owned());
    }
    let url = Url::parse(text).ok().filter(|_| text.contains("://")).ok_or(wrong)?;
    let is_host = match url.host() {
        Some(Host::Domain(name)) => is_word(name),
        Some(_) => true,
        None => false,
    };
    let is_ssh = url.scheme() == "ssh";
    if !(is_ssh || matches!(url.scheme(), "https" | "http")) || !is_host {
        return Err(wrong);
    }
    // All that is before an `@` may be a user for another reader.
    let authority = text.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let has_user = !url.username().is_empty() || authority.contains('@');
    if url.password().is_some() || has_user && !(is_ssh && is_word(url.username())) {
        return Err("have no credentials; the git of the service has those of listed repositories");
    }
    Ok(url.to_string())
}

/// The user, the host and the path of the short form of SSH, `USER@HOST:PATH`.
fn short(text: &str) -> Option<(&str, &str, &str)> {
    let (user, rest) = text.split_once('@')?;
    let (host, path) = rest.split_once(':')?;
    let is_path = !path.is_empty() && !path.starts_with(['-', '/', ':']);
    (is_word(user) && is_word(host) && is_path).then_some((user, host, path))
}

/// Whether it is the name of a user or a host, and no option.
fn is_word(part: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !part.is_empty() && !part.starts_with('-') && part.chars().all(is_inner)
}

/// The host of a [`printed`] URL, with its port.
pub(crate) fn host(printed: &str) -> Option<(Host<String>, u16)> {
    const SSH: u16 = 22;
    if let Some((_, host, _)) = short(printed) {
        return Some((Host::parse(host).ok()?, SSH));
    }
    let url = Url::parse(printed).ok()?;
    let port = url.port_or_known_default().unwrap_or(SSH);
    // A URL of SSH has its host as it is written.
    Some((Host::parse(url.host_str()?).ok()?, port))
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

/// Field of a record that says whether the repository is in a private network. It is not returned.
const PRIVATE: &str = "private";

/// How a repository is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryAccess {
    /// Without credentials, from public addresses.
    Anonymous,
    /// With the credentials of the operator, who lists it, from public addresses.
    Listed,
    /// With the credentials of the operator, who lists it as private, from any address.
    Private,
}

/// The repositories that the operator lists, each for one tenant.
#[derive(Clone, Default)]
pub struct Repositories(Vec<Listed>);

/// A repository that the operator lists.
#[derive(Clone)]
struct Listed {
    tenant: String,
    record: Repository,
    access: RepositoryAccess,
}

impl Repositories {
    /// The repositories of records: a record without a `tenant` is for the default one. The error is a fragment.
    pub fn new(records: Vec<Repository>) -> Result<Self, String> {
        let owned = |mut record: Repository| {
            let wrong = || format!("{TENANT} of {} is not the name of a tenant", record.name);
            let tenant = match record.other.get(TENANT) {
                None => DEFAULT_TENANT.to_owned(),
                Some(value) => value.as_str().filter(|name| !name.is_empty()).ok_or_else(wrong)?.to_owned(),
            };
            let access = match record.other.get(PRIVATE).map(serde_json::Value::as_bool) {
                Some(Some(true)) => RepositoryAccess::Private,
                None | Some(Some(false)) => RepositoryAccess::Listed,
                Some(None) => return Err(format!("{PRIVATE} of {} is neither true nor false", record.name)),
            };
            printed(&record.url).map_err(|reason| format!("url of {} must {reason}", record.name))?;
            record.other.remove(TENANT);
            record.other.remove(PRIVATE);
            Ok(Listed { tenant, record, access })
        };
        records.into_iter().map(owned).collect::<Result<_, _>>().map(Self)
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
        let own = self.0.iter().filter(move |listed| listed.tenant == tenant).map(|listed| &listed.record);
        own.filter(move |record| record.host_integration_id == integration)
    }

    /// Whether the repository of a deployment is listed for a tenant of this name.
    pub(crate) fn has(&self, tenant: &str, config: &SourceConfig) -> bool {
        self.find(tenant, config).is_some()
    }

    /// The URL of the repository of a deployment for a tenant of this name, and how it is fetched. The URL is that of the
    /// record, if there is one.
    pub(crate) fn locate(&self, tenant: &str, config: &SourceConfig) -> (String, RepositoryAccess) {
        match self.find(tenant, config) {
            Some(listed) => (listed.record.url.clone(), listed.access),
            None => (config.repo_url.clone().unwrap_or_default(), RepositoryAccess::Anonymous),
        }
    }

    fn find(&self, tenant: &str, config: &SourceConfig) -> Option<&Listed> {
        let (integration, url) = config.integration_id.as_ref().zip(config.repo_url.as_ref())?;
        self.0.iter().find(|Listed { tenant: owner, record, .. }| {
            owner == tenant && record.host_integration_id == *integration && is_same(&record.url, url)
        })
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
        for Listed { tenant, record: repository, .. } in &mut repositories.0 {
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
    fn git_gets_a_url_as_it_was_understood() {
        for (url, expected) in [
            ("https://codehost.example/acme/agent", "https://codehost.example/acme/agent"),
            ("HTTPS://Codehost.example:443/a/./b/%2e%2E/agent", "https://codehost.example/a/agent"),
            ("http://localhost:8080/a.git", "http://localhost:8080/a.git"),
            ("http://0x7f.1/a.git", "http://127.0.0.1/a.git"),
            ("https://codehost.example//a@b:c", "https://codehost.example//a@b:c"),
            ("ssh://git@codehost.example:22/acme/agent.git", "ssh://git@codehost.example:22/acme/agent.git"),
            ("git@codehost.example:acme/agent.git", "git@codehost.example:acme/agent.git"),
        ] {
            assert_eq!(printed(url).as_deref(), Ok(expected), "{url}");
        }
        for url in [
            "",
            "ext::sh -c id",
            "ext::x/sh",
            "file:///etc",
            "file:/etc",
            "/srv/agent.git",
            "agent.git",
            "--upload-pack=id",
            "-oProxyCommand=id@host:x",
            "git@-oProxyCommand=id:x",
            "ssh://-oProxyCommand=id/x",
            "ssh://%2DoProxyCommand=id/x",
            "ssh://-oProxyCommand=id@host/x",
            "ssh://%2DoProxyCommand=id@host/x",
            "git://codehost.example/x",
            "https://codehost.example/a b",
            "https:codehost.example/a",
            "https:/codehost.example/a",
            "https://me:token@codehost.example/a",
            "https://token@codehost.example/a",
            "https://@codehost.example/a",
            "https://:@codehost.example/a",
            "ssh://git:password@codehost.example/a",
            // What is one host here is another one to git.
            "http://codehost.example\\@127.0.0.1:18777/../acme/agent",
            "http://codehost.example\\@127.0.0.1/private/%2e%2e/acme/agent",
            "http:\\\\codehost.example/acme/agent",
            "http://codehost.example%5c@127.0.0.1/acme/agent",
            "http://codehost.example#@127.0.0.1/acme/agent",
            "http://codehost.example?@127.0.0.1/acme/agent",
            "http://codehost.example/acme/agent?x=/../other",
            "http://codehost.example/acme/agent#/../other",
            "http://codehost.example/acme/\tagent",
            "http://codehost.example/acme/agent\n",
            "http://codehost.example/acme/\u{1}agent",
            "http://codehost\u{3002}example/acme/agent",
            "http://codehost.example\u{ff0f}@127.0.0.1/acme/agent",
            "git@codehost.example:acme\\agent.git",
        ] {
            assert!(printed(url).is_err(), "{url}");
        }
    }

    /// The URL of a tenant decides which record it is, and nothing else.
    #[test]
    fn a_listed_repository_is_fetched_from_the_url_of_its_record() {
        let record = |private: serde_json::Value| {
            let record = json!({
                "host_integration_id": "i", "id": 1, "name": "n", "owner": "o", "default_branch": "main",
                "url": "https://codehost.example/o/n", TENANT: "t", PRIVATE: private,
            });
            Repositories::new(vec![serde_json::from_value(record).unwrap()])
        };
        let config = |url: &str| SourceConfig {
            integration_id: Some("i".to_owned()),
            repo_url: Some(url.to_owned()),
            ..SourceConfig::default()
        };
        let listed = record(json!(false)).unwrap();
        let same = config("https://CODEHOST.example:443/o/x/../n.git/");
        let url = || "https://codehost.example/o/n".to_owned();
        assert_eq!(listed.locate("t", &same), (url(), RepositoryAccess::Listed));
        assert_eq!(record(json!(true)).unwrap().locate("t", &same), (url(), RepositoryAccess::Private));
        assert!(record(json!("yes")).is_err());
        let other = "https://codehost.example/o/other";
        for (tenant, url) in [("t", other), ("u", "https://codehost.example/o/n")] {
            assert_eq!(listed.locate(tenant, &config(url)), (url.to_owned(), RepositoryAccess::Anonymous));
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
        assert!(!json!(repositories.0[0].record).as_object().unwrap().contains_key(TENANT));
        for wrong in [json!(1), json!("")] {
            assert!(Repositories::new(vec![record(wrong, "one")]).is_err());
        }
    }
}
