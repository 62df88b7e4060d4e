//! The record of the reconciler, in the database. Each writing is one transaction, and may be repeated. Errors are fragments.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::{LogLevel, Source, Tier};
use agentcli::project;

use super::decide::STOP_MARGIN;
use super::level::level;
use super::log_buffer::{LogBuffer, LogLine};
use super::state::{Desired, Phase};
use crate::registry::Distribution;
use crate::runner::code_host::Repositories;
use crate::runner::{BuildJob, Launch, Origin, PullFrom, PullJob, image_tag, templates};
use crate::store::{Broken, LineOrigin, LogKind, RevisionDetails, Store, Tx, cut};

/// Number of nanoseconds of a millisecond.
const NANOSECONDS: i64 = 1_000_000;

/// Number of bytes of a megabyte, as the specification counts memory.
const MEGABYTE: u64 = 1 << 20;

/// The record.
pub(crate) struct Recorder {
    store: Arc<Store>,
    /// Directory of the templates.
    templates: Option<PathBuf>,
    repositories: Arc<Repositories>,
    registry: Arc<Distribution>,
    /// ID of this host.
    host: String,
    lines: LogBuffer,
}

impl Recorder {
    /// The record in `store`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub(crate) fn new(
        store: Arc<Store>,
        registry: Arc<Distribution>,
        templates: Option<PathBuf>,
        repositories: Arc<Repositories>,
    ) -> Result<Self, Broken> {
        let host = store.host_id()?;
        let lines = LogBuffer::new(store.clone());
        Ok(Self { store, templates, repositories, registry, host, lines })
    }

    /// Changes the database.
    async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Tx<'_>) -> Result<T, Broken> + Send + 'static,
    ) -> Result<T, String> {
        self.store.change(change).await.map_err(|broken| broken.to_string())
    }

    /// Reads the database.
    fn read<T>(&self, read: impl FnOnce(&Tx<'_>) -> Result<T, Broken>) -> Result<T, String> {
        self.store.read(read).map_err(|broken| broken.to_string())
    }

    /// The tag of the image of a revision, by the name and the ID of its deployment.
    fn tag(&self, name: &str, id: &str, number: u64) -> String {
        image_tag(&self.host, &local_name(name, id), number)
    }

    fn details(&self, revision: &str) -> Result<RevisionDetails, String> {
        let found = self.read(|tx| tx.details(revision))?;
        found.ok_or_else(|| format!("the revision {revision} was deleted"))
    }

    /// The build of a revision.
    pub(super) fn build_job(&self, revision: &str) -> Result<BuildJob, String> {
        let RevisionDetails { deployment, revision, number, .. } = self.details(revision)?;
        let tenant = self.read(|tx| tx.tenant_name(&deployment.tenant_id))?;
        let mut config = revision.source_revision_config;
        let origin = match (&revision.source, config.source_tarball_path, config.repo_ref) {
            (Source::InternalSource, Some(path), _) => {
                let archive = self
                    .store
                    .open_archive(&path)
                    .map_err(|error| format!("cannot read the archive: {}", project::reason(&error)))?;
                Origin::Archive(Arc::new(archive.ok_or("the archive was removed; upload it again")?))
            }
            (Source::Codehost, _, Some(reference)) => {
                let (url, access) = self.repositories.locate(&tenant, &deployment.source_config);
                Origin::Repository { url, reference, commit: config.repo_commit_sha, access }
            }
            (Source::InternalTemplate, ..) => {
                let path = config.graph_config_path.as_deref().unwrap_or_default();
                let found = self.templates.as_ref().and_then(|templates| templates::find(templates, path));
                let (directory, path) =
                    found.ok_or_else(|| format!("the template of {path} is not there any more"))?;
                config.graph_config_path = Some(path);
                Origin::Template(directory)
            }
            (source, ..) => return Err(format!("this service cannot build from the source {source} as yet")),
        };
        Ok(BuildJob {
            cache: self.store.cache_namespace(&deployment.tenant_id),
            tag: self.tag(&deployment.name, &deployment.id, number),
            origin,
            config: config.graph_config_path.unwrap_or_default(),
            install_command: deployment.source_config.install_command,
            build_command: deployment.source_config.build_command,
        })
    }

    /// The container of a replica of a revision.
    pub(super) fn launch(&self, id: &str, replica: u32) -> Result<Launch, String> {
        let RevisionDetails { deployment, revision, number, image } = self.details(id)?;
        let secrets = self.read(|tx| tx.secrets(&deployment.id, id))?;
        let value =
            |secret: agentcli::api::wire::Secret| Some((secret.name, secret.value?.expose().to_owned()));
        let grace = self.read(|tx| tx.grace_of(id))?;
        let server = deployment.source_config.resource_spec.unwrap_or_default().tier(Tier::Server);
        let memory = server.memory_limit.or(server.memory);
        Ok(Launch {
            revision: revision.id,
            number,
            replica,
            image: image.unwrap_or_else(|| self.tag(&deployment.name, &deployment.id, number)),
            name: local_name(&deployment.name, &deployment.id),
            deployment: deployment.id,
            environment: secrets.into_iter().filter_map(value).collect(),
            cpus: server.cpu_limit.or(server.cpu),
            memory: memory.map(|amount| amount.saturating_mul(MEGABYTE)),
            grace: Duration::from_secs(grace.into()) + STOP_MARGIN,
        })
    }
}

