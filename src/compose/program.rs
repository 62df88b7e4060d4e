//! The program: the plugin of docker, else the one of its own.

use std::path::Path;
use std::time::Duration;

use super::{Error, Project};
use crate::child::{Child, Command};

/// How it may be called, the preferred first.
const PROGRAMS: [&[&str]; 2] = [&["docker", "compose"], &["docker-compose"]];

/// The oldest major version that knows what is asked of it.
const OLDEST: u32 = 2;

/// How long it has to end once it is asked to. Each container has ten seconds of the engine's.
const GRACE: Duration = Duration::from_secs(60);

/// A running compose, under its guard.
pub(super) fn start(command: &Command) -> Result<Child, Error> {
    Ok(Child::start(command, GRACE)?)
}

/// The first that answers and is not too old.
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

/// What it says that it is; nothing where it is not there.
async fn version(words: &[&str], project: &Project) -> Result<Option<String>, Error> {
    let mut said = None;
    let command = command(words, project).arguments(["version", "--short"]);
    let status = start(&command)?
        .finish(|line| {
            if major(line).is_some() {
                said = Some(line.trim().to_owned());
            }
        })
        .await?;
    Ok(said.filter(|_| status.is_success()))
}

/// `2` of `v2.26.1`
fn major(version: &str) -> Option<u32> {
    version.trim().trim_start_matches('v').split_once('.')?.0.parse().ok()
}

/// A call for the project, with the file of the setup where there is one, up to what is asked of it.
pub(super) fn call(words: &[&str], project: &Project, setup: Option<&Path>) -> Command {
    let mut command = command(words, project).arguments(["--ansi", "never", "--project-name", &project.name]);
    command = command.argument("--project-directory").argument(&project.directory);
    for file in setup.into_iter().chain([project.file.as_path()]) {
        command = command.argument("--file").argument(file);
    }
    command
}

fn command(words: &[&str], project: &Project) -> Command {
    let mut command = Command::new(words[0], &project.directory).arguments(&words[1..]);
    for (name, value) in &project.variables {
        command = command.variable(name, value);
    }
    command
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
