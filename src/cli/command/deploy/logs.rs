//! `agentcli deploy logs`

mod reader;

use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use reader::Reader;
use serde_json::json;

use super::cluster::InCluster;
use super::which::Which;
use crate::api::wire::{LogEntry, LogLevel, LogRequest, Timestamp};
use crate::api::{LogSource, time};
use crate::cli::account::AccountOptions;
use crate::cli::console::{ERROR, NOTE, WARNING, paint, say, visible, visible_line};
use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::cli::settings::Settings;
use crate::cluster::LogQuery;
use crate::error::Error;

/// Timeout for an unreachable service while its log is followed.
const ABSENCE: Duration = Duration::from_secs(300);

/// Show the logs of a deployment or of a build
///
/// --follow shows every entry once, including entries that arrive up to five seconds late. Times are in ISO 8601, such as 2026-11-21, 2026-11-21T10:00 or 2026-11-21T10:00:00+01:00, and in UTC without an offset.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  agentcli deploy logs my-agent --follow
  agentcli deploy logs --level ERROR --start-time 2026-11-21T10:00
  agentcli deploy logs --type build                # the build of the latest revision")]
pub(super) struct Logs {
    #[command(flatten)]
    which: Which,

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
    #[arg(long, value_name = "LEVEL", value_parser = level(), ignore_case = true)]
    level: Option<LogLevel>,

    /// ID of the revision [default: all revisions; for build logs, the latest]
    #[arg(long, value_name = "ID")]
    revision_id: Option<String>,

    /// Which log to show
    #[arg(long = "type", value_name = "TYPE", value_enum, default_value_t)]
    log: LogType,

    /// ID of the deployment, as an option
    #[arg(long, value_name = "ID", conflicts_with = "which", hide = true)]
    deployment_id: Option<String>,

    /// Name of the deployment, as an option
    #[arg(long, value_name = "NAME", conflicts_with = "which", hide = true)]
    name: Option<String>,

    /// Print entries as JSON Lines (`agentcli schema deploy`)
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountOptions,
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

/// A level in upper or lower case.
fn level() -> impl TypedValueParser<Value = LogLevel> {
    PossibleValuesParser::new(LogLevel::WORDS).map(|word| word.to_uppercase().into())
}

/// A time of the command line in the format of the service.
fn iso(text: &str) -> Result<String, String> {
    time::parse(text)
        .map(time::format)
        .ok_or_else(|| "not an ISO 8601 time, such as 2026-11-21T10:00:00Z".to_owned())
}

impl Logs {
    /// Shows the logs of all pods in a cluster, whose entries kubectl cannot filter.
    pub(super) fn run_in(self, cluster: InCluster<'_>) -> Result<(), Error> {
        self.check()?;
        if self.log == LogType::Build {
            let hint =
                "leave out --type: `deploy --to kubernetes` builds on this machine, and prints the log there";
            return Err(Error::usage("a cluster has no build logs", hint));
        }
        let name = self.which.name(cluster.env)?;
        cluster.existing(&name)?;
        let InCluster { env, runtime, cluster } = cluster;
        let mut query = LogQuery {
            revision: self.revision_id.clone(),
            since: self.start_time.clone(),
            limit: self.limit,
            follow: false,
        };
        let mut before = Vec::new();
        let read = |entries: &mut Vec<LogEntry>, line: String| {
            entries.extend(entry(&line).filter(|it| self.wants(it)))
        };
        runtime.block_on(cluster.logs(&name, &query, |line| read(&mut before, line)))?;
        before.sort_by_key(time_of);
        let mut last = before.last().map(time_of).or(query.since.clone()).unwrap_or_default();
        let first = before.len().saturating_sub(self.limit as usize);
        let are_none = before.is_empty();
        self.show(env, before.split_off(first))?;
        if !self.follow {
            if are_none {
                env.print("no log entries found");
            }
            return Ok(());
        }
        let stop = env.stop.clone();
        query = LogQuery { limit: u32::MAX, follow: true, ..query };
        // kubectl ends with the pods that it follows; others may have replaced them.
        loop {
            query.since = Some(last.clone()).filter(|last| !last.is_empty());
            let seen = last.clone();
            let following = cluster.logs(&name, &query, |line| {
                let new = entry(&line).filter(|it| time_of(it) > seen);
                if let Some(it) = new {
                    last = last.clone().max(time_of(&it));
                    if self.wants(&it) {
                        self.show(env, vec![it]).ok();
                    }
                }
                env.out.flush().ok();
            });
            runtime.block_on(stop.unless_asked(following)).map_err(|_| Error::Unfollowed)??;
            if env.out.is_closed {
                return Ok(());
            }
            let pause = async { tokio::time::sleep(env.retry_policy.poll).await };
            runtime.block_on(stop.unless_asked(pause)).map_err(|_| Error::Unfollowed)?;
        }
    }

    /// Whether the options ask for an entry.
    fn wants(&self, entry: &LogEntry) -> bool {
        let message = entry.message.as_deref().unwrap_or_default();
        self.query.as_ref().is_none_or(|query| message.contains(query))
            && self.level.as_ref().is_none_or(|level| entry.level.as_ref() == Some(level))
            && self.end_time.as_ref().is_none_or(|end| time_of(entry) <= *end)
    }

    fn check(&self) -> Result<(), Error> {
        if let (Some(start), Some(end)) = (&self.start_time, &self.end_time)
            && start > end
        {
            return Err(Error::misused(format!("--start-time {start} is after --end-time {end}")));
        }
        Ok(())
    }