/// The name of a deployment in names of containers and images: a deleted one of the same name may still be there.
fn local_name(name: &str, id: &str) -> String {
    format!("{name}.{}", id.split('-').next().unwrap_or_default())
}

impl Recorder {
    /// All deployments, deleted ones included until they are forgotten.
    pub(super) async fn desired(&self) -> Result<Vec<Desired>, String> {
        // Lines that could not be written before.
        self.lines.flush();
        if self.read(|tx| tx.has_new())? {
            self.change(|tx| tx.prepare()).await?;
        }
        let mut desired = self.read(|tx| tx.desired())?;
        for deployment in &mut desired {
            for revision in &mut deployment.revisions {
                revision.tag = self.tag(&deployment.name, &deployment.id, revision.number);
            }
        }
        Ok(desired)
    }

    /// Changes the phase of a revision if it is `from`, with the reason of a failure; returns whether it was.
    pub(super) async fn advance(
        &self,
        revision: &str,
        from: Phase,
        to: Phase,
        reason: Option<String>,
    ) -> Result<bool, String> {
        let revision = revision.to_owned();
        self.change(move |tx| {
            let is_changed = tx.advance(&revision, from, to, reason.as_deref())?;
            match (to, &reason) {
                _ if !is_changed => {}
                (Phase::Deploying, _) => {
                    let line = format!("deploying revision {revision}");
                    tx.log(&revision, LogKind::Deploy, &LogLevel::Info, &line)?;
                }
                (Phase::DeployFailed, Some(reason)) => {
                    tx.log(&revision, LogKind::Deploy, &LogLevel::Error, reason)?;
                }
                _ => {}
            }
            Ok(is_changed)
        })
        .await
    }

    /// Makes `to` the active revision if `from` is and `to` is `DEPLOYING`; it becomes `DEPLOYED`, with no attempts and no
    /// error, and its server has this version.
    pub(super) async fn switch(
        &self,
        deployment: &str,
        from: Option<&str>,
        to: &str,
        version: Option<String>,
    ) -> Result<(), String> {
        let deployment = deployment.to_owned();
        let from = from.map(str::to_owned);
        let to = to.to_owned();
        self.change(move |tx| {
            if tx.switch(&deployment, from.as_deref(), &to, version)? {
                tx.log(&to, LogKind::Deploy, &LogLevel::Info, &format!("revision {to} is deployed"))?;
            }
            Ok(())
        })
        .await
    }

    /// Records the tag of the image of a revision, or that it is gone.
    pub(super) async fn set_image(&self, revision: &str, image: Option<String>) -> Result<(), String> {
        let (id, is_gone) = (revision.to_owned(), image.is_none());
        self.change(move |tx| tx.set_image(&id, image.as_deref())).await?;
        if is_gone && let Ok(details) = self.details(revision) {
            self.registry.sweep(&details.deployment.id).await.map_err(|broken| broken.to_string())?;
        }
        Ok(())
    }

