//! Webhooks of code hosts: a push creates revisions of the deployments with `build_on_push`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use ring::hmac;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use agentcli::api::wire::{Deployment, Redacted, Source};

use super::answer::{Refusal, json_response};
use super::body;
use super::query::Ids;
use super::shared::Shared;
use crate::runner::code_host::{self, Webhook};
use crate::store::Tx;

/// Maximum size of a body, in bytes: pushes list up to thousands of commits.
const LARGEST: usize = 4 << 20;

/// The proof that a code host sent a request.
enum Proof {
    /// The HMAC of the body with SHA-256, as GitHub sends it.
    Signature(Vec<u8>),
    /// The secret itself, as GitLab sends it.
    Token(Vec<u8>),
}

impl Proof {
    fn of(headers: &HeaderMap) -> Option<Self> {
        let text = |name| headers.get(name)?.to_str().ok();
        if let Some(signature) = text("x-hub-signature-256") {
            return hex::decode(signature.strip_prefix("sha256=")?).ok().map(Self::Signature);
        }
        text("x-gitlab-token").map(|token| Self::Token(token.as_bytes().to_vec()))
    }

    /// Compares in constant time.
    fn is_valid(&self, secret: &Redacted, body: &[u8]) -> bool {
        let secret = secret.expose().as_bytes();
        match self {
            Self::Signature(signature) => {
                hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), body, signature).is_ok()
            }
            Self::Token(token) => token.ct_eq(secret).into(),
        }
    }
}

/// A push, in the fields of GitHub and of GitLab.
#[derive(Deserialize)]
struct Push {
    #[serde(rename = "ref")]
    reference: String,
    /// The commit; zeros if the branch was deleted.
    after: String,
    /// Of GitHub.
    #[serde(default)]
    repository: Urls,
    /// Of GitLab.
    #[serde(default)]
    project: Urls,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Urls {
    clone_url: Option<String>,
    html_url: Option<String>,
    ssh_url: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
}

impl Urls {
    fn all(&self) -> impl Iterator<Item = &String> {
        let Self { clone_url, html_url, ssh_url, git_http_url, git_ssh_url, web_url } = self;
        [clone_url, html_url, ssh_url, git_http_url, git_ssh_url, web_url].into_iter().flatten()
    }
}

impl Push {
    /// The push in a request; none if it is about something else, or deletes a branch.
    fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Option<Self>, Refusal> {
        let event = headers.get("x-github-event").or_else(|| headers.get("x-gitlab-event"));
        if !event.is_some_and(|event| event == "push" || event == "Push Hook") {
            return Ok(None);
        }
        let push: Self = serde_json::from_slice(body).map_err(|_| {
            Refusal::bad("The body is not a push in JSON; set the content type application/json.")
        })?;
        let is_commit =
            matches!(push.after.len(), 40 | 64) && push.after.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_commit {
            return Err(Refusal::bad("The commit of the push is not a hash."));
        }
        Ok(Some(push).filter(|push| push.after.bytes().any(|it| it != b'0')))
    }

    fn is_of(&self, url: &str) -> bool {
        self.repository.all().chain(self.project.all()).any(|known| code_host::is_same(known, url))
    }