    pub(super) fn run(self, env: &mut Env) -> Result<(), Error> {
        self.check()?;
        let mut settings = Settings::beside(env, None);
        let mut service = Service::with(env, &self.account, &mut settings)?;
        let mut reader = self.reader(&mut service, &settings)?;
        let before = reader.newest(&mut service, self.limit)?;
        let are_none = before.is_empty();
        self.show(service.env, before)?;
        if self.follow {
            return self.follow(service, reader).map_err(|error| match error {
                Error::Interrupted => Error::Unfollowed,
                error => error,
            });
        }
        if are_none {
            env.print("no log entries found");
        }
        Ok(())
    }

    /// A reader of the log. Finds the deployment and the revision if they are not given.
    fn reader(&self, service: &mut Service<'_>, settings: &Settings) -> Result<Reader, Error> {
        let found = match &self.deployment_id {
            None => Some(match &self.name {
                Some(name) => service.deployment_named(name)?,
                None => self.which.of(service, settings)?,
            }),
            Some(id) if self.log == LogType::Build && self.revision_id.is_none() => {
                Some(service.call(async |client| client.deployment(id).await)?)
            }
            Some(_) => None,
        };
        let (found_id, latest) = found.map(|found| (found.id, found.latest_revision_id)).unzip();
        let missing = || Error::misused("the deployment has no revision, and so no build log");
        let source = match (self.log, self.revision_id.clone()) {
            (LogType::Deploy, revision_id) => LogSource::Server(revision_id),
            (LogType::Build, Some(revision_id)) => LogSource::Build(revision_id),
            (LogType::Build, None) => LogSource::Build(latest.flatten().ok_or_else(missing)?),
        };
        let deployment_id = found_id.or_else(|| self.deployment_id.clone()).unwrap_or_default();
        Ok(Reader::new(reader::Log {
            deployment_id,
            source,
            filter: LogRequest {
                level: self.level.clone(),
                query: self.query.clone(),
                start_time: self.start_time.clone(),
                end_time: self.end_time.clone(),
                ..LogRequest::default()
            },
            is_followed: self.follow,
        }))
    }

    /// Shows new entries until the build has ended, or until nobody reads them. Waits for a service that is unreachable
    /// for a while.
    fn follow(&self, mut service: Service<'_>, mut reader: Reader) -> Result<(), Error> {
        let mut heard = Instant::now();
        while !service.env.out.is_closed {
            // Queried before the log is read, so that the last entries are not missed.
            let done = reader.is_over(&mut service).and_then(|is_over| {
                let said = reader.next(&mut service, |env, entries| self.show(env, entries));
                said.map(|()| is_over)
            });
            match done {
                Ok(true) => return Ok(()),
                Ok(false) => heard = Instant::now(),
                Err(Error::Api(error)) if error.may_pass() && heard.elapsed() < ABSENCE => {
                    say(service.env, WARNING, "warning", &format!("{error}; still following"));
                }
                Err(error) => return Err(error),
            }
            service.pause()?;
        }
        Ok(())
    }

    fn show(&self, env: &mut Env, entries: Vec<LogEntry>) -> Result<(), Error> {
        for entry in entries {
            let line = if self.json { json!(entry).to_string() } else { in_words(env, &entry) };
            env.out.line(&line)?;
        }
        Ok(())
    }
}

/// The entry of a line that kubectl prints; none if it has no time.
fn entry(line: &str) -> Option<LogEntry> {
    let (moment, message) = line.split_once(' ').unwrap_or((line, ""));
    time::parse(moment)?;
    Some(LogEntry {
        timestamp: Some(Timestamp::Text(moment.to_owned())),
        level: without_prefix(message).map(|(level, _)| level),
        message: Some(message.to_owned()),
        ..LogEntry::default()
    })
}

fn time_of(entry: &LogEntry) -> String {
    entry.timestamp.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// `2026-11-21T10:00:00.000Z ERROR    out of memory`
fn in_words(env: &Env, entry: &LogEntry) -> String {
    let time = entry.timestamp.as_ref().map(|time| visible_line(&time.to_string())).unwrap_or_default();
    let message = entry.message.as_deref().unwrap_or_default();
    let (own_level, message) =
        without_prefix(message).map_or((None, message), |(level, text)| (Some(level), text));
    let level = own_level.or_else(|| entry.level.clone());
    let style = match &level {
        Some(LogLevel::Error | LogLevel::Critical) => ERROR,
        Some(LogLevel::Warning) => WARNING,
        _ => NOTE,
    };
    let word = level.as_ref().map_or("", LogLevel::word);
    let level = paint(&env.out, style, &format!("{:<8}", visible_line(word)));
    format!("{time} {level} {}", visible(message.trim_end_matches('\n')))
}

/// The level and the text of a line that starts with a time and a level of the server's own, such as
/// `2026-11-28T15:00:00.838Z [warning  ] …`.
fn without_prefix(message: &str) -> Option<(LogLevel, &str)> {
    let (moment, rest) = message.split_once(' ')?;
    let (level, text) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let level = level.trim().to_ascii_uppercase();
    let is_prefix = time::parse(moment).is_some() && LogLevel::WORDS.contains(&level.as_str());
    is_prefix.then(|| (level.into(), text.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_server_have_one_time_and_one_level() {
        let found = |message| without_prefix(message).map(|(level, text)| (level.word().to_owned(), text));
        let line = "2026-11-28T15:00:00.838276Z [warning  ] out of memory  [app]";
        assert_eq!(found(line), Some(("WARNING".to_owned(), "out of memory  [app]")));
        for other in
            ["", "out of memory", "2026-11-28T15:00:00Z out", "2026-11-28T15:00:00Z [id] out", "now [info] x"]
        {
            assert_eq!(found(other), None, "{other}");
        }
    }
}