    /// Records the name by which the image of a revision is about to be pulled.
    pub(super) async fn set_pulled(&self, revision: &str, image: &str) -> Result<(), String> {
        let (revision, image) = (revision.to_owned(), image.to_owned());
        self.change(move |tx| tx.set_pulled(&revision, &image)).await
    }

    /// The names by which images of a deployment were pulled and pushed, and which no revision needs any more.
    pub(super) fn unused_names(&self, deployment: &str) -> Result<Vec<String>, String> {
        self.read(|tx| {
            let mut names = tx.unused_names(deployment)?;
            if let Some((name, tags)) = tx.deleted_tags(deployment)? {
                names.extend(self.registry.pushed_names(&name, &tags));
            }
            Ok(names)
        })
    }

    /// Records that one of these names is removed.
    pub(super) async fn forget_name(&self, deployment: &str, name: &str) -> Result<(), String> {
        let (deployment, name) = (deployment.to_owned(), name.to_owned());
        self.change(move |tx| tx.forget_name(&deployment, &name)).await
    }

    /// Records the number of failed attempts of a revision and, if there is one, the last error.
    pub(super) async fn set_attempts(
        &self,
        revision: &str,
        attempts: u32,
        error: Option<String>,
    ) -> Result<(), String> {
        let revision = revision.to_owned();
        self.change(move |tx| tx.set_attempts(&revision, attempts, error.as_deref())).await
    }

    /// Records that the image of the revision that this one repeats is gone.
    pub(super) async fn forget_kept(&self, revision: &str) -> Result<(), String> {
        let revision = revision.to_owned();
        self.change(move |tx| tx.forget_kept(&revision)).await
    }

    /// Removes a deleted deployment.
    pub(super) async fn forget(&self, deployment: &str) -> Result<(), String> {
        let id = deployment.to_owned();
        self.change(move |tx| tx.forget(&id)).await?;
        self.registry.remove(deployment).await;
        self.store.tidy_archives().map_err(|broken| broken.to_string())
    }

    /// The pull of the image of a revision.
    pub(super) fn pull_job(&self, revision: &str, image: &str) -> Result<PullJob, String> {
        let RevisionDetails { deployment, number, .. } = self.details(revision)?;
        let tag = self.tag(&deployment.name, &deployment.id, number);
        let repository = tag.rsplit_once(':').map_or("", |(repository, _)| repository);
        let is_kept = image.strip_prefix(repository).is_some_and(|rest| rest.starts_with(':'));
        let (image, from) = if is_kept {
            (image.to_owned(), PullFrom::Engine)
        } else {
            self.registry.pull(&deployment, image).map_err(|broken| broken.to_string())?
        };
        Ok(PullJob { image, tag, from })
    }

    /// Adds a line to the log of a revision, later.
    pub(super) fn log(&self, revision: &str, kind: LogKind, level: LogLevel, line: &str) {
        let (revision, text) = (revision.to_owned(), cut(line).into_owned());
        self.lines.push(LogLine { revision, kind, level, text, time: time::now(), origin: None });
    }

    /// Adds a line of a container to the log of its revision, later, unless a line of that time or a later one was added and
    /// the clock was not set back. `received` is the time in nanoseconds since 1970 at which the engine received it; `is_set_back`
    /// says that it is older than the line before it, since the clock was set back.
    pub(super) fn log_output(
        &self,
        revision: &str,
        container: &str,
        (received, text): (i64, &str),
        is_set_back: bool,
    ) {
        let now = time::now().saturating_mul(NANOSECONDS);
        self.lines.push(LogLine {
            revision: revision.to_owned(),
            kind: LogKind::Deploy,
            level: level(text),
            text: cut(text).into_owned(),
            time: received / NANOSECONDS,
            origin: Some(LineOrigin { container: container.to_owned(), time: received, is_set_back, now }),
        });
    }

    /// The time of the last line of a container, in nanoseconds since 1970; 0 without any.
    pub(super) fn logged_until(&self, revision: &str, container: &str) -> Result<i64, String> {
        self.read(|tx| tx.logged_until(revision, container))
    }
}
