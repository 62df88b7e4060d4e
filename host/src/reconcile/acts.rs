//! Doing what was decided, and recording it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use agentcli::api::time;
use agentcli::api::wire::LogLevel;

use super::action::Action;
use super::recorder::Recorder;
use super::shares::Shares;
use super::state::{Phase, Revision, Source};
use crate::runner::{ContainerState, ContainerStatus, Failure, LAST_LINES, LogSink, Runner, with_cause};
use crate::store::LogKind;

/// Numbers of acts of a tenant at a time: of builds and pulls, of those that may have to wait for the databases, of probes,
/// and of others. Stopping takes as long as its grace, and is not limited.
const TRANSFERS: usize = 2;
const STARTS: usize = 8;
const PROBES: usize = 16;
const CALLS: usize = 16;

/// Time that a build or a pull may take.
const TRANSFER_LIMIT: Duration = Duration::from_secs(3600);

/// Time that reading the output of a container that ended may take.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Interval at which it is checked whether the clock was set back, and number of nanoseconds of its milliseconds.
const CLOCK_CHECK: Duration = Duration::from_millis(200);
const NANOSECONDS: i64 = 1_000_000;

/// The end of an act.
pub(super) enum Outcome {
    /// It is done, or recorded as failed.
    Done,
    /// An attempt of a revision ended.
    Attempted,
    /// A server was probed.
    Probed {
        /// Whether it is healthy.
        is_healthy: bool,
    },
    /// It could not be done now, for this reason.
    Later(String),
}

/// An act and what it needs to know.
pub(super) struct Task {
    pub(super) action: Action,
    /// ID of the tenant that it is done for; empty if the host itself needs it.
    pub(super) tenant: String,
    /// The revision that it is about, if there is one.
    pub(super) revision: Option<Revision>,
    /// The container that it is about, if there is one.
    pub(super) status: Option<ContainerStatus>,
}

/// Does acts.
pub(super) struct Acts<R> {
    recorder: Arc<Recorder>,
    runner: Arc<R>,
    transfers: Shares,
    starts: Shares,
    probes: Shares,
    calls: Shares,
}

impl<R: Runner> Acts<R> {
    pub(super) fn new(recorder: Arc<Recorder>, runner: Arc<R>) -> Self {
        let [transfers, starts, probes, calls] = [TRANSFERS, STARTS, PROBES, CALLS].map(Shares::new);
        Self { recorder, runner, transfers, starts, probes, calls }
    }

    /// Does an act to its end.
    pub(super) async fn perform(&self, task: Task) -> Outcome {
        let shares = match task.action {
            Action::Build { .. } | Action::Pull { .. } => Some(&self.transfers),
            Action::Create { .. } | Action::Start { .. } | Action::Forget { .. } => Some(&self.starts),
            Action::Probe { .. } => Some(&self.probes),
            Action::Stop { .. } => None,
            _ => Some(&self.calls),
        };
        let _share = match shares {
            Some(shares) => Some(shares.enter(&task.tenant).await),
            None => None,
        };
        let attempts = task.revision.as_ref().map_or(0, |revision| revision.attempts);
        match self.act(&task).await {
            Ok(outcome) => outcome,
            Err(Failed::Later(reason)) => Outcome::Later(reason),
            Err(Failed::Refused(reason)) => match self.refused(&task.action, attempts, reason).await {
                Ok(outcome) => outcome,
                Err(reason) => Outcome::Later(reason),
            },
        }
    }

