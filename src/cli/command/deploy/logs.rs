//! `agentcli deploy logs`

mod reader;

use std::time::{Duration, Instant};

use reader::Reader;
use serde_json::json;

use crate::api::time;
use crate::api::wire::{LogEntry, LogLevel};
use crate::cli::account::AccountOptions;
use crate::cli::console::{ERROR, NOTE, WARNING, paint, say, visible, visible_line};
use crate::cli::env::Env;
use crate::cli::name::deployment_name;
use crate::cli::service::Service;
use crate::error::Error;

/// Timeout for an unreachable service while its log is followed.
const ABSENCE: Duration = Duration::from_secs(300);

/// Show the logs of a deployment or of a build
///
/// --follow shows every entry once, including entries that arrive up to five seconds late. Times are in ISO 8601, such as 2026-11-21, 2026-11-21T10:00 or 2026-11-21T10:00:00+01:00, and in UTC without an offset.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy logs --name my-agent --follow
  agentcli deploy logs --level ERROR --start-time 2026-11-21T10:00
  agentcli deploy logs --type build                # the build of the latest revision")]
pub(super) struct Logs {
    /// Wait for new entries and show them
    #[arg(short, long, conflicts_with = "end_time")]
    follow: bool,

    /// Show entries since this time
    #[arg(long, value_name = "TIME", value_parser = iso)]
    start_time: Option<String>,

    /// Show entries until this time
    #[arg(long, value_name = "TIME", value_parser = iso)]
    end_time: Option<String>,

    /// Filter by a substring of the message
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,

    /// Maximum number of entries to show, the newest ones; with --follow, of those before the start
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Filter by level
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true)]
    level: Option<Level>,

    /// ID of the revision [default: all revisions; for build logs, the latest]
    #[arg(long, value_name = "ID")]
    revision_id: Option<String>,

    /// Which log to show
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t)]
    log: LogType,

    /// ID of the deployment [default: found by --name]
    #[arg(long, value_name = "ID")]
    deployment_id: Option<String>,

    /// Name of the deployment [env or .env: PLATFORM_DEPLOYMENT_NAME] [default: name of the current directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Print entries as JSON Lines (`agentcli schema deploy`)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountOptions,
}

/// Level of an entry.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
enum Level {
    Debug,
    Info,
    Warning,
    Error,
    Critical,
}

/// Type of log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum LogType {
    /// Log of the running server
    #[default]
    Deploy,
    /// Log of the remote build
    Build,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
            Level::Critical => Self::Critical,
        }
    }
}

/// A time of the command line in the format of the service.
fn iso(text: &str) -> Result<String, String> {
    time::parse(text)
        .map(time::format)
        .ok_or_else(|| "not an ISO 8601 time, such as 2026-11-21T10:00:00Z".to_owned())
}

impl Logs {
    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        if let (Some(start), Some(end)) = (&self.start_time, &self.end_time)
            && start > end
        {
            return Err(Error::Usage {
                message: format!("--start-time {start} is after --end-time {end}"),
                hint: None,
            });
        }
        let mut service = Service::new(env, &self.account, None)?;
        let mut reader = self.reader(env, &mut service)?;
        let before = reader.newest(env, &mut service, self.limit)?;
        let are_none = before.is_empty();
        self.show(env, before)?;
        if !self.follow && are_none {
            env.print("no log entries found");
        }
        if !self.follow {
            return Ok(());
        }
        self.follow(env, &mut service, &mut reader)
    }

    /// A reader of the log. Finds the deployment and the revision if they are not given.
    fn reader(&self, env: &mut Env, service: &mut Service) -> Result<Reader, Error> {
        let is_build = self.log == LogType::Build;
        let mut latest = None;
        let deployment_id = match &self.deployment_id {
            Some(id) => id.clone(),
            None => {
                let name = deployment_name(env, self.name.as_deref(), None)?;
                let found = service.deployment_named(env, &name)?;
                latest = found.latest_revision_id;
                found.id
            }
        };
        if is_build && self.revision_id.is_none() && self.deployment_id.is_some() {
            let found = service.call(env, async |client| client.deployment(&deployment_id).await)?;
            latest = found.latest_revision_id;
        }
        let revision_id = match (&self.revision_id, is_build) {
            (Some(id), _) => Some(id.clone()),
            (None, false) => None,
            (None, true) => Some(latest.ok_or_else(|| Error::Usage {
                message: "the deployment has no revision, and so no build log".to_owned(),
                hint: None,
            })?),
        };
        Ok(Reader::new(reader::Log {
            deployment_id,
            revision_id,
            is_build,
            level: self.level.map(Into::into),
            query: self.query.clone(),
            start_time: self.start_time.clone(),
            end_time: self.end_time.clone(),
            is_followed: self.follow,
        }))
    }

    /// Shows new entries until the build has ended, or until nobody reads them. Waits for a service that is unreachable
    /// for a while.
    fn follow(&self, env: &mut Env, service: &mut Service, reader: &mut Reader) -> Result<(), Error> {
        let mut heard = Instant::now();
        while !env.out.is_closed {
            // Queried before the log is read, so that the last entries are not missed.
            let done = reader.is_over(env, service).and_then(|is_over| {
                let said = reader.next(env, service, |env, entries| self.show(env, entries));
                said.map(|()| is_over)
            });
            match done {
                Ok(true) => return Ok(()),
                Ok(false) => heard = Instant::now(),
                Err(Error::Api(error)) if error.may_pass() && heard.elapsed() < ABSENCE => {
                    say(env, WARNING, "warning", &format!("{error}; still following"));
                }
                Err(error) => return Err(error),
            }
            service.pause(env.retry_policy.poll)?;
        }
        Ok(())
    }

    fn show(&self, env: &mut Env, entries: Vec<LogEntry>) -> Result<(), Error> {
        for entry in entries {
            let line = match self.json {
                true => json!(entry).to_string(),
                false => in_words(env, &entry),
            };
            env.out.write(&format!("{line}\n"))?;
        }
        Ok(env.out.flush()?)
    }
}

/// `2026-11-21T10:00:00.000Z ERROR    out of memory`
fn in_words(env: &Env, entry: &LogEntry) -> String {
    let time = entry.timestamp.as_ref().map(|time| visible_line(&time.to_string())).unwrap_or_default();
    let level = entry.level.as_ref().map_or("", LogLevel::word);
    let style = match &entry.level {
        Some(LogLevel::Error | LogLevel::Critical) => ERROR,
        Some(LogLevel::Warning) => WARNING,
        _ => NOTE,
    };
    let level = paint(&env.out, style, &format!("{:<8}", visible_line(level)));
    let message = entry.message.as_deref().unwrap_or_default();
    format!("{time} {level} {}", visible(message.trim_end_matches('\n')))
}
