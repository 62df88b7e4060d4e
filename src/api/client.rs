//! The calls of the deployment service, one method each.

use reqwest::Method;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::failure::{Failure, Outcome};
use super::retry::Attempts;
use super::transport::{Account, Request, Transport};
use super::wire::{
    Agent, Deployment, DeploymentCreation, DeploymentPatch, Listener, LogPage, LogRequest, Page, PushToken,
    PushTokenRequest, Repository, Revision, UploadUrl, UploadUrlRequest,
};
use super::{Archive, Call, DeploymentFilter, Error, RetryPolicy, pages, rules, upload};

/// Path of the deployments.
const DEPLOYMENTS: &str = "/v2/deployments";

/// Path of the listeners.
const LISTENERS: &str = "/v2/listeners";

/// A log of a deployment.
#[derive(Clone, Debug)]
pub enum LogSource {
    /// The build of this revision.
    Build(String),
    /// The server, of this revision or of all.
    Server(Option<String>),
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

    /// The service's time in milliseconds since 1970, if it tells. The request is made once, without the key; any response
    /// will do.
    pub async fn time(&self) -> Result<Option<i64>, Error> {
        self.transport.time(self.policy.attempt).await.map_err(|failure| failure.error)
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
        let page = async |limit, offset| self.list_deployments(filter, limit, offset).await;
        pages::all(DEPLOYMENTS, at_most, |it: &Deployment| &it.id, page).await
    }

    /// A deployment.
    pub async fn deployment(&self, id: &str) -> Result<Deployment, Error> {
        self.read(Request::new(Method::GET, deployment_path(id)?)).await
    }

    /// The deployment of this name.
    pub async fn find_by_name(&self, name: &str) -> Result<Option<Deployment>, Error> {
        let filter = DeploymentFilter { name_contains: Some(name.to_owned()), ..DeploymentFilter::default() };
        let page = async |limit, offset| self.list_deployments(&filter, limit, offset).await;
        pages::find(DEPLOYMENTS, |it: &Deployment| it.name == name, |it| &it.id, page).await
    }

    /// The deployment of an agent in its environment, unless it is a preview.
    pub async fn find_by_agent(&self, agent: &Agent) -> Result<Option<Deployment>, Error> {
        let filter = DeploymentFilter { agent: Some(agent.clone()), ..DeploymentFilter::default() };
        let found = self.list_deployments(&filter, rules::MAX_LIMIT, 0).await?.resources;
        let is_other = |it: &Deployment| it.other.get("agent").is_some_and(|it| agent.is_other(it));
        if found.len() > 1 || found.iter().any(is_other) {
            let call = Call { method: Method::GET.to_string(), path: DEPLOYMENTS.to_owned() };
            return Err(Error::Unfiltered { call });
        }
        Ok(found.into_iter().find(|it| it.other.get("is_preview") != Some(&Value::Bool(true))))
    }

    /// Creates a deployment. If the response is lost, the deployment is searched by its name or agent, so that it is never
    /// created twice. Check with [`Client::find_by_name`] or [`Client::find_by_agent`] that there is none before calling
    /// this.
    pub async fn create(&self, creation: &DeploymentCreation) -> Result<Deployment, Error> {
        rules::creation(creation)?;
        let request = Request::new(Method::POST, DEPLOYMENTS).body(creation)?;
        let find = async |_: &Error| {
            let found = match (&creation.name, &creation.agent) {
                (Some(name), _) => self.find_by_name(name).await?,
                (None, Some(agent)) => self.find_by_agent(agent).await?,
                (None, None) => None,
            };
            found.map(|found| self.check_source(creation, found, &request)).transpose()
        };
        self.once(&request, find).await
    }

    fn check_source(
        &self,
        creation: &DeploymentCreation,
        found: Deployment,
        request: &Request,
    ) -> Result<Deployment, Error> {
        let (image, wanted) =
            (&found.source_revision_config.image_uri, &creation.source_revision_config.image_uri);
        let detail = match (found.source == creation.source, wanted.is_none() || wanted == image) {
            (true, true) => return Ok(found),
            (true, false) => "a deployment of the same name has another image".to_owned(),
            (false, _) => format!("a deployment of the same name has the source {}", found.source),
        };
        Err(Error::Conflict { call: request.call(), detail })
    }

    /// Changes a deployment. `before` is its current state: if the response is lost, a newer revision than the one of
    /// `before` shows that the patch was applied, so that no second revision is created.
    pub async fn patch(&self, before: &Deployment, patch: &DeploymentPatch) -> Result<Deployment, Error> {
        rules::patch(before, patch)?;
        let request = Request::new(Method::PATCH, deployment_path(&before.id)?).body(patch)?;
        let find = async |_: &Error| {
            let now = self.deployment(&before.id).await?;
            let is_changed = now.latest_revision_id != before.latest_revision_id;
            is_changed.then(|| is_patched(now, patch, &request)).transpose()
        };
        self.once(&request, find).await
    }