    async fn act(&self, task: &Task) -> Result<Outcome, Failed> {
        let (recorder, runner) = (&self.recorder, &self.runner);
        match &task.action {
            Action::Advance { revision, from, to, .. } => {
                // If it is not `from`, a user was faster, and the next decision starts from there.
                recorder.advance(revision, *from, *to, None).await?;
            }
            Action::Build { revision, .. } => {
                let job = recorder.build_job(revision).map_err(Failed::Refused)?;
                let tag = job.tag.clone();
                limited(runner.build(job, self.sink(revision, LogKind::Build))).await?;
                recorder.set_image(revision, Some(tag)).await?;
                return Ok(Outcome::Attempted);
            }
            Action::Pull { revision, image, .. } => {
                let mut job = recorder.pull_job(revision, image)?;
                job.image = runner.resolve(&job).await?;
                let tag = job.tag.clone();
                let is_foreign =
                    task.revision.as_ref().is_some_and(|it| matches!(it.source, Source::Image(_)));
                // Before the pull: whatever happens, the name is removed some time. One that was there is the user's.
                if is_foreign && (job.from.is_ours() || !runner.has_image(&job.image).await?) {
                    recorder.set_pulled(revision, &job.image).await?;
                }
                limited(runner.pull(job, self.sink(revision, LogKind::Deploy))).await?;
                recorder.set_image(revision, Some(tag)).await?;
                return Ok(Outcome::Attempted);
            }
            Action::Create { revision, replica, .. } => {
                runner.create(recorder.launch(revision, *replica)?).await?;
                return Ok(Outcome::Attempted);
            }
            Action::Start { revision, container, attempts, .. } => {
                let last = task.revision.as_ref().and_then(|revision| revision.last_error.clone());
                let crash = self.crash(task).await;
                // The next start would end like the last two. A revision that is deployed is started for ever.
                if crash.is_some()
                    && crash == last
                    && recorder
                        .advance(revision, Phase::Deploying, Phase::DeployFailed, crash.clone())
                        .await?
                {
                    return Ok(Outcome::Done);
                }
                recorder.set_attempts(revision, *attempts, crash.or(last)).await?;
                runner.start(container).await?;
                return Ok(Outcome::Attempted);
            }
            Action::Probe { .. } => {
                let is_healthy = match &task.status {
                    Some(status) => runner.probe(status).await,
                    None => false,
                };
                return Ok(Outcome::Probed { is_healthy });
            }
            Action::Switch { deployment, from, to } => {
                let version = match &task.status {
                    Some(status) => runner.version(status).await,
                    None => None,
                };
                recorder.switch(deployment, from.as_deref(), to, version).await?;
            }
            // The loop drains, since it has the routes.
            Action::Drain { .. } => {}
            Action::Stop { container, grace } => runner.stop(container, *grace).await?,
            Action::Remove { container } => {
                if let Some(status) = &task.status
                    && matches!(status.state, ContainerState::Exited { .. })
                {
                    // Its last lines are not lost with it. An engine that does not end them does not hold this up.
                    timeout(READ_LIMIT, self.follow(status)).await.ok();
                }
                runner.remove(container).await?;
            }
            Action::Fail { revision, reason, container, .. } => {
                let reason = self.explained(reason, container.as_deref()).await;
                self.recorder.advance(revision, Phase::Deploying, Phase::DeployFailed, Some(reason)).await?;
            }
            Action::RemoveImage { deployment, revision, image } => {
                runner.remove_image(image).await?;
                recorder.set_image(revision, None).await?;
                self.remove_names(deployment).await?;
            }
            Action::RemoveUnknownImage { image } => runner.remove_image(image).await?,
            Action::ForgetImage { revision, .. } => recorder.set_image(revision, None).await?,
            Action::ForgetKept { revision, .. } => recorder.forget_kept(revision).await?,
            Action::Forget { deployment } => {
                self.remove_names(deployment).await?;
                runner.forget(deployment).await?;
                recorder.forget(deployment).await?;
            }
        }
        Ok(Outcome::Done)
    }

    /// Removes the names by which images were pulled and pushed, once no revision needs them.
    async fn remove_names(&self, deployment: &str) -> Result<(), Failed> {
        for name in self.recorder.unused_names(deployment)? {
            match self.runner.remove_image(&name).await {
                Err(Failure::Unavailable(reason)) => return Err(Failed::Later(reason)),
                // The engine keeps what somebody else uses.
                Err(Failure::Refused(_)) | Ok(()) => self.recorder.forget_name(deployment, &name).await?,
            }
        }
        Ok(())
    }