    /// Whether the push is to the branch of a deployment of a tenant, and the deployment has another commit.
    fn concerns(&self, deployment: &Deployment, tenant: &str, proved: &[Proved]) -> bool {
        let config = &deployment.source_revision_config;
        let is_own =
            |url: &String| proved.iter().any(|it| it.tenant == tenant && code_host::is_same(&it.url, url));
        let is_branch =
            |branch: &String| self.reference == *branch || self.reference == format!("refs/heads/{branch}");
        deployment.source_config.repo_url.as_ref().is_some_and(is_own)
            && config.repo_ref.as_ref().is_some_and(is_branch)
            && config.repo_commit_sha.as_ref() != Some(&self.after)
    }
}

/// A repository that a code host proved to send a request for.
struct Proved {
    /// Name of the tenant that it is listed for.
    tenant: String,
    url: String,
}

/// `POST /v1/integrations/{integration_id}/webhook`
pub(super) async fn receive(
    State(shared): State<Arc<Shared>>,
    ids: Ids,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Refusal> {
    let integration = ids.get("integration_id").to_owned();
    let of_integration = |webhook: &&Webhook| webhook.integration_id == integration;
    let webhooks: Vec<&Webhook> = shared.options.webhooks.iter().filter(of_integration).collect();
    let proof = Proof::of(&headers).filter(|_| !webhooks.is_empty()).ok_or_else(refused)?;
    let body = body::bytes(request.into_body(), LARGEST, shared.options.limits.body).await?;
    let proved = webhooks.into_iter().filter(|webhook| proof.is_valid(&webhook.secret, &body));
    let repository = |it: &Webhook| Proved { tenant: it.tenant.clone(), url: it.url.clone() };
    let mut proved: Vec<Proved> = proved.map(repository).collect();
    if proved.is_empty() {
        return Err(refused());
    }
    let Some(push) = Push::parse(&headers, &body)? else { return Ok(answer(0)) };
    proved.retain(|it| push.is_of(&it.url));
    let names = names(&integration, &proof, &headers, &body);
    let count = shared.store.change(move |tx| apply(tx, &integration, &push, &proved, &names)).await?;
    shared.wake.notify_one();
    Ok(answer(count))
}

/// Adds a revision to each deployment that the push concerns, unless it was delivered before.
fn apply(
    tx: &Tx<'_>,
    integration: &str,
    push: &Push,
    proved: &[Proved],
    names: &[Vec<u8>],
) -> Result<usize, Refusal> {
    if !tx.remember_delivery(names)? {
        return Ok(0);
    }
    let mut count = 0;
    for mut deployment in tx.built_on_push(integration)? {
        let tenant = tx.tenant_name(&deployment.tenant_id)?;
        if push.concerns(&deployment, &tenant, proved) {
            deployment.source_revision_config.repo_commit_sha = Some(push.after.clone());
            tx.add_revision(&mut deployment, Source::Codehost, None)?;
            count += 1;
        }
    }
    Ok(count)
}

/// The names by which a delivery is known when it is repeated: its ID and, since a signature proves the body only, its body.
fn names(integration: &str, proof: &Proof, headers: &HeaderMap, body: &[u8]) -> Vec<Vec<u8>> {
    let name = |parts: [&[u8]; 2]| {
        let digest = Sha256::new_with_prefix(integration);
        parts.iter().fold(digest, |digest, part| digest.chain_update(part)).finalize().to_vec()
    };
    let id = |header| Some(name([b"id", headers.get(header)?.as_bytes()]));
    let of_body = || name([b"body", body]);
    match proof {
        Proof::Signature(_) => id("x-github-delivery").into_iter().chain([of_body()]).collect(),
        // The bodies of two pushes can be the same.
        Proof::Token(_) => vec![id("idempotency-key").unwrap_or_else(of_body)],
    }
}

fn answer(count: usize) -> Response {
    json_response(StatusCode::OK, &json!({ "revisions": count }))
}

/// The same for unknown integrations, and for those without a secret.
fn refused() -> Refusal {
    Refusal::Plain(StatusCode::FORBIDDEN, "The webhook is not valid.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the documentation of GitHub.
    #[test]
    fn signature_is_that_of_github() {
        let text = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let mut headers = HeaderMap::new();
        headers.insert("x-hub-signature-256", format!("sha256={text}").parse().unwrap());
        let proof = Proof::of(&headers).unwrap();
        let secret = Redacted::new("It's a Secret to Everybody");
        assert!(proof.is_valid(&secret, b"Hello, World!"));
        assert!(!proof.is_valid(&secret, b"Hello, World?"));
    }
}
