//! The calls of the deployment service, one method each.

use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::failure::{Failure, Outcome};
use super::retry::Attempts;
use super::transport::{Request, Transport};
use super::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, LogPage, LogRequest, Page, PushToken, PushTokenRequest,
    Redacted, Repository, Revision, UploadUrl, UploadUrlRequest,
};
use super::{Archive, DeploymentFilter, Error, RetryPolicy, Vocabulary, pages, rules, upload};

/// Path of the deployments.
const DEPLOYMENTS: &str = "/v2/deployments";

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

/// A client of the deployment service.
///
/// Temporary failures are retried up to a deadline. Before it repeats a call that is not idempotent, the client queries
/// the service for the effect of the first attempt.
pub struct Client {
    transport: Transport,
    policy: RetryPolicy,
    on_retry: Box<dyn Fn(String)>,
}

impl Client {
    /// A client of a service. Nothing is sent yet.
    pub fn new(account: Account) -> Result<Self, Error> {
        let policy = RetryPolicy::default();
        Ok(Self { transport: Transport::new(account)?, policy, on_retry: Box::new(|_| {}) })
    }

    /// Sets timeouts and retries.
    pub fn with_retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the receiver of the reasons for retries, which are lowercase fragments.
    pub fn on_retry(mut self, receiver: impl Fn(String) + 'static) -> Self {
        self.on_retry = Box::new(receiver);
        self
    }

    /// A page of deployments. `limit` is from 1 to 100; `offset` is that of the previous page, or 0.
    pub async fn list_deployments(
        &self,
        filter: &DeploymentFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Page<Deployment>, Error> {
        rules::filter(filter)?;
        self.page(DEPLOYMENTS, filter.parameters(), limit, offset).await
    }

    /// All deployments, or the first `at_most`.
    pub async fn deployments(
        &self,
        filter: &DeploymentFilter,
        at_most: Option<usize>,
    ) -> Result<Vec<Deployment>, Error> {
        pages::all(DEPLOYMENTS, at_most, async |limit, offset| {
            self.list_deployments(filter, limit, offset).await
        })
        .await
    }

    /// A deployment.
    pub async fn deployment(&self, id: &str) -> Result<Deployment, Error> {
        self.read(Request::new(Method::GET, deployment_path(id)?)).await
    }

    /// The deployment of this name.
    pub async fn find_by_name(&self, name: &str) -> Result<Option<Deployment>, Error> {
        let filter = DeploymentFilter { name_contains: Some(name.to_owned()), ..DeploymentFilter::default() };
        Ok(self.deployments(&filter, None).await?.into_iter().find(|deployment| deployment.name == name))
    }

    /// Creates a deployment. If the response is lost, the deployment is searched by its name, so that it is never created
    /// twice. Check with [`Client::find_by_name`] that the name is free before calling this.
    pub async fn create(&self, creation: &DeploymentCreation) -> Result<Deployment, Error> {
        rules::creation(creation)?;
        let request = Request::new(Method::POST, DEPLOYMENTS).body(creation)?;
        let mut attempts = Attempts::new(self.policy);
        let mut may_exist = false;
        loop {
            let failure = match self.transport.attempt(&request, attempts.limit()).await {
                Ok(created) => return Ok(created),
                Err(failure) => failure,
            };
            let is_taken = matches!(failure.error, Error::Conflict { .. }) && may_exist;
            may_exist |= matches!(failure.outcome, Outcome::Unknown | Outcome::Invalid);
            let paused = if is_taken { Ok(()) } else { self.pause(&mut attempts, &failure).await };
            if may_exist && let Some(found) = self.find_by_name(&creation.name).await? {
                return self.check_source(creation, found, &request);
            }
            if is_taken || paused.is_err() {
                return Err(attempts.at_last(failure.error));
            }
        }
    }

    fn check_source(
        &self,
        creation: &DeploymentCreation,
        found: Deployment,
        request: &Request,
    ) -> Result<Deployment, Error> {
        if found.source == creation.source {
            return Ok(found);
        }
        let detail = format!("a deployment of the same name has the source {}", found.source);
        Err(Error::Conflict { call: request.call(), detail })
    }

    /// Changes a deployment. `before` is its current state: if the response is lost, a newer revision than the one of
    /// `before` shows that the patch was applied, so that no second revision is created.
    pub async fn patch(&self, before: &Deployment, patch: &DeploymentPatch) -> Result<Deployment, Error> {
        rules::patch(before, patch)?;
        let request = Request::new(Method::PATCH, deployment_path(&before.id)?).body(patch)?;
        let mut attempts = Attempts::new(self.policy);
        loop {
            let failure = match self.transport.attempt(&request, attempts.limit()).await {
                Ok(patched) => return Ok(patched),
                Err(failure) => failure,
            };
            let may_be_done = matches!(failure.outcome, Outcome::Unknown | Outcome::Invalid);
            let paused = self.pause(&mut attempts, &failure).await;
            if may_be_done {
                let now = self.deployment(&before.id).await?;
                if now.latest_revision_id != before.latest_revision_id {
                    return is_patched(now, patch, &request);
                }
            }
            if paused.is_err() {
                return Err(attempts.at_last(failure.error));
            }
        }
    }

    /// Whether `text` is an ID rather than a name.
    pub fn is_id(text: &str) -> bool {
        rules::id(text, "anything").is_ok()
    }

    /// Checks a patch against the rules of the specification, as [`Client::patch`] does.
    pub fn check_patch(before: &Deployment, patch: &DeploymentPatch) -> Result<(), Error> {
        rules::patch(before, patch)
    }

    /// Unknown fields of a patch, as paths with dots, each with the known names of its record.
    pub fn unknown_fields(patch: &DeploymentPatch) -> Vec<(String, &'static [&'static str])> {
        rules::unknown_fields(patch)
    }