    /// Records the failure of an act that cannot succeed as it is.
    async fn refused(&self, action: &Action, attempts: u32, reason: String) -> Result<Outcome, String> {
        let (revision, kind, attempts) = match action {
            Action::Build { revision, .. } => (revision, LogKind::Build, attempts),
            Action::Pull { revision, .. } | Action::Create { revision, .. } => {
                (revision, LogKind::Deploy, attempts)
            }
            Action::Start { revision, attempts, .. } => (revision, LogKind::Deploy, *attempts),
            _ => return Ok(Outcome::Later(reason)),
        };
        self.recorder.log(revision, kind, LogLevel::Error, &reason);
        // A build of an image that was lost belongs to a revision that was built before: it is an attempt like a pull.
        if kind == LogKind::Build
            && self
                .recorder
                .advance(revision, Phase::Building, Phase::BuildFailed, Some(reason.clone()))
                .await?
        {
            return Ok(Outcome::Done);
        }
        self.recorder.set_attempts(revision, attempts.saturating_add(1), Some(reason)).await?;
        Ok(Outcome::Attempted)
    }

    /// Why the server of a container that is to be started again ended.
    async fn crash(&self, task: &Task) -> Option<String> {
        let status = task.status.as_ref()?;
        let ContainerState::Exited { code, .. } = status.state else { return None };
        Some(self.explained(&format!("the server exited with code {code}"), Some(&status.name)).await)
    }

    /// A reason with the cause that the last lines of a container name.
    async fn explained(&self, reason: &str, container: Option<&str>) -> String {
        let Some(container) = container else { return reason.to_owned() };
        let lines = self.runner.last_lines(container, LAST_LINES).await.unwrap_or_default();
        with_cause(reason, &lines)
    }

    fn sink(&self, revision: &str, kind: LogKind) -> LogSink {
        let (recorder, revision) = (self.recorder.clone(), revision.to_owned());
        Arc::new(move |level, line| recorder.log(&revision, kind, level, line))
    }

    /// Copies the lines of a container to the log of its revision until it ends.
    pub(super) async fn follow(&self, status: &ContainerStatus) {
        let (revision, container) = (&status.revision, &status.name);
        loop {
            let Ok(last) = self.recorder.logged_until(revision, container) else { return };
            // After the clock was set back, new lines are older than the last one.
            let after = last.min(now());
            let recorder = self.recorder.clone();
            let revision = revision.clone();
            let name = container.clone();
            let previous = AtomicI64::new(last);
            let line = Box::new(move |time, text: String| {
                let is_set_back = time < previous.swap(time, Ordering::Relaxed);
                recorder.log_output(&revision, &name, (time, &text), is_set_back);
            });
            tokio::select! {
                // The engine may be gone: the next tick follows again.
                _ = self.runner.follow(container, after, line) => return,
                // The engine leaves out what is older than `after`.
                () = set_back(after) => {}
            }
        }
    }
}

/// Nanoseconds since 1970.
fn now() -> i64 {
    time::now().saturating_mul(NANOSECONDS)
}

/// Waits until the clock is set back to a time before `after`.
async fn set_back(after: i64) {
    while now() >= after {
        sleep(CLOCK_CHECK).await;
    }
}

/// A failed act.
enum Failed {
    Refused(String),
    Later(String),
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(reason) => Self::Refused(reason),
            Failure::Unavailable(reason) => Self::Later(reason),
        }
    }
}

/// Of the record.
impl From<String> for Failed {
    fn from(reason: String) -> Self {
        Self::Later(reason)
    }
}

async fn limited(transfer: impl Future<Output = Result<(), Failure>>) -> Result<(), Failed> {
    match timeout(TRANSFER_LIMIT, transfer).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Failed::Refused(format!("it took longer than {} min", TRANSFER_LIMIT.as_secs() / 60))),
    }
}
