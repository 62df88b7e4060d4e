//! The calls of the deployment service, one method each.

use std::io;

use super::wire::{
    Deployment, DeploymentCreation, DeploymentPatch, LogPage, LogRequest, Page, PushToken, Redacted,
    Repository, Revision, UploadUrl,
};
use super::{DeploymentFilter, Error, Vocabulary};

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

/// What is uploaded: it is read anew for every attempt.
pub struct Archive<'a> {
    /// In bytes.
    pub length: u64,
    /// Begins to read at the start.
    pub open: &'a dyn Fn() -> io::Result<Box<dyn io::Read + Send>>,
}

/// The deployment service.
#[derive(Debug)]
pub struct Client {
    account: Account,
}

#[allow(clippy::unused_async, reason = "the shape only: bodies follow")]
impl Client {
    /// A client of a service; nothing is sent as yet.
    pub fn new(account: Account) -> Result<Self, Error> {
        Ok(Self { account })
    }

    /// One page of deployments: `limit` from 1 to 100, and what the page before said, or 0.
    pub async fn list_deployments(
        &self,
        _filter: &DeploymentFilter,
        _limit: u32,
        _offset: u64,
    ) -> Result<Page<Deployment>, Error> {
        self.missing()
    }

    /// Deployments of all pages, or the first `at_most`.
    pub async fn deployments(
        &self,
        _filter: &DeploymentFilter,
        _at_most: Option<usize>,
    ) -> Result<Vec<Deployment>, Error> {
        self.missing()
    }

    /// One deployment.
    pub async fn deployment(&self, _id: &str) -> Result<Deployment, Error> {
        self.missing()
    }

    /// The deployment of exactly this name, looked for on all pages.
    pub async fn find_by_name(&self, _name: &str) -> Result<Option<Deployment>, Error> {
        self.missing()
    }

    /// Makes a deployment. A lost answer is resolved by looking for one of the same name, so that there is never a
    /// second one: look with [`Client::find_by_name`] before this is called.
    pub async fn create(&self, _creation: &DeploymentCreation) -> Result<Deployment, Error> {
        self.missing()
    }

    /// Changes a deployment that was just got. Where the patch makes a revision, a lost answer is resolved by looking
    /// whether there is a newer one than `before` has, so that there is never a second one.
    pub async fn patch(&self, _before: &Deployment, _patch: &DeploymentPatch) -> Result<Deployment, Error> {
        self.missing()
    }

    /// Deletes a deployment.
    pub async fn delete(&self, _id: &str) -> Result<(), Error> {
        self.missing()
    }

    /// The first revisions of a deployment as the service lists them, the newest first, over as many pages as it takes.
    pub async fn revisions(&self, _deployment_id: &str, _at_most: usize) -> Result<Vec<Revision>, Error> {
        self.missing()
    }

    /// One revision.
    pub async fn revision(&self, _deployment_id: &str, _revision_id: &str) -> Result<Revision, Error> {
        self.missing()
    }

    /// Credentials to push an image with.
    pub async fn push_token(&self, _deployment_id: &str) -> Result<PushToken, Error> {
        self.missing()
    }

    /// Where to put an archive.
    pub async fn upload_url(&self, _deployment_id: &str) -> Result<UploadUrl, Error> {
        self.missing()
    }

    /// Puts an archive there, without the key. `progress` is told how many bytes of it were sent, which begins anew at 0
    /// with each attempt.
    pub async fn upload(
        &self,
        _target: &UploadUrl,
        _archive: &Archive<'_>,
        _progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        self.missing()
    }

    /// One page of what a deployment, or one of its revisions, says as it runs.
    pub async fn deploy_logs(
        &self,
        _deployment_id: &str,
        _revision_id: Option<&str>,
        _request: &LogRequest,
    ) -> Result<LogPage, Error> {
        self.missing()
    }

    /// One page of what the build of a revision says.
    pub async fn build_logs(
        &self,
        _deployment_id: &str,
        _revision_id: &str,
        _request: &LogRequest,
    ) -> Result<LogPage, Error> {
        self.missing()
    }

    /// The repositories of an integration with a code host.
    pub async fn repositories(&self, _integration_id: &str) -> Result<Vec<Repository>, Error> {
        self.missing()
    }

    fn missing<T>(&self) -> Result<T, Error> {
        Err(Error::Invalid { message: format!("nothing calls `{}` as yet", self.account.host) })
    }
}