    /// Deletes a deployment. A deployment that does not exist is an error, unless a previous attempt may have deleted it.
    pub async fn delete(&self, id: &str) -> Result<(), Error> {
        let request = Request::new(Method::DELETE, deployment_path(id)?);
        let gone = async |error: &Error| Ok(matches!(error, Error::NotFound { .. }).then_some(IgnoredAny));
        self.once(&request, gone).await.map(drop)
    }

    /// The newest revisions of a deployment, newest first.
    pub async fn revisions(&self, deployment_id: &str, at_most: usize) -> Result<Vec<Revision>, Error> {
        let path = format!("{}/revisions", deployment_path(deployment_id)?);
        let page = async |limit, offset| self.page(&path, Vec::new(), limit, offset).await;
        pages::all(&path, Some(at_most), |it: &Revision| &it.id, page).await
    }

    /// A revision.
    pub async fn revision(&self, deployment_id: &str, revision_id: &str) -> Result<Revision, Error> {
        rules::id(revision_id, "a revision")?;
        let path = format!("{}/revisions/{revision_id}", deployment_path(deployment_id)?);
        self.read(Request::new(Method::GET, path)).await
    }

    /// Deploys an earlier revision of a deployment again, as a new one. `before` is the present state of the deployment, so
    /// that a lost response does not create two.
    pub async fn redeploy(&self, before: &Deployment, revision_id: &str) -> Result<Deployment, Error> {
        rules::id(revision_id, "a revision")?;
        let path = format!("{}/revisions/{revision_id}/redeploy", deployment_path(&before.id)?);
        let find = async |_: &Error| {
            let now = self.deployment(&before.id).await?;
            Ok((now.latest_revision_id != before.latest_revision_id).then_some(now))
        };
        self.once(&Request::new(Method::POST, path), find).await
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
            let http = &self.transport.http;
            let stall = attempts.limit();
            let limit = attempts.left();
            match upload::attempt(http, target, archive, progress, stall, limit).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.pause_or_fail(&mut attempts, failure).await?,
            }
        }
    }

    /// A page of a log. The logs of a deployment are those of the project of the same ID.
    pub async fn logs(
        &self,
        deployment_id: &str,
        source: &LogSource,
        request: &LogRequest,
    ) -> Result<LogPage, Error> {
        rules::id(deployment_id, "a deployment")?;
        let (revision_id, name) = match source {
            LogSource::Build(revision_id) => (Some(revision_id), "build_logs"),
            LogSource::Server(revision_id) => (revision_id.as_ref(), "deploy_logs"),
        };
        revision_id.map_or(Ok(()), |id| rules::id(id, "a revision"))?;
        let revision = revision_id.map(|id| format!("/revisions/{id}")).unwrap_or_default();
        let path = format!("/v1/projects/{deployment_id}{revision}/{name}");
        self.read(Request::new(Method::POST, path).body(request)?).await
    }

    /// A listener.
    pub async fn listener(&self, id: &str) -> Result<Listener, Error> {
        rules::id(id, "a listener")?;
        self.read(Request::new(Method::GET, format!("{LISTENERS}/{id}"))).await
    }

    /// All listeners.
    pub async fn listeners(&self) -> Result<Vec<Listener>, Error> {
        let page = async |limit, offset| self.page(LISTENERS, Vec::new(), limit, offset).await;
        pages::all(LISTENERS, None, |it: &Listener| &it.id, page).await
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
        self.read(Request { query, ..Request::new(Method::GET, path) }).await
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

    /// Makes a call that must not take effect twice: once an attempt may have been processed, `find` looks for its effect
    /// after each failure, before the next attempt.
    async fn once<T: DeserializeOwned>(
        &self,
        request: &Request,
        find: impl AsyncFn(&Error) -> Result<Option<T>, Error>,
    ) -> Result<T, Error> {
        let mut attempts = Attempts::new(self.policy);
        let mut may_be_done = false;
        loop {
            let failure = match self.transport.attempt(request, attempts.limit()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            may_be_done |= matches!(failure.outcome, Outcome::Unknown | Outcome::Invalid);
            let paused = self.pause(&mut attempts, &failure).await;
            // It may also be why this attempt was refused.
            if may_be_done && let Some(found) = find(&failure.error).await? {
                return Ok(found);
            }
            if paused.is_err() {
                return Err(attempts.at_last(failure.error));
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
