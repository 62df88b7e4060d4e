//! The revision, watched until it is deployed or never will be.

use std::time::{Duration, Instant};

use super::Shipment;
use super::event::Event;
use crate::api::wire::{
    Cursor, Deployment, LogEntry, LogOrder, LogRequest, Revision, RevisionStatus, Source,
};
use crate::cli::command::deploy::seen::{Look, Seen};
use crate::cli::console::visible_line;
use crate::error::Error;

/// How much shorter the first pause between two looks is than the longest.
const FIRST: u32 = 8;

/// How long a revision may take to be listed after the patch that makes it.
const TO_APPEAR: Duration = Duration::from_secs(30);

/// How many lines of a log say why something failed.
const LAST_LINES: u32 = 30;

/// How many entries of a log are asked for at once.
const ENTRIES: u32 = 100;

/// What a build has said so far.
#[derive(Default)]
struct BuildLog {
    /// The last page, which is read again: it may have grown.
    page: Option<Cursor>,
    told: Seen,
}

impl Shipment<'_> {
    /// The id of the revision that a patch has made: the newest of `after`, or soon of the list.
    pub(super) async fn newest(&mut self, before: &Deployment, after: &Deployment) -> Result<String, Error> {
        let is_new = |id: &String| before.latest_revision_id.as_ref() != Some(id);
        if let Some(newest) = after.latest_revision_id.clone().filter(is_new) {
            return Ok(newest);
        }
        let start = Instant::now();
        let mut pause = self.env.patience.poll / FIRST;
        while start.elapsed() < TO_APPEAR {
            let newest = self.ask(self.client.revisions(&after.id, 1)).await?;
            if let Some(newest) = newest.into_iter().map(|it| it.id).next().filter(is_new) {
                return Ok(newest);
            }
            self.rest(&mut pause).await?;
        }
        Err(Error::DeploymentPending {
            message: format!("no new revision of `{}` has appeared", after.name),
            hint: format!("`agentcli deploy revisions list {}` shows what there is", after.id),
        })
    }

    /// Follows `revision` until it is deployed.
    pub(super) async fn follow(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        patience: Duration,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let mut pause = self.env.patience.poll / FIRST;
        let mut log = (self.ship.json || self.env.verbose).then(BuildLog::default);
        let mut status: Option<RevisionStatus> = None;
        let mut is_away = false;
        loop {
            let is_late = start.elapsed() > patience;
            let found = self.look(deployment, revision, &mut is_away).await?;
            let Some(Revision { status: now, source, .. }) = found else {
                if is_late {
                    return self.give_up(deployment, revision, status.as_ref(), patience);
                }
                self.rest(&mut pause).await?;
                continue;
            };
            if status.as_ref() != Some(&now) {
                self.say(Event::Status {
                    status: now.word().to_owned(),
                    seconds: start.elapsed().as_secs_f64(),
                });
                pause = self.env.patience.poll / FIRST;
            }
            let is_over = now.is_built();
            if let Some(log) = log.as_mut().filter(|_| builds(&source, &now)) {
                self.tell_build(deployment, revision, log).await?;
            }
            // Its last words are there by then, and were just read.
            log = log.filter(|_| !is_over);
            if now.is_final() {
                return self.end(deployment, revision, now).await;
            }
            if is_late {
                return self.give_up(deployment, revision, Some(&now), patience);
            }
            status = Some(now);
            self.rest(&mut pause).await?;
        }
    }

    /// The revision; nothing while the service is away, which is told once.
    async fn look(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        is_away: &mut bool,
    ) -> Result<Option<Revision>, Error> {
        match self.ask(self.client.revision(&deployment.id, revision)).await {
            Ok(found) => {
                *is_away = false;
                Ok(Some(found))
            }
            Err(Error::Api(error)) if error.may_pass() => {
                if !std::mem::replace(is_away, true) {
                    self.say(Event::Warning { message: format!("{error}; still waiting") });
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn rest(&self, pause: &mut Duration) -> Result<(), Error> {
        self.stop.unless_asked(tokio::time::sleep(*pause)).await?;
        *pause = (*pause * 3 / 2).min(self.env.patience.poll);
        Ok(())
    }

    /// Tells what the build has said since it was last asked. A log that cannot be read is no reason to stop.
    async fn tell_build(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        log: &mut BuildLog,
    ) -> Result<(), Error> {
        let mut look = Look::default();
        loop {
            let request = LogRequest {
                limit: Some(ENTRIES),
                order: Some(LogOrder::Ascending),
                offset: log.page.clone(),
                ..Default::default()
            };
            let page = self.client.build_logs(&deployment.id, revision, &request);
            let Ok(page) = self.stop.unless_asked(page).await? else { return Ok(()) };
            let is_empty = page.logs.is_empty();
            for entry in page.logs {
                if log.told.is_new(&mut look, &entry) {
                    self.say(Event::log(entry));
                }
            }
            match page.next_offset {
                Some(next) if !is_empty && Some(&next) != log.page.as_ref() => log.page = Some(next),
                _ => return Ok(()),
            }
        }
    }

    async fn end(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        status: RevisionStatus,
    ) -> Result<(), Error> {
        if status == RevisionStatus::Deployed {
            let now = self.stop.unless_asked(self.client.deployment(&deployment.id)).await?;
            let url = now.as_ref().unwrap_or(deployment).source_config.custom_url.clone();
            self.say(Event::result("deployed", deployment, revision, url));
            return Ok(());
        }
        self.tell_why(deployment, revision, &status).await?;
        self.say(Event::result("failed", deployment, revision, None));
        let id = &deployment.id;
        let logs = format!("agentcli deploy logs --deployment-id {id} --revision-id {revision}");
        let hint = match status {
            RevisionStatus::Skipped => {
                format!("a newer revision has taken its place; see `agentcli deploy revisions list {id}`")
            }
            RevisionStatus::Interrupted => "somebody stopped it; `agentcli deploy` tries again".to_owned(),
            RevisionStatus::BuildFailed => format!("`{logs} --type build` shows all of the build's log"),
            _ => format!("`{logs}` shows all of the server's log"),
        };
        Err(Error::DeploymentFailed {
            message: format!("revision {revision} of `{}` ended as {status}", deployment.name),
            hint,
        })
    }

    /// The last lines of the log that says why.
    async fn tell_why(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        status: &RevisionStatus,
    ) -> Result<(), Error> {
        let request =
            LogRequest { limit: Some(LAST_LINES), order: Some(LogOrder::Descending), ..Default::default() };
        let page = match status {
            RevisionStatus::BuildFailed => {
                self.stop.unless_asked(self.client.build_logs(&deployment.id, revision, &request)).await?
            }
            RevisionStatus::DeployFailed => {
                let log = self.client.deploy_logs(&deployment.id, Some(revision), &request);
                self.stop.unless_asked(log).await?
            }
            _ => return Ok(()),
        };
        match page {
            Ok(page) => page.logs.into_iter().rev().for_each(|entry| {
                let line = entry.message.unwrap_or_default();
                self.env.tell(&format!("  | {}", visible_line(line.trim_end())));
            }),
            Err(error) => self.say(Event::Warning { message: format!("its log cannot be read: {error}") }),
        }
        Ok(())
    }

    fn give_up(
        &mut self,
        deployment: &Deployment,
        revision: &str,
        status: Option<&RevisionStatus>,
        patience: Duration,
    ) -> Result<(), Error> {
        let status = status.map_or("of a status that is not known", RevisionStatus::word);
        self.say(Event::result("pending", deployment, revision, None));
        Err(Error::DeploymentPending {
            message: format!(
                "revision {revision} of `{}` is still {status} after {} s",
                deployment.name,
                patience.as_secs()
            ),
            hint: format!(
                "it goes on without you: see `agentcli deploy revisions list {}`; --timeout waits longer",
                deployment.id
            ),
        })
    }
}

/// Whether the service builds such a revision, and has something to say of it.
fn builds(source: &Source, status: &RevisionStatus) -> bool {
    let is_image = matches!(source, Source::InternalContainer | Source::ExternalContainer);
    !is_image && (*status == RevisionStatus::Building || status.is_built())
}

impl Event {
    fn log(entry: LogEntry) -> Self {
        Event::Log {
            time: entry.timestamp.as_ref().map(ToString::to_string),
            level: entry.level.map(|level| level.word().to_owned()),
            message: entry.message.unwrap_or_default(),
        }
    }

    /// How it ended.
    pub(super) fn result(
        status: &'static str,
        deployment: &Deployment,
        revision: &str,
        url: Option<String>,
    ) -> Self {
        Event::Result {
            status,
            name: deployment.name.clone(),
            deployment_id: deployment.id.clone(),
            revision_id: revision.to_owned(),
            url,
        }
    }
}
