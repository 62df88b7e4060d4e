//! The record of the reconciler: the database.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::{LogLevel, Source};
use agentcli::project;
use futures_util::FutureExt as _;

use super::level::level;
use super::log_buffer::{LogBuffer, LogLine};
use super::{Desired, Journal, Output, Phase, PhaseChange, Recorded, STOP_MARGIN, Stage};
use crate::registry::Distribution;
use crate::runner::code_host::Repositories;
use crate::runner::{BuildJob, Launch, Origin, PullFrom, PullJob, image_tag};
use crate::runner::{archive as archives, templates};
use crate::store::{Broken, LineOrigin, LogKind, RevisionDetails, Store, Tx, cut};

/// Number of nanoseconds of a millisecond.
const NANOSECONDS: i64 = 1_000_000;

/// Number of bytes of a megabyte, as the specification counts memory.
const MEGABYTE: u64 = 1 << 20;

/// The record.
pub(crate) struct DatabaseJournal {
    store: Arc<Store>,
    /// Directory of the templates.
    templates: Option<PathBuf>,
    repositories: Arc<Repositories>,
    registry: Arc<Distribution>,
    /// ID of this host.
    host: String,
    lines: LogBuffer,
}

impl DatabaseJournal {
    /// The journal in `store`.
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

    /// Changes the database; the error is a fragment.
    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Tx<'_>) -> Result<T, Broken> + Send + 'static,
    ) -> Recorded<'_, T> {
        async move { self.store.change(change).await.map_err(|broken| broken.to_string()) }.boxed()
    }

    /// Reads the database; the error is a fragment.
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

    fn job(&self, revision: &str) -> Result<BuildJob, String> {
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
                let is_listed = self.repositories.has(&tenant, &deployment.source_config);
                let url = deployment.source_config.repo_url.unwrap_or_default();
                Origin::Repository { url, reference, commit: config.repo_commit_sha, is_listed }
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

    fn container(&self, id: &str, replica: u32) -> Result<Launch, String> {
        let RevisionDetails { deployment, revision, number, image } = self.details(id)?;
        let secrets = self.read(|tx| tx.secrets(&deployment.id, id))?;
        let value =
            |secret: agentcli::api::wire::Secret| Some((secret.name, secret.value?.expose().to_owned()));
        let grace = self.read(|tx| tx.grace_of(id))?;
        let spec = deployment.source_config.resource_spec.unwrap_or_default();
        let memory = spec.memory_limit_mb.or(spec.memory_mb);
        Ok(Launch {
            revision: revision.id,
            number,
            replica,
            image: image.unwrap_or_else(|| self.tag(&deployment.name, &deployment.id, number)),
            name: local_name(&deployment.name, &deployment.id),
            deployment: deployment.id,
            environment: secrets.into_iter().filter_map(value).collect(),
            cpus: spec.cpu_limit.or(spec.cpu),
            memory: memory.map(|amount| amount.saturating_mul(MEGABYTE)),
            grace: Duration::from_secs(grace.into()) + STOP_MARGIN,
        })
    }
}

/// The name of a deployment in names of containers and images: a deleted one of the same name may still be there.
fn local_name(name: &str, id: &str) -> String {
    format!("{name}.{}", id.split('-').next().unwrap_or_default())
}

