//! The new revision, watched until it is deployed or has failed.

use std::time::{Duration, Instant};

use super::event::{Hooks, log_entry, result};
use super::shipment::{NewRevision, Shipment};
use super::{Error, LogPass, ShownEntries};
use crate::api::LogSource;
use crate::api::wire::{
    Cursor, Deployment, LogEntry, LogOrder, LogRequest, Revision, RevisionStatus, Source,
};
use crate::live::Event;

/// The first interval between two queries is so much shorter than the longest.
const FIRST_INTERVAL: u32 = 8;

/// Timeout for a new revision to be listed.
const LISTED_WITHIN: Duration = Duration::from_secs(30);

/// Number of log entries that are shown when a revision fails.
const LAST_ENTRIES: u32 = 30;

/// Number of log entries of one request.
const PAGE: u32 = 100;

/// The log of a remote build, as far as it was read.
#[derive(Default)]
struct BuildLog {
    /// The last page, which is read again, since it may have grown.
    page: Option<Cursor>,
    shown: ShownEntries,
}

impl<H: Hooks> Shipment<'_, H> {
    /// The revision that a patch or a creation has made; `before` is the latest one before it. A service may list it later
    /// than it answers.
    pub(super) async fn newest(
        &mut self,
        before: Option<&String>,
        after: Deployment,
    ) -> Result<NewRevision, Error> {
        let is_new = |id: &String| before != Some(id);
        if let Some(id) = after.latest_revision_id.clone().filter(is_new) {
            return Ok(NewRevision { deployment: after, id });
        }
        let start = Instant::now();
        let mut interval = self.first_interval();
        while start.elapsed() < LISTED_WITHIN {
            let newest = self.call(async |client| client.revisions(&after.id, 1).await).await?;
            if let Some(id) = newest.into_iter().map(|it| it.id).next().filter(is_new) {
                return Ok(NewRevision { deployment: after, id });
            }
            self.rest(&mut interval).await?;
        }
        Err(Error::Pending {
            message: format!("the service lists no new revision of `{}`", after.name),
            hint: format!("run `agentcli deploy revisions list {}` to see all revisions", after.id),
        })
    }

    /// Waits until `revision` is deployed.
    pub(super) async fn follow(&mut self, new: &NewRevision, timeout: Duration) -> Result<(), Error> {
        let start = Instant::now();
        let mut interval = self.first_interval();
        let mut log = self.request.reads_build_log.then(BuildLog::default);
        let mut status: Option<RevisionStatus> = None;
        let mut is_away = false;
        loop {
            let is_late = start.elapsed() > timeout;
            if let Some(found) = self.query(new, &mut is_away).await? {
                let now = found.status.clone();
                if status.as_ref() != Some(&now) {
                    let seconds = start.elapsed().as_secs_f64();
                    self.hooks.event(&Event::Status { status: now.word().to_owned(), seconds });
                    interval = self.first_interval();
                }
                if let Some(log) = log.as_mut().filter(|_| has_build_log(&found.source, &now)) {
                    self.show_build_log(new, log).await?;
                }
                // The log of a finished build is complete, and was just read.
                log = log.filter(|_| !now.is_built());
                if now.is_final() {
                    return self.end(new, &found).await;
                }
                status = Some(now);
            }
            if is_late {
                return self.give_up(new, status.as_ref(), timeout);
            }
            self.rest(&mut interval).await?;
        }
    }

    /// The revision; `None` while the service cannot be reached, which is reported once.
    async fn query(&mut self, new: &NewRevision, is_away: &mut bool) -> Result<Option<Revision>, Error> {
        match self.call(async |client| client.revision(&new.deployment.id, &new.id).await).await {
            Ok(found) => {
                *is_away = false;
                Ok(Some(found))
            }
            Err(Error::Api(error)) if error.may_pass() => {
                if !std::mem::replace(is_away, true) {
                    self.hooks.warn(format!("{error}; still waiting for the revision"));
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn first_interval(&self) -> Duration {
        self.request.poll / FIRST_INTERVAL
    }

    async fn rest(&self, interval: &mut Duration) -> Result<(), Error> {
        self.service.stop.unless_asked(tokio::time::sleep(*interval)).await?;
        *interval = (*interval * 3 / 2).min(self.request.poll);
        Ok(())
    }

    /// Reports the new entries of the build log. A log that cannot be read is skipped.
    async fn show_build_log(&mut self, new: &NewRevision, log: &mut BuildLog) -> Result<(), Error> {
        let (source, mut pass) = (LogSource::Build(new.id.clone()), LogPass::default());
        loop {
            let request = LogRequest {
                limit: Some(PAGE),
                order: Some(LogOrder::Ascending),
                offset: log.page.clone(),
                ..Default::default()
            };
            let page = self.call(async |client| client.logs(&new.deployment.id, &source, &request).await);
            let page = match page.await {
                Err(Error::Api(_)) => return Ok(()),
                page => page?,
            };
            let is_empty = page.logs.is_empty();
            for entry in page.logs {
                if log.shown.is_new(&mut pass, &entry) {
                    self.hooks.event(&log_entry(entry));
                }
            }
            match page.next_offset {
                Some(next) if !is_empty && Some(&next) != log.page.as_ref() => log.page = Some(next),
                _ => return Ok(()),
            }
        }
    }

    async fn end(&mut self, new: &NewRevision, found: &Revision) -> Result<(), Error> {
        let now = match self.call(async |client| client.deployment(&new.deployment.id).await).await {
            Err(Error::Api(_)) => new.deployment.clone(),
            now => now?,
        };
        if found.status == RevisionStatus::Deployed {
            self.hooks.event(&result("deployed", new, now.source_config.custom_url));
            return Ok(());
        }
        if let Some(serving) = serving_instead(&now, found) {
            match self.call(async |client| client.revision(&now.id, serving).await).await {
                Ok(serving) => self.hooks.note(still_serves(&now, &serving)),
                Err(Error::Api(_)) => {}
                Err(error) => return Err(error),
            }
        }
        match self.last_entries(new, found).await {
            Ok(entries) => entries.into_iter().rev().for_each(|entry| self.hooks.event(&log_entry(entry))),
            Err(Error::Api(error)) => {
                self.hooks.warn(format!("cannot read the log of the revision: {error}"));
            }
            Err(error) => return Err(error),
        }
        self.hooks.event(&result("failed", new, None));
        Err(failed(&now, found))
    }

    /// The end of the log that shows why a revision failed, the newest entry first.
    async fn last_entries(&mut self, new: &NewRevision, found: &Revision) -> Result<Vec<LogEntry>, Error> {
        let request =
            LogRequest { limit: Some(LAST_ENTRIES), order: Some(LogOrder::Descending), ..Default::default() };
        let source = match found.status {
            RevisionStatus::BuildFailed => LogSource::Build(new.id.clone()),
            // The reason is the line that matters.
            RevisionStatus::DeployFailed if found.reason().is_none() => {
                LogSource::Server(Some(new.id.clone()))
            }
            _ => return Ok(Vec::new()),
        };
        let id = &new.deployment.id;
        Ok(self.call(async |client| client.logs(id, &source, &request).await).await?.logs)
    }

    fn give_up(
        &mut self,
        new: &NewRevision,
        status: Option<&RevisionStatus>,
        timeout: Duration,
    ) -> Result<(), Error> {
        let NewRevision { deployment, id } = new;
        let status = status.map_or("of unknown status", RevisionStatus::word);
        self.hooks.event(&result("pending", new, None));
        Err(Error::Pending {
            message: format!(
                "revision {id} of `{}` is still {status} after {} s",
                deployment.name,
                timeout.as_secs()
            ),
            hint: format!(
                "the revision continues; see `agentcli deploy revisions list {}`, or raise --timeout",
                deployment.id
            ),
        })
    }
}

/// The ID of the revision that serves although `failed` does not, if there is one.
pub fn serving_instead<'a>(deployment: &'a Deployment, failed: &Revision) -> Option<&'a String> {
    deployment.active_revision_id.as_ref().filter(|active| **active != failed.id)
}

/// The note that an earlier revision serves.
pub fn still_serves(deployment: &Deployment, active: &Revision) -> String {
    let at = deployment.source_config.custom_url.as_ref().map(|url| format!(" at {url}"));
    format!("{} still serves{}", active.title(), at.unwrap_or_default())
}

/// The error of a revision that failed.
pub fn failed(deployment: &Deployment, revision: &Revision) -> Error {
    let (id, status) = (&deployment.id, &revision.status);
    let logs = format!("agentcli deploy logs {id} --revision-id {}", revision.id);
    let hint = match status {
        RevisionStatus::Skipped => {
            format!("a newer revision replaced it; see `agentcli deploy revisions list {id}`")
        }
        RevisionStatus::Interrupted => {
            "it was stopped on the service; run `agentcli deploy` to try again".to_owned()
        }
        RevisionStatus::BuildFailed => format!("run `{logs} --type build` to see the whole log of the build"),
        _ => format!("run `{logs}` to see the whole log of the server"),
    };
    let ended = match status {
        RevisionStatus::DeployFailed => "did not start".to_owned(),
        status => format!("ended with status {status}"),
    };
    let reason = revision.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    let message = format!("{} of `{}` {ended}{reason}", revision.title(), deployment.name);
    Error::Failed { message, hint }
}

/// Whether the service builds such a revision, and has started to.
fn has_build_log(source: &Source, status: &RevisionStatus) -> bool {
    let is_image = matches!(source, Source::InternalContainer | Source::ExternalContainer);
    !is_image && (*status == RevisionStatus::Building || status.is_built())
}
