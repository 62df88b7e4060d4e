//! Processes revisions: one at a time per deployment, status by status. Nothing is built or run: archives are checked, and
//! images are looked up.

use std::sync::Arc;
use std::time::Duration;

use agentcli::api::wire::{DeploymentStatus, LogLevel, Revision, RevisionStatus, Source};

use super::faults::{Failure, Mishap};
use super::store::LogKind;
use super::{Shared, archive, lock};

/// Makes a new deployment ready.
pub(super) fn prepare(shared: &Arc<Shared>, deployment: &str) {
    let (shared, id) = (shared.clone(), deployment.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(shared.options.pace).await;
        shared.store.change(&id, |deployment| {
            deployment.status = DeploymentStatus::Ready;
            Ok::<_, ()>(())
        });
    });
}

/// Processes a new revision, the `number`th of its deployment.
pub(super) fn start(shared: &Arc<Shared>, deployment: &str, revision: Revision, number: u64) {
    let turn = lock(&shared.turns).entry(deployment.to_owned()).or_default().clone();
    let mishap = shared.options.faults.for_revision(number);
    let job = Job { shared: shared.clone(), deployment: deployment.to_owned(), revision, number, mishap };
    tokio::spawn(async move {
        if let Err(Stopped::Failed(status, kind, line)) = job.run(&turn).await {
            job.log(kind, LogLevel::Error, &line);
            job.advance(status);
        }
    });
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
    mishap: Option<Mishap>,
}

impl Job {
    async fn run(&self, turn: &tokio::sync::Mutex<()>) -> Result<(), Stopped> {
        self.pause().await;
        self.mishap(RevisionStatus::CreateFailed, LogKind::Build)?;
        let _turn = match turn.try_lock() {
            Ok(turn) => turn,
            Err(_) => {
                self.step(RevisionStatus::Queued)?;
                turn.lock().await
            }
        };
        if self.is_outdated() {
            self.step(RevisionStatus::Skipped)?;
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
        self.step(RevisionStatus::AwaitingBuild)?;
        self.pause().await;
        self.step(RevisionStatus::Building)?;
        let say = |line: &str| self.log(LogKind::Build, LogLevel::Info, line);
        say(&format!("revision {} of this deployment", self.number));
        self.pause_for(self.shared.options.pace / 3).await;
        let config = &self.revision.source_revision_config;
        match (&config.source_tarball_path, &config.graph_config_path, &config.repo_ref) {
            (Some(path), Some(config), _) => say(&self.unpack(path, config).await?),
            (_, _, Some(name)) => say(&format!("{name} was not fetched: this service reaches no code host")),
            _ => {}
        }
        self.pause_for(self.shared.options.pace / 3).await;
        self.stall().await?;
        self.mishap(RevisionStatus::BuildFailed, LogKind::Build)?;
        say("the image was not built: this service builds none as yet");
        self.pause_for(self.shared.options.pace / 3).await;
        Ok(())
    }

    /// Checks the archive and returns its contents.
    async fn unpack(&self, path: &str, config: &str) -> Result<String, Stopped> {
        let failed = |reason: String| Stopped::Failed(RevisionStatus::BuildFailed, LogKind::Build, reason);
        let file = self.shared.uploads.open(path);
        let file =
            file.map_err(|_| failed("the archive is not kept any more; upload it again".to_owned()))?;
        let wanted = config.to_owned();
        let checked = tokio::task::spawn_blocking(move || archive::check(file, &wanted)).await;
        let contents = checked.map_err(|error| failed(error.to_string()))?.map_err(failed)?;
        Ok(format!("received {} files, {} bytes, with {config}", contents.files, contents.bytes))
    }

    async fn deploy(&self) -> Result<(), Stopped> {
        self.step(RevisionStatus::AwaitingDeploy)?;
        self.pause().await;
        self.step(RevisionStatus::Deploying)?;
        let say = |level, line: &str| self.log(LogKind::Deploy, level, line);
        say(LogLevel::Info, &format!("deploying revision {}", self.revision.id));
        let version = self.look_up().await?;
        self.pause().await;
        if !matches!(self.revision.source, Source::Codehost | Source::InternalSource) {
            self.stall().await?;
        }
        self.mishap(RevisionStatus::DeployFailed, LogKind::Deploy)?;
        let deployment = &self.deployment;
        self.shared.store.change(deployment, |deployment| {
            deployment.image_version = version;
            Ok::<_, ()>(())
        });
        self.step(RevisionStatus::Deployed)?;
        say(LogLevel::Info, &format!("revision {} is deployed; nothing is run as yet", self.revision.id));
        Ok(())
    }

    /// Looks up the image in its registry and returns its version.
    async fn look_up(&self) -> Result<Option<String>, Stopped> {
        let Some(image) = &self.revision.source_revision_config.image_uri else { return Ok(None) };
        let say = |level, line: &str| self.log(LogKind::Deploy, level, line);
        let registry = self.shared.options.registry.as_ref().filter(|registry| registry.holds(image));
        let Some(registry) = registry else {
            say(LogLevel::Warning, &format!("{image} was not looked up: its registry is not this service's"));
            return Ok(None);
        };
        let failed = |reason| Stopped::Failed(RevisionStatus::DeployFailed, LogKind::Deploy, reason);
        let found = registry.check(image).await.map_err(failed)?;
        if !image.contains('@') {
            let text =
                format!("{image} names no digest; it is {} now, and may be another later", found.digest);
            say(LogLevel::Warning, &text);
        }
        say(LogLevel::Info, &format!("the registry has {image}"));
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
                let active = shared.store.get(&deployment).and_then(|it| it.active_revision_id);
                if active.as_ref() != Some(&id) {
                    return;
                }
                shared.store.log(
                    &deployment,
                    &id,
                    LogKind::Deploy,
                    LogLevel::Info,
                    &format!("heartbeat {beat}"),
                );
            }
        });
    }

    /// Waits until the revision is interrupted, if a fault says so.
    async fn stall(&self) -> Result<(), Stopped> {
        let Some(Mishap::Stall) = self.mishap else { return Ok(()) };
        loop {
            self.pause_for(self.shared.options.pace.max(Duration::from_millis(10))).await;
            let now = self.shared.store.revision(&self.deployment, &self.revision.id);
            if now.is_none_or(|revision| revision.status.is_final()) {
                return Err(Stopped::Over);
            }
        }
    }

    /// Fails with `status`, if a fault says so.
    fn mishap(&self, status: RevisionStatus, kind: LogKind) -> Result<(), Stopped> {
        match &self.mishap {
            Some(Mishap::Fail(Failure { status: wanted, line })) if *wanted == status => {
                Err(Stopped::Failed(status, kind, line.clone()))
            }
            _ => Ok(()),
        }
    }

    fn is_outdated(&self) -> bool {
        let latest = self.shared.store.get(&self.deployment).and_then(|it| it.latest_revision_id);
        latest.as_ref() != Some(&self.revision.id)
    }

    fn step(&self, status: RevisionStatus) -> Result<(), Stopped> {
        if self.advance(status) { Ok(()) } else { Err(Stopped::Over) }
    }

    fn advance(&self, status: RevisionStatus) -> bool {
        self.shared.store.advance(&self.deployment, &self.revision.id, status)
    }

    fn log(&self, kind: LogKind, level: LogLevel, line: &str) {
        self.shared.store.log(&self.deployment, &self.revision.id, kind, level, line);
    }

    async fn pause(&self) {
        self.pause_for(self.shared.options.pace).await;
    }

    async fn pause_for(&self, pause: Duration) {
        tokio::time::sleep(pause).await;
    }
}