impl Journal for DatabaseJournal {
    fn desired(&self) -> Recorded<'_, Vec<Desired>> {
        async {
            // Lines that could not be written before.
            self.lines.flush();
            if self.store.read(|tx| tx.has_new())? {
                self.store.change(|tx| tx.prepare()).await?;
            }
            let mut desired = self.store.read(|tx| tx.desired())?;
            for deployment in &mut desired {
                for revision in &mut deployment.revisions {
                    revision.tag = self.tag(&deployment.name, &deployment.id, revision.number);
                }
            }
            Ok(desired)
        }
        .map(|done| done.map_err(|broken: Broken| broken.to_string()))
        .boxed()
    }

    fn advance(&self, change: PhaseChange) -> Recorded<'_, bool> {
        self.change(move |tx| {
            let PhaseChange { revision, from, to, reason } = change;
            let is_changed = tx.advance(&revision, from, to, reason.as_deref())?;
            match (to, &reason) {
                _ if !is_changed => {}
                (Phase::Deploying, _) => {
                    tx.log(
                        &revision,
                        LogKind::Deploy,
                        &LogLevel::Info,
                        &format!("deploying revision {revision}"),
                    )?;
                }
                (Phase::DeployFailed, Some(reason)) => {
                    tx.log(&revision, LogKind::Deploy, &LogLevel::Error, reason)?;
                }
                _ => {}
            }
            Ok(is_changed)
        })
    }

    fn switch<'a>(
        &'a self,
        deployment: &'a str,
        from: Option<&'a str>,
        to: &'a str,
        version: Option<String>,
    ) -> Recorded<'a, bool> {
        let (deployment, from, to) = (deployment.to_owned(), from.map(str::to_owned), to.to_owned());
        self.change(move |tx| {
            let is_switched = tx.switch(&deployment, from.as_deref(), &to, version)?;
            if is_switched {
                tx.log(&to, LogKind::Deploy, &LogLevel::Info, &format!("revision {to} is deployed"))?;
            }
            Ok(is_switched)
        })
    }

    fn set_image<'a>(&'a self, revision: &'a str, image: Option<String>) -> Recorded<'a, ()> {
        async move {
            let (id, is_gone) = (revision.to_owned(), image.is_none());
            self.change(move |tx| tx.set_image(&id, image.as_deref())).await?;
            if is_gone && let Ok(details) = self.details(revision) {
                self.registry.sweep(&details.deployment.id).await.map_err(|broken| broken.to_string())?;
            }
            Ok(())
        }
        .boxed()
    }

    fn set_pulled<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, ()> {
        let (revision, image) = (revision.to_owned(), image.to_owned());
        self.change(move |tx| tx.set_pulled(&revision, &image))
    }

    fn unused_names<'a>(&'a self, deployment: &'a str) -> Recorded<'a, Vec<String>> {
        let names = self.read(|tx| {
            let mut names = tx.unused_names(deployment)?;
            if let Some((name, tags)) = tx.deleted_tags(deployment)? {
                names.extend(self.registry.pushed_names(&name, &tags));
            }
            Ok(names)
        });
        async move { names }.boxed()
    }

    fn forget_name<'a>(&'a self, deployment: &'a str, name: &'a str) -> Recorded<'a, ()> {
        let (deployment, name) = (deployment.to_owned(), name.to_owned());
        self.change(move |tx| tx.forget_name(&deployment, &name))
    }

    fn set_attempts<'a>(
        &'a self,
        revision: &'a str,
        attempts: u32,
        error: Option<String>,
    ) -> Recorded<'a, ()> {
        let revision = revision.to_owned();
        self.change(move |tx| tx.set_attempts(&revision, attempts, error.as_deref()))
    }

    fn forget_kept<'a>(&'a self, revision: &'a str) -> Recorded<'a, ()> {
        let revision = revision.to_owned();
        self.change(move |tx| tx.forget_kept(&revision))
    }

    fn forget<'a>(&'a self, deployment: &'a str) -> Recorded<'a, ()> {
        let id = deployment.to_owned();
        async move {
            self.change(move |tx| tx.forget(&id)).await?;
            self.registry.remove(deployment).await;
            self.store.tidy_archives().map_err(|broken| broken.to_string())
        }
        .boxed()
    }

    fn build_job<'a>(&'a self, revision: &'a str) -> Recorded<'a, BuildJob> {
        async move {
            let job = self.job(revision)?;
            let Origin::Archive(archive) = job.origin.clone() else { return Ok(job) };
            let config = job.config.clone();
            let check = move || archives::check(&*archive, &config);
            let contents = tokio::task::spawn_blocking(check)
                .await
                .map_err(|_| "the check of the archive stopped")??;
            let line =
                format!("received {} files, {} bytes, with {}", contents.files, contents.bytes, job.config);
            self.log(revision, Stage::Build, LogLevel::Info, &line);
            Ok(job)
        }
        .boxed()
    }

    fn pull_job<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, PullJob> {
        async move {
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
        .boxed()
    }

    fn launch<'a>(&'a self, revision: &'a str, replica: u32) -> Recorded<'a, Launch> {
        async move { self.container(revision, replica) }.boxed()
    }

    fn log(&self, revision: &str, stage: Stage, level: LogLevel, line: &str) {
        let kind = match stage {
            Stage::Build => LogKind::Build,
            Stage::Deploy => LogKind::Deploy,
        };
        let (revision, text) = (revision.to_owned(), cut(line).into_owned());
        self.lines.push(LogLine { revision, kind, level, text, time: time::now(), origin: None });
    }

    fn log_output(&self, revision: &str, container: &str, output: Output) {
        let Output { time, text, is_set_back } = output;
        let now = time::now().saturating_mul(NANOSECONDS);
        self.lines.push(LogLine {
            revision: revision.to_owned(),
            kind: LogKind::Deploy,
            level: level(&text),
            text: cut(&text).into_owned(),
            time: time / NANOSECONDS,
            origin: Some(LineOrigin { container: container.to_owned(), time, is_set_back, now }),
        });
    }

    fn logged_until<'a>(&'a self, revision: &'a str, container: &'a str) -> Recorded<'a, i64> {
        async move { self.read(|tx| tx.logged_until(revision, container)) }.boxed()
    }

    fn notice(&self, message: &str) {
        // Stderr may be closed.
        writeln!(std::io::stderr(), "note: {message}").ok();
    }
}
