//! Processes revisions: one at a time per deployment, status by status. Nothing is built or run: archives are checked, and
//! images are looked up.

use std::sync::Arc;
use std::time::Duration;

use agentcli::api::wire::{DeploymentStatus, LogLevel, Revision, RevisionStatus, Source};

use super::faults::{Failure, Fault};
use super::store::{Broken, LogKind};
use super::{Shared, archive, lock, uploads};

/// Makes a new deployment ready.
pub(super) fn prepare(shared: &Arc<Shared>, deployment: &str) {
    let (shared, id) = (shared.clone(), deployment.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(shared.options.pace).await;
        let ready = shared.store.change(move |tx| {
            let Some(mut deployment) = tx.any_deployment(&id)? else { return Ok(()) };
            deployment.status = DeploymentStatus::Ready;
            tx.save(&mut deployment)
        });
        // The next start tries again.
        ready.await.ok();
    });
}

/// Continues where the service was stopped, in whatever way.
pub(super) fn resume(shared: &Arc<Shared>) -> Result<(), Broken> {
    for deployment in shared.store.read(|tx| tx.unprepared())? {
        prepare(shared, &deployment);
    }
    for (deployment, revision) in shared.store.read(|tx| tx.unfinished())? {
        start(shared, &deployment, &revision)?;
    }
    Ok(())
}

/// Processes a revision.
pub(super) fn start(shared: &Arc<Shared>, deployment: &str, revision: &str) -> Result<(), Broken> {
    let found = shared
        .store
        .read(|tx| Ok::<_, Broken>(tx.revision(deployment, revision)?.zip(tx.ordinal(revision)?)))?;
    let Some((revision, number)) = found else { return Ok(()) };
    let turn = lock(&shared.turns).entry(deployment.to_owned()).or_default().clone();
    let mishap = shared.options.faults.of(number);
    let job = Job { shared: shared.clone(), deployment: deployment.to_owned(), revision, number, mishap };
    tokio::spawn(async move {
        if let Err(Stopped::Failed(status, kind, line)) = job.run(&turn).await {
            job.log(kind, LogLevel::Error, &line).await;
            job.advance(status).await;
        }
    });
    Ok(())
}

/// The reason to stop processing a revision.
enum Stopped {
    /// It was interrupted, deleted with its deployment, or replaced by a newer one.
    Over,
    /// It failed, with this status and log message.
    Failed(RevisionStatus, LogKind, String),
}

struct Job {
    shared: Arc<Shared>,
    deployment: String,
    revision: Revision,
    number: u64,
    mishap: Option<Fault>,
}

impl Job {
    async fn run(&self, turn: &tokio::sync::Mutex<()>) -> Result<(), Stopped> {
        self.pause().await;
        self.mishap(RevisionStatus::CreateFailed, LogKind::Build)?;
        let _turn = match turn.try_lock() {
            Ok(turn) => turn,
            Err(_) => {
                self.step(RevisionStatus::Queued).await?;
                turn.lock().await
            }
        };
        if self.is_outdated() {
            self.step(RevisionStatus::Skipped).await?;
            return Err(Stopped::Over);
        }
        match self.revision.source {
            Source::Codehost | Source::InternalSource => self.build().await?,
            // Without a build, a fault of the build applies to the deployment.
            _ => self.mishap(RevisionStatus::BuildFailed, LogKind::Build)?,
        }
        self.deploy().await?;
        self.run_on();
        Ok(())
    }

    async fn build(&self) -> Result<(), Stopped> {
        self.step(RevisionStatus::AwaitingBuild).await?;
        self.pause().await;
        self.step(RevisionStatus::Building).await?;
        let say = async |line: &str| self.log(LogKind::Build, LogLevel::Info, line).await;
        say(&format!("revision {} of this deployment", self.number)).await;
        self.pause_for(self.shared.options.pace / 3).await;
        let config = &self.revision.source_revision_config;
        match (&config.source_tarball_path, &config.graph_config_path, &config.repo_ref) {
            (Some(path), Some(config), _) => say(&self.unpack(path, config).await?).await,
            (_, _, Some(name)) => {
                say(&format!("{name} was not fetched: this service reaches no code host")).await;
            }
            _ => {}
        }
        self.pause_for(self.shared.options.pace / 3).await;
        self.stall().await?;
        self.mishap(RevisionStatus::BuildFailed, LogKind::Build)?;
        say("the image was not built: this service builds none as yet").await;
        self.pause_for(self.shared.options.pace / 3).await;
        Ok(())
    }

    /// Checks the archive and returns its contents.
    async fn unpack(&self, path: &str, config: &str) -> Result<String, Stopped> {
        let failed = |reason: String| Stopped::Failed(RevisionStatus::BuildFailed, LogKind::Build, reason);
        let file = uploads::open(&self.shared.store, path);
        let file =
            file.map_err(|_| failed("the archive is not kept any more; upload it again".to_owned()))?;
        let wanted = config.to_owned();
        let checked = tokio::task::spawn_blocking(move || archive::check(file, &wanted)).await;
        let contents = checked.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
        Ok(format!("received {} files, {} bytes, with {config}", contents.files, contents.bytes))
    }