    /// Whether a patch creates a revision; `None` if the specification leaves that open.
    pub fn makes_revision(patch: &DeploymentPatch) -> Option<bool> {
        rules::makes_revision(patch)
    }

    /// Deletes a deployment. A deployment that does not exist is an error, unless a previous attempt may have deleted it.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        let request = Request::new(Method::DELETE, deployment_path(id)?);
        let mut attempts = Attempts::new(self.policy);
        let mut may_be_gone = false;
        loop {
            let failure = match self.transport.attempt::<IgnoredAny>(&request, attempts.limit()).await {
                Ok(_) => return Ok(()),
                Err(Failure { error: Error::NotFound { .. }, .. }) if may_be_gone => return Ok(()),
                Err(failure) => failure,
            };
            may_be_gone |= matches!(failure.outcome, Outcome::Unknown | Outcome::Invalid);
            if self.pause(&mut attempts, &failure).await.is_err() {
                return Err(attempts.at_last(failure.error));
            }
        }
    }

    /// The newest revisions of a deployment, newest first.
    pub async fn revisions(&self, deployment_id: &str, at_most: usize) -> Result<Vec<Revision>, Error> {
        let path = format!("{}/revisions", deployment_path(deployment_id)?);
        pages::all(&path, Some(at_most), async |limit, offset| {
            self.page::<Revision>(&path, Vec::new(), limit, offset).await
        })
        .await
    }

    /// A revision.
    pub async fn revision(&self, deployment_id: &str, revision_id: &str) -> Result<Revision, Error> {
        rules::id(revision_id, "a revision")?;
        let path = format!("{}/revisions/{revision_id}", deployment_path(deployment_id)?);
        self.read(Request::new(Method::GET, path)).await
    }

    /// Credentials to push an image.
    pub async fn push_token(&self, deployment_id: &str) -> Result<PushToken, Error> {
        let path = format!("{}/push-token", deployment_path(deployment_id)?);
        let body = PushTokenRequest { supports_registry_username: Some(true), ..PushTokenRequest::default() };
        self.read(Request::new(Method::POST, path).body(&body)?).await
    }

    /// An address to upload an archive to.
    pub async fn upload_url(&self, deployment_id: &str) -> Result<UploadUrl, Error> {
        let path = format!("{}/upload-url", deployment_path(deployment_id)?);
        let body = UploadUrlRequest { supports_upload_headers: Some(true), ..UploadUrlRequest::default() };
        self.read(Request::new(Method::POST, path).body(&body)?).await
    }

    /// Uploads an archive, without the key. `progress` gets the number of bytes sent, which starts at 0 with each attempt.
    pub async fn upload(
        &self,
        target: &UploadUrl,
        archive: &Archive<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let mut attempts = Attempts::new(RetryPolicy { total: self.policy.upload, ..self.policy });
        loop {
            let (http, stall, limit) = (self.transport.http(), attempts.limit(), attempts.left());
            match upload::attempt(http, target, archive, progress, stall, limit).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.pause_or_fail(&mut attempts, failure).await?,
            }
        }
    }

    /// A page of the server log of a deployment, or of one of its revisions.
    pub async fn deploy_logs(
        &self,
        deployment_id: &str,
        revision_id: Option<&str>,
        request: &LogRequest,
    ) -> Result<LogPage, Error> {
        let path = match revision_id {
            Some(revision_id) => format!("{}/deploy_logs", revision_logs(deployment_id, revision_id)?),
            None => format!("{}/deploy_logs", project_path(deployment_id)?),
        };
        self.read(Request::new(Method::POST, path).body(request)?).await
    }

    /// A page of the build log of a revision.
    pub async fn build_logs(
        &self,
        deployment_id: &str,
        revision_id: &str,
        request: &LogRequest,
    ) -> Result<LogPage, Error> {
        let path = format!("{}/build_logs", revision_logs(deployment_id, revision_id)?);
        self.read(Request::new(Method::POST, path).body(request)?).await
    }

    /// The repositories of a code host integration.
    pub async fn repositories(&self, integration_id: &str) -> Result<Vec<Repository>, Error> {
        rules::id(integration_id, "an integration")?;
        let path = format!("/v1/integrations/forge/codehost/{integration_id}/repos");
        self.read(Request::new(Method::GET, path)).await
    }

    async fn page<T: DeserializeOwned>(
        &self,
        path: &str,
        mut query: Vec<(&'static str, String)>,
        limit: u32,
        offset: u64,
    ) -> Result<Page<T>, Error> {
        rules::limit(limit)?;
        query.extend([("limit", limit.to_string()), ("offset", offset.to_string())]);
        self.read(Request::new(Method::GET, path).query(query)).await
    }

    /// Makes an idempotent call.
    async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        let mut attempts = Attempts::new(self.policy);
        loop {
            match self.transport.attempt(&request, attempts.limit()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.pause_or_fail(&mut attempts, failure).await?,
            }
        }
    }

    async fn pause_or_fail(&self, attempts: &mut Attempts, failure: Failure) -> Result<(), Error> {
        if failure.outcome == Outcome::Invalid || self.pause(attempts, &failure).await.is_err() {
            return Err(attempts.at_last(failure.error));
        }
        Ok(())
    }

    /// Waits before the next attempt; an error if there is none.
    async fn pause(&self, attempts: &mut Attempts, failure: &Failure) -> Result<(), ()> {
        let pause = attempts.pause_before_next(failure).ok_or(())?;
        (self.on_retry)(format!("{}; retrying in {:.1} s", failure.error, pause.as_secs_f64()));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// Checks that the newer revision of a deployment is that of the patch.
fn is_patched(now: Deployment, patch: &DeploymentPatch, request: &Request) -> Result<Deployment, Error> {
    let (wanted, is) =
        (patch.source_revision_config.clone().unwrap_or_default(), &now.source_revision_config);
    let is_kept = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
    let pairs = [
        (&wanted.repo_ref, &is.repo_ref),
        (&wanted.graph_config_path, &is.graph_config_path),
        (&wanted.image_uri, &is.image_uri),
        (&wanted.source_tarball_path, &is.source_tarball_path),
    ];
    if pairs.iter().all(|(wanted, is)| is_kept(wanted, is)) {
        return Ok(now);
    }
    let detail = "the response was lost, and another client made a revision in the meantime".to_owned();
    Err(Error::Conflict { call: request.call(), detail })
}

fn deployment_path(id: &str) -> Result<String, Error> {
    rules::id(id, "a deployment")?;
    Ok(format!("/v2/deployments/{id}"))
}

/// Path of the logs of a deployment, which are those of the project of the same ID.
fn project_path(deployment_id: &str) -> Result<String, Error> {
    rules::id(deployment_id, "a deployment")?;
    Ok(format!("/v1/projects/{deployment_id}"))
}

fn revision_logs(deployment_id: &str, revision_id: &str) -> Result<String, Error> {
    rules::id(revision_id, "a revision")?;
    Ok(format!("{}/revisions/{revision_id}", project_path(deployment_id)?))
}
