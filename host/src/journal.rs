//! The record of the reconciler: the database.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentcli::api::time;
use agentcli::api::wire::{Deployment, LogLevel, Source};
use agentcli::project;
use futures_util::FutureExt as _;

use super::distribution::{Distribution, Pull};
use super::reconcile::{Desired, Journal, Phase, PhaseChange, Recorded, STOP_MARGIN, Stage};
use super::runner::{BuildJob, Launch, Origin, PullJob, image_tag};
use super::store::{Broken, LogKind, Store, Tx, Work};
use super::{archive, lock, templates, uploads};

/// Maximum number of lines that wait to be written.
const MAX_WAITING: usize = 100_000;

/// Number of waiting lines after which writing is tried again.
const RETRIED: usize = 1_000;

/// Number of bytes of a megabyte, as the specification counts memory.
const MEGABYTE: u64 = 1 << 20;

/// The record.
pub(super) struct Record {
    store: Arc<Store>,
    /// Directory of the templates.
    templates: Option<PathBuf>,
    registry: Arc<Distribution>,
    /// Lines that are not in the database yet.
    lines: Arc<Mutex<Vec<Line>>>,
}

struct Line {
    revision: String,
    kind: LogKind,
    level: LogLevel,
    text: String,
    time: i64,
}

impl Record {
    pub(super) fn new(store: Arc<Store>, registry: Arc<Distribution>, templates: Option<PathBuf>) -> Self {
        Self { store, registry, templates, lines: Arc::default() }
    }

    /// Changes the database; the error is a fragment.
    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Tx<'_>) -> Result<T, Broken> + Send + 'static,
    ) -> Recorded<'_, T> {
        async move { self.store.change(change).await.map_err(|broken| broken.to_string()) }.boxed()
    }

    fn work(&self, revision: &str) -> Result<Work, String> {
        let found = self.store.read(|tx| tx.work(revision)).map_err(|broken| broken.to_string())?;
        found.ok_or_else(|| format!("the revision {revision} was deleted"))
    }

    fn job(&self, revision: &str) -> Result<BuildJob, String> {
        let Work { deployment, revision, number, .. } = self.work(revision)?;
        let name = local_name(&deployment);
        let mut config = revision.source_revision_config;
        let origin = match (&revision.source, config.source_tarball_path, config.repo_ref) {
            (Source::InternalSource, Some(path), _) => {
                let archive = uploads::path(&self.store, &path);
                Origin::Archive(archive.ok_or("the archive is not kept any more; upload it again")?)
            }
            (Source::Codehost, _, Some(reference)) => {
                let url = deployment.source_config.repo_url.unwrap_or_default();
                Origin::Repository { url, reference, commit: config.repo_commit_sha }
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
            tag: image_tag(&name, number),
            origin,
            config: config.graph_config_path.unwrap_or_default(),
            install_command: deployment.source_config.install_command,
            build_command: deployment.source_config.build_command,
        })
    }

    fn container(&self, id: &str, replica: u32) -> Result<Launch, String> {
        let Work { deployment, revision, number, image } = self.work(id)?;
        let name = local_name(&deployment);
        let secrets = self.store.read(|tx| tx.secrets(&deployment.id, id));
        let secrets = secrets.map_err(|broken| broken.to_string())?;
        let value =
            |secret: agentcli::api::wire::Secret| Some((secret.name, secret.value?.expose().to_owned()));
        let grace = self.store.read(|tx| tx.grace_of(id)).map_err(|broken| broken.to_string())?;
        let spec = deployment.source_config.resource_spec.unwrap_or_default();
        let memory = spec.memory_limit_mb.or(spec.memory_mb);
        Ok(Launch {
            revision: revision.id,
            number,
            replica,
            image: image.unwrap_or_else(|| image_tag(&name, number)),
            name,
            deployment: deployment.id,
            environment: secrets.into_iter().filter_map(value).collect(),
            cpus: spec.cpu_limit.or(spec.cpu),
            memory: memory.map(|amount| amount.saturating_mul(MEGABYTE)),
            grace: Duration::from_secs(grace.into()) + STOP_MARGIN,
        })
    }
}

/// The name of a deployment in names of containers and images: a deleted one of the same name may still be there.
fn local_name(deployment: &Deployment) -> String {
    format!("{}.{}", deployment.name, deployment.id.split('-').next().unwrap_or_default())
}

