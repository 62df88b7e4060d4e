//! The program: the plugin of docker, else the standalone program.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::{Error, Project};
use crate::child::{Child, Command, Status};
use crate::live::{Event, Reporter};

/// The ways to call it, in order of preference.
const PROGRAMS: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];

/// The oldest supported major version.
const OLDEST: u32 = 2;

/// Grace period of compose. Each container has one of ten seconds.
const GRACE: Duration = Duration::from_secs(60);

/// The name for lines of no service.
const COMPOSE: &str = "compose";

/// Starts compose.
pub(super) fn start(command: &Command) -> Result<Child, Error> {
    Ok(Child::start(command, GRACE)?)
}

/// Reads the lines of compose until it ends.
///
/// # Errors
///
/// Compose fails.
pub(super) async fn finish(
    child: &mut Child,
    command: &Command,
    hidden: &[String],
    reporter: &mut dyn Reporter,
) -> Result<(), Error> {
    let status = child.finish(|lines| report(&lines, hidden, reporter)).await?;
    check(command, status)
}

/// Fails if compose has ended with this status.
pub(super) fn check(command: &Command, status: Status) -> Result<(), Error> {
    if status.is_success() {
        return Ok(());
    }
    let is_last_option = |word: &OsString| word == "--file" || word == "--project-name";
    let words = command.arguments.iter().rev().take_while(|word| !is_last_option(word));
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let subcommand = words.iter().rev().skip(1).find(|word| !word.starts_with('-'));
    let subcommand = subcommand.map(|word| word.to_string()).unwrap_or_default();
    Err(Error::Failed { command: format!("docker compose {subcommand}"), status: status.to_string() })
}

/// The first program that answers and is supported.
pub(super) async fn find(project: &Project) -> Result<&'static [&'static str], Error> {
    if !project.file.is_file() {
        return Err(Error::NoFile { file: project.file.clone() });
    }
    let mut old = None;
    for words in PROGRAMS {
        let Some(version) = version(words, project).await? else { continue };
        if major(&version).is_some_and(|major| major >= OLDEST) {
            return Ok(words);
        }
        old = Some(version);
    }
    Err(Error::Missing { file: project.file.clone(), found: old })
}

/// The version of a program; none if the program does not exist.
async fn version(words: &[&str], project: &Project) -> Result<Option<String>, Error> {
    let mut child = start(&command(words, project).arguments(["version", "--short"]))?;
    let status = child.finish(drop).await?;
    let version = child.last_lines().into_iter().rev().find(|line| major(line).is_some());
    Ok(version.filter(|_| status.is_success()).map(|line| line.trim().to_owned()))
}

/// `2` of `v2.26.1`
fn major(version: &str) -> Option<u32> {
    version.trim().trim_start_matches('v').split_once('.')?.0.parse().ok()
}

/// Compose with the files of a project, `setup` among them; the subcommand is missing.
pub(super) fn with_files(words: &[&str], project: &Project, setup: &Path) -> Command {
    let command = named(command(words, project), project);
    let command = command.argument("--project-directory").argument(&project.directory);
    [setup, &project.file]
        .into_iter()
        .fold(command, |command, file| command.argument("--file").argument(file))
}

/// Compose for what has the labels of a project; the subcommand is missing. It reads no file: started in the root directory,
/// it finds none.
pub(super) fn by_labels(words: &[&str], project: &Project) -> Command {
    let mut command = command(words, project).without("COMPOSE_FILE");
    command.directory = project.directory.ancestors().last().unwrap_or(&project.directory).to_owned();
    named(command, project)
}

/// The caller has read the .env file.
fn named(command: Command, project: &Project) -> Command {
    command.arguments(["--ansi", "never", "--env-file", "/dev/null", "--project-name", &project.name])
}

fn command(words: &[&str], project: &Project) -> Command {
    let mut command = Command::new(words[0], &project.directory).arguments(&words[1..]);
    command.variables.extend(project.variables.iter().cloned());
    command
}

/// Reports lines, except those of `hidden` services. `langgraph-api-1  | a line` belongs to a service; other lines are those
/// of compose.
pub(super) fn report(lines: &[String], hidden: &[String], reporter: &mut dyn Reporter) {
    for line in lines {
        let (service, line) = match line.split_once(" | ").map(|(name, rest)| (name.trim_end(), rest)) {
            Some((name, rest)) if is_container(name) => (without_number(name), rest),
            _ => (COMPOSE, line.trim_end()),
        };
        if !line.is_empty() && !hidden.iter().any(|name| name == service) {
            reporter.event(&Event::Log { service: Some(service.to_owned()), line: line.to_owned() });
        }
    }
}

fn is_container(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// The service of a container, whose name is as compose prints it.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((service, number)) if number.chars().all(|c| c.is_ascii_digit()) => service,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn versions() {
        for (text, expected) in [
            ("2.26.1-4", Some(2)),
            ("v2.3.3\n", Some(2)),
            ("1.29.2", Some(1)),
            ("docker: 'compose' is not", None),
        ] {
            assert_eq!(major(text), expected, "{text}");
        }
    }
}
