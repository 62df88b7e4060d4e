//! The calls of the deployment service, one method each.

use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::failure::{Failure, Kind};
use super::patience::Effort;
use super::transport::{Request, Transport};
use super::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, LogPage, LogRequest, Page, PushToken, PushTokenRequest,
    Redacted, Repository, Revision, UploadUrl, UploadUrlRequest,
};
use super::{Archive, DeploymentFilter, Error, Patience, Vocabulary, pages, rules, upload};

/// The path of all deployments.
const DEPLOYMENTS: &str = "/v2/deployments";

/// Where the service is, and who calls it.
#[derive(Clone, Debug)]
pub struct Account {
    /// `https://host`, with a path where the service has one.
    pub host: String,
    /// Sent to the host, and nowhere else.
    pub key: Redacted,
    /// UUID of the workspace, where the key has several.
    pub tenant: Option<String>,
    /// Whose words are spoken.
    pub vocabulary: Vocabulary,
}

/// The deployment service.
///
/// What fails for a while is tried again, up to a deadline: where it has no effect, as it is; where it has one, after
/// a look at whether it had it.
pub struct Client {
    transport: Transport,
    patience: Patience,
    tell: Box<dyn Fn(String)>,
}

impl Client {
    /// A client of a service; nothing is sent as yet.
    pub fn new(account: Account) -> Result<Self, Error> {
        let patience = Patience::default();
        Ok(Self { transport: Transport::new(account)?, patience, tell: Box::new(|_| {}) })
    }

    /// Waits like this.
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Tells, in a lowercase fragment, that something failed and will be tried again.
    pub fn telling(mut self, tell: impl Fn(String) + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// One page of deployments: `limit` from 1 to 100, and what the page before said, or 0.
    pub async fn list_deployments(
        &self,
        filter: &DeploymentFilter,
        limit: u32,
        offset: u64,
    ) -> Result<Page<Deployment>, Error> {
        rules::filter(filter)?;
        self.page(DEPLOYMENTS, filter.parameters(), limit, offset).await
    }

    /// Deployments of all pages, or the first `at_most`.
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

    /// One deployment.
    pub async fn deployment(&self, id: &str) -> Result<Deployment, Error> {
        self.read(Request::new(Method::GET, deployment_path(id)?)).await
    }

    /// The deployment of exactly this name, looked for on all pages.
    pub async fn find_by_name(&self, name: &str) -> Result<Option<Deployment>, Error> {
        let filter = DeploymentFilter { name_contains: Some(name.to_owned()), ..DeploymentFilter::default() };
        Ok(self.deployments(&filter, None).await?.into_iter().find(|deployment| deployment.name == name))
    }

    /// Makes a deployment. A lost answer is resolved by looking for one of the same name, so that there is never a
    /// second one: look with [`Client::find_by_name`] before this is called.
    pub async fn create(&self, creation: &DeploymentCreation) -> Result<Deployment, Error> {
        rules::creation(creation)?;
        let request = Request::new(Method::POST, DEPLOYMENTS).body(creation)?;
        let mut effort = Effort::new(self.patience);
        let mut may_be_there = false;
        loop {
            let failure = match self.transport.attempt(&request, effort.limit()).await {
                Ok(created) => return Ok(created),
                Err(failure) => failure,
            };
            let is_taken = matches!(failure.error, Error::Conflict { .. }) && may_be_there;
            may_be_there |= matches!(failure.kind, Kind::Unknown | Kind::Garbled);
            let paused = if is_taken { Ok(()) } else { self.pause(&mut effort, &failure).await };
            if may_be_there && let Some(found) = self.find_by_name(&creation.name).await? {
                return self.is_of(creation, found, &request);
            }
            if is_taken || paused.is_err() {
                return Err(effort.at_last(failure.error));
            }
        }
    }

    fn is_of(
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

    /// Changes a deployment that was just got. Where the patch makes a revision, a lost answer is resolved by looking
    /// whether there is a newer one than `before` has, so that there is never a second one.
    pub async fn patch(&self, before: &Deployment, patch: &DeploymentPatch) -> Result<Deployment, Error> {
        rules::patch(before, patch)?;
        let request = Request::new(Method::PATCH, deployment_path(&before.id)?).body(patch)?;
        let mut effort = Effort::new(self.patience);
        loop {
            let failure = match self.transport.attempt(&request, effort.limit()).await {
                Ok(patched) => return Ok(patched),
                Err(failure) => failure,
            };
            let may_be_done = matches!(failure.kind, Kind::Unknown | Kind::Garbled);
            let paused = self.pause(&mut effort, &failure).await;
            if may_be_done {
                let now = self.deployment(&before.id).await?;
                if now.latest_revision_id != before.latest_revision_id {
                    return is_patched(now, patch, &request);
                }
            }
            if paused.is_err() {
                return Err(effort.at_last(failure.error));
            }
        }
    }

    /// Whether this looks like an identifier, rather than a name.
    pub fn is_id(text: &str) -> bool {
        rules::id(text, "anything").is_ok()
    }

    /// Whether a patch keeps to the specification's rules; [`Client::patch`] asks this too.
    pub fn check_patch(before: &Deployment, patch: &DeploymentPatch) -> Result<(), Error> {
        rules::patch(before, patch)
    }

    /// Fields of a patch that are not known here, with the dots of their place, each with the names that there are.
    pub fn unknown_fields(patch: &DeploymentPatch) -> Vec<(String, &'static [&'static str])> {
        rules::unknown_fields(patch)
    }

    /// Whether a patch makes a new revision, where the specification says so.
    pub fn makes_revision(patch: &DeploymentPatch) -> Option<bool> {
        rules::makes_revision(patch)
    }

    /// Deletes a deployment. That it is gone already is an error only where this did not do it.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        let request = Request::new(Method::DELETE, deployment_path(id)?);
        let mut effort = Effort::new(self.patience);
        let mut may_be_gone = false;
        loop {
            let failure = match self.transport.attempt::<IgnoredAny>(&request, effort.limit()).await {
                Ok(_) => return Ok(()),
                Err(Failure { error: Error::NotFound { .. }, .. }) if may_be_gone => return Ok(()),
                Err(failure) => failure,
            };
            may_be_gone |= matches!(failure.kind, Kind::Unknown | Kind::Garbled);
            if self.pause(&mut effort, &failure).await.is_err() {
                return Err(effort.at_last(failure.error));
            }
        }
    }