    async fn deploy(&self) -> Result<(), Stopped> {
        self.step(RevisionStatus::AwaitingDeploy).await?;
        self.pause().await;
        self.step(RevisionStatus::Deploying).await?;
        let say = async |level, line: &str| self.log(LogKind::Deploy, level, line).await;
        say(LogLevel::Info, &format!("deploying revision {}", self.revision.id)).await;
        let version = self.look_up().await?;
        self.pause().await;
        if !matches!(self.revision.source, Source::Codehost | Source::InternalSource) {
            self.stall().await?;
        }
        self.mishap(RevisionStatus::DeployFailed, LogKind::Deploy)?;
        let deployment = self.deployment.clone();
        let saved = self.shared.store.change(move |tx| {
            let Some(mut deployment) = tx.any_deployment(&deployment)? else { return Ok(()) };
            deployment.image_version = version;
            tx.save(&mut deployment)
        });
        saved.await.map_err(|broken: Broken| {
            Stopped::Failed(RevisionStatus::DeployFailed, LogKind::Deploy, broken.to_string())
        })?;
        self.step(RevisionStatus::Deployed).await?;
        say(LogLevel::Info, &format!("revision {} is deployed; nothing is run as yet", self.revision.id))
            .await;
        Ok(())
    }

    /// Looks up the image in its registry and returns its version.
    async fn look_up(&self) -> Result<Option<String>, Stopped> {
        let Some(image) = &self.revision.source_revision_config.image_uri else { return Ok(None) };
        let say = async |level, line: &str| self.log(LogKind::Deploy, level, line).await;
        let registry = self.shared.options.registry.as_ref().filter(|registry| registry.holds(image));
        let Some(registry) = registry else {
            say(LogLevel::Warning, &format!("{image} was not looked up: its registry is not this service's"))
                .await;
            return Ok(None);
        };
        let failed = |reason| Stopped::Failed(RevisionStatus::DeployFailed, LogKind::Deploy, reason);
        let found = registry.check(image).await.map_err(failed)?;
        if !image.contains('@') {
            let text =
                format!("{image} names no digest; it is {} now, and may be another later", found.digest);
            say(LogLevel::Warning, &text).await;
        }
        say(LogLevel::Info, &format!("the registry has {image}")).await;
        Ok(found.version)
    }

    /// Writes to the log at intervals while the revision is active.
    fn run_on(&self) {
        let Some(interval) = self.shared.options.heartbeat else { return };
        let (shared, deployment, id) =
            (self.shared.clone(), self.deployment.clone(), self.revision.id.clone());
        tokio::spawn(async move {
            for beat in 1_u64.. {
                tokio::time::sleep(interval).await;
                let (deployment, id) = (deployment.clone(), id.clone());
                let written = shared.store.change(move |tx| {
                    let active = tx.any_deployment(&deployment)?.and_then(|it| it.active_revision_id);
                    let is_active = active.as_ref() == Some(&id);
                    if is_active {
                        tx.log(&id, LogKind::Deploy, &LogLevel::Info, &format!("heartbeat {beat}"))?;
                    }
                    Ok::<_, Broken>(is_active)
                });
                if !written.await.unwrap_or(false) {
                    return;
                }
            }
        });
    }

    /// Waits until the revision is interrupted, if a fault says so.
    async fn stall(&self) -> Result<(), Stopped> {
        let Some(Fault::Stall) = self.mishap else { return Ok(()) };
        loop {
            self.pause_for(self.shared.options.pace.max(Duration::from_millis(10))).await;
            let now = self.shared.store.read(|tx| tx.revision(&self.deployment, &self.revision.id));
            if now.ok().flatten().is_none_or(|revision| revision.status.is_final()) {
                return Err(Stopped::Over);
            }
        }
    }

    /// Fails with `status`, if a fault says so.
    fn mishap(&self, status: RevisionStatus, kind: LogKind) -> Result<(), Stopped> {
        match &self.mishap {
            Some(Fault::Fail(Failure { status: wanted, line })) if *wanted == status => {
                Err(Stopped::Failed(status, kind, line.clone()))
            }
            _ => Ok(()),
        }
    }

    fn is_outdated(&self) -> bool {
        let latest = self.shared.store.read(|tx| tx.latest(&self.deployment));
        latest.ok().flatten().is_none_or(|latest| latest.id != self.revision.id)
    }

    async fn step(&self, status: RevisionStatus) -> Result<(), Stopped> {
        if self.advance(status).await { Ok(()) } else { Err(Stopped::Over) }
    }

    async fn advance(&self, status: RevisionStatus) -> bool {
        let (deployment, id) = (self.deployment.clone(), self.revision.id.clone());
        let advanced = self.shared.store.change(move |tx| tx.advance(&deployment, &id, status));
        advanced.await.unwrap_or(false)
    }

    async fn log(&self, kind: LogKind, level: LogLevel, line: &str) {
        let (id, line) = (self.revision.id.clone(), line.to_owned());
        self.shared.store.change(move |tx| tx.log(&id, kind, &level, &line)).await.ok();
    }

    async fn pause(&self) {
        self.pause_for(self.shared.options.pace).await;
    }

    async fn pause_for(&self, pause: Duration) {
        tokio::time::sleep(pause).await;
    }
}