impl Journal for Record {
    fn desired(&self) -> Recorded<'_, Vec<Desired>> {
        async {
            if self.store.read(|tx| tx.has_new())? {
                self.store.change(|tx| tx.prepare()).await?;
            }
            self.store.read(|tx| tx.desired())
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

    fn switch<'a>(&'a self, deployment: &'a str, from: Option<&'a str>, to: &'a str) -> Recorded<'a, bool> {
        let (deployment, from, to) = (deployment.to_owned(), from.map(str::to_owned), to.to_owned());
        self.change(move |tx| {
            let is_switched = tx.switch(&deployment, from.as_deref(), &to)?;
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
            if is_gone && let Ok(work) = self.work(revision) {
                self.registry.sweep(&work.deployment.id).await.map_err(|broken| broken.to_string())?;
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
        let read = self.store.read(|tx| {
            let mut names = tx.unused_names(deployment)?;
            if let Some((name, tags)) = tx.deleted_tags(deployment)? {
                names.extend(self.registry.pushed_names(&name, &tags));
            }
            Ok(names)
        });
        async move { read.map_err(|broken: Broken| broken.to_string()) }.boxed()
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

    fn forget<'a>(&'a self, deployment: &'a str) -> Recorded<'a, ()> {
        let id = deployment.to_owned();
        async move {
            self.change(move |tx| tx.forget(&id)).await?;
            self.registry.remove(deployment).await;
            uploads::tidy(&self.store).map_err(|broken| broken.to_string())
        }
        .boxed()
    }

    fn build_job<'a>(&'a self, revision: &'a str) -> Recorded<'a, BuildJob> {
        async move {
            let job = self.job(revision)?;
            let Origin::Archive(archive) = job.origin.clone() else { return Ok(job) };
            let config = job.config.clone();
            let check = move || {
                let file = File::open(&archive).map_err(|error| project::reason(&error))?;
                archive::check(file, &config)
            };
            let contents = tokio::task::spawn_blocking(check).await.map_err(|error| error.to_string())??;
            let line =
                format!("received {} files, {} bytes, with {}", contents.files, contents.bytes, job.config);
            self.log(revision, Stage::Build, LogLevel::Info, &line);
            Ok(job)
        }
        .boxed()
    }

    fn pull_job<'a>(&'a self, revision: &'a str, image: &'a str) -> Recorded<'a, PullJob> {
        async move {
            let Work { deployment, number, .. } = self.work(revision)?;
            let tag = image_tag(&local_name(&deployment), number);
            let pull = self.registry.pull(&deployment, image).map_err(|broken| broken.to_string())?;
            let Pull { image, login, is_ours } = pull;
            Ok(PullJob { image, tag, login, is_ours })
        }
        .boxed()
    }

    fn launch<'a>(&'a self, revision: &'a str, replica: u32) -> Recorded<'a, Launch> {
        async move { self.container(revision, replica) }.boxed()
    }

    /// Lines are written together, since a build has many. Those that come faster than they can be written are dropped.
    fn log(&self, revision: &str, stage: Stage, level: LogLevel, line: &str) {
        let kind = match stage {
            Stage::Build => LogKind::Build,
            Stage::Deploy => LogKind::Deploy,
        };
        let line =
            Line { revision: revision.to_owned(), kind, level, text: line.to_owned(), time: time::now() };
        let mut lines = lock(&self.lines);
        if lines.len() >= MAX_WAITING {
            return;
        }
        lines.push(line);
        // A change that failed to begin has not taken them.
        if lines.len() % RETRIED != 1 {
            return;
        }
        let waiting = self.lines.clone();
        self.store.change_later(move |tx| {
            let lines = std::mem::take(&mut *lock(&waiting));
            lines
                .iter()
                .try_for_each(|line| tx.log_at(&line.revision, line.kind, &line.level, &line.text, line.time))
        });
    }

    fn logged_until<'a>(&'a self, revision: &'a str) -> Recorded<'a, i32> {
        async move {
            let until =
                self.store.read(|tx| tx.logged_until(revision)).map_err(|broken| broken.to_string())?;
            Ok(until.map_or(0, |until| i32::try_from(until / 1000).unwrap_or(i32::MAX)))
        }
        .boxed()
    }

    fn notice(&self, message: &str) {
        // Stderr may be closed.
        writeln!(std::io::stderr(), "note: {message}").ok();
    }
}