    /// The first revisions of a deployment as the service lists them, the newest first, over as many pages as it takes.
    pub async fn revisions(&self, deployment_id: &str, at_most: usize) -> Result<Vec<Revision>, Error> {
        let path = format!("{}/revisions", deployment_path(deployment_id)?);
        pages::all(&path, Some(at_most), async |limit, offset| {
            self.page::<Revision>(&path, Vec::new(), limit, offset).await
        })
        .await
    }

    /// One revision.
    pub async fn revision(&self, deployment_id: &str, revision_id: &str) -> Result<Revision, Error> {
        rules::id(revision_id, "a revision")?;
        let path = format!("{}/revisions/{revision_id}", deployment_path(deployment_id)?);
        self.read(Request::new(Method::GET, path)).await
    }

    /// Credentials to push an image with.
    pub async fn push_token(&self, deployment_id: &str) -> Result<PushToken, Error> {
        let path = format!("{}/push-token", deployment_path(deployment_id)?);
        let body = PushTokenRequest { supports_registry_username: Some(true), ..PushTokenRequest::default() };
        self.read(Request::new(Method::POST, path).body(&body)?).await
    }

    /// Where to put an archive.
    pub async fn upload_url(&self, deployment_id: &str) -> Result<UploadUrl, Error> {
        let path = format!("{}/upload-url", deployment_path(deployment_id)?);
        let body = UploadUrlRequest { supports_upload_headers: Some(true), ..UploadUrlRequest::default() };
        self.read(Request::new(Method::POST, path).body(&body)?).await
    }

    /// Puts an archive there, without the key. `progress` is told how many bytes of it were sent, which begins anew at 0
    /// with each attempt.
    pub async fn upload(
        &self,
        target: &UploadUrl,
        archive: &Archive<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let mut effort = Effort::new(Patience { total: self.patience.upload, ..self.patience });
        loop {
            let (http, stall, limit) = (self.transport.http(), effort.limit(), effort.left());
            match upload::attempt(http, target, archive, progress, stall, limit).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.pause_or_fail(&mut effort, failure).await?,
            }
        }
    }

    /// One page of what a deployment, or one of its revisions, says as it runs.
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

    /// One page of what the build of a revision says.
    pub async fn build_logs(
        &self,
        deployment_id: &str,
        revision_id: &str,
        request: &LogRequest,
    ) -> Result<LogPage, Error> {
        let path = format!("{}/build_logs", revision_logs(deployment_id, revision_id)?);
        self.read(Request::new(Method::POST, path).body(request)?).await
    }

    /// The repositories of an integration with a code host.
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

    /// Asks for something that has no effect, so that it can be repeated.
    async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        let mut effort = Effort::new(self.patience);
        loop {
            match self.transport.attempt(&request, effort.limit()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.pause_or_fail(&mut effort, failure).await?,
            }
        }
    }

    async fn pause_or_fail(&self, effort: &mut Effort, failure: Failure) -> Result<(), Error> {
        if failure.kind == Kind::Garbled || self.pause(effort, &failure).await.is_err() {
            return Err(effort.at_last(failure.error));
        }
        Ok(())
    }

    /// Waits before the next attempt, or says that there is none.
    async fn pause(&self, effort: &mut Effort, failure: &Failure) -> Result<(), ()> {
        let pause = effort.pause_before_next(failure).ok_or(())?;
        (self.tell)(format!("{}; retrying in {:.1} s", failure.error, pause.as_secs_f64()));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// A deployment that has a newer revision than before, if that is the patch's.
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

/// The logs of a deployment are those of the project of the same ID.
fn project_path(deployment_id: &str) -> Result<String, Error> {
    rules::id(deployment_id, "a deployment")?;
    Ok(format!("/v1/projects/{deployment_id}"))
}

fn revision_logs(deployment_id: &str, revision_id: &str) -> Result<String, Error> {
    rules::id(revision_id, "a revision")?;
    Ok(format!("{}/revisions/{revision_id}", project_path(deployment_id)?))
}
