//! `agentcli deploy logs`

mod pods;
mod reader;

use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use reader::{Log, Reader};
use serde_json::json;

use super::cluster::ClusterOptions;
use super::target::Target;
use super::which::Which;
use crate::api::wire::{LogEntry, LogLevel, LogRequest};
use crate::api::{LogSource, time};
use crate::cli::account::AccountOptions;
use crate::cli::console::{ERROR, NOTE, WARNING, paint, say, visible, visible_line};
use crate::cli::env::Env;
use crate::cli::service::Service;
use crate::cli::settings::Settings;
use crate::cluster::Kind;
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
    fn check(&self) -> Result<(), Error> {
        if let (Some(start), Some(end)) = (&self.start_time, &self.end_time)
            && start > end
        {
            return Err(Error::misused(format!("--start-time {start} is after --end-time {end}")));
        }
        Ok(())
    }

    pub(super) fn run(self, env: &mut Env, cluster: &ClusterOptions) -> Result<(), Error> {
        self.check()?;
        let (mut target, log) =
            if cluster.is_meant() { self.of_cluster(env, cluster)? } else { self.of_service(env)? };
        let mut reader = Reader::new(log);
        let before = reader.newest(&mut target, self.limit)?;
        let are_none = before.is_empty();
        self.show(target.env(), before)?;
        if self.follow {
            return self.follow(target, reader).map_err(|error| match error {
                Error::Interrupted => Error::Unfollowed,
                error => error,
            });
        }
        if are_none {
            target.env().print("no log entries found");
        }
        Ok(())
    }

    /// The log of the pods of a deployment in a cluster.
    fn of_cluster<'a>(&self, env: &'a mut Env, cluster: &ClusterOptions) -> Result<(Target<'a>, Log), Error> {
        if self.log == LogType::Build {
            let hint =
                "leave out --type: `deploy --to kubernetes` builds on this machine, and prints the log there";
            return Err(Error::usage("a cluster has no build logs", hint));
        }
        let name = self.name.clone().map_or_else(|| self.which.name(env), Ok)?;
        let cluster = cluster.open(env)?;
        cluster.existing(&name)?;
        let log = self.log(name, LogSource::Server(self.revision_id.clone()));
        Ok((Target::Cluster(cluster), log))
    }

    /// The log of a deployment of the service, or of a build there. Finds the deployment and the revision if they are not
    /// given.
    fn of_service<'a>(&self, env: &'a mut Env) -> Result<(Target<'a>, Log), Error> {
        let mut settings = Settings::beside(env, None);
        let mut service = Service::with(env, &self.account, &mut settings)?;
        let found = match &self.deployment_id {
            None => Some(match &self.name {
                Some(name) => service.deployment_named(name)?,
                None => self.which.of(&mut service, &settings)?,
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
        let log = self.log(deployment_id, source);
        Ok((Target::Service(service), log))
    }

    fn log(&self, deployment_id: String, source: LogSource) -> Log {
        Log {
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
        }
    }

    /// Shows new entries until the build has ended, or until nobody reads them. Waits for a service that is unreachable
    /// for a while.
    fn follow(&self, mut target: Target<'_>, mut reader: Reader) -> Result<(), Error> {
        let mut heard = Instant::now();
        while !target.env().out.is_closed {
            // Queried before the log is read, so that the last entries are not missed.
            let done = reader.is_over(&mut target).and_then(|is_over| {
                let said = reader.next(&mut target, |env, entries| self.show(env, entries));
                said.map(|()| is_over)
            });
            match done {
                Ok(true) => return Ok(()),
                Ok(false) => heard = Instant::now(),
                Err(error) if may_pass(&error) && heard.elapsed() < ABSENCE => {
                    say(target.env(), WARNING, "warning", &format!("{error}; still following"));
                }
                Err(error) => return Err(error),
            }
            target.pause()?;
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

/// Whether an error may pass without a change.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Api(error) => error.may_pass(),
        Error::Cluster(error) => error.is(Kind::Unreachable),
        _ => false,
    }
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
