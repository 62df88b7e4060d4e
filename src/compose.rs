//! docker compose, for services of the user beside those of the setup.
//!
//! The images of the setup are built and pulled as by `up`. Compose gets the user's file and a file of the setup, which
//! lies in [`HOME`](crate::project::HOME) and holds no values: compose gets those as environment variables.

mod error;
mod program;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::timeout;

use crate::compiler::back::plan::{Setup, Variable};
use crate::live::{Reporter, Stop};
use crate::project::{self, HOME};
use crate::up::Session;

pub use error::Error;
pub use run::run;

/// The name of the setup's file, in [`HOME`].
const FILE: &str = "compose.yaml";

/// Time for `compose down` to exit after an interruption.
const LAST_STEPS: Duration = Duration::from_secs(8);

/// The prefix of the variables that hold values for compose; a number follows.
const VARIABLE: &str = "AGENTCLI_VALUE_";

/// A project of compose. There is no `Debug`: variables hold secrets.
pub struct Project {
    /// The configuration's directory, absolute: relative paths of the user's file start here.
    pub directory: PathBuf,
    /// The project's name.
    pub name: String,
    /// The user's file, absolute.
    pub file: PathBuf,
    /// Variables for compose itself, such as the engine's address.
    pub variables: Vec<(String, String)>,
}

/// The setup with every value of a variable replaced by a reference to another variable, which `project` gets. The result
/// holds no secrets, and no text that compose would interpret.
pub fn without_values(session: &Session, project: &mut Project) -> Setup {
    let mut setup = session.setup.clone();
    let mut count = 0;
    for service in &mut setup.services {
        let environment = session.environment(service);
        service.env_file = None;
        service.environment = environment
            .into_iter()
            .map(|(name, value)| {
                let other = format!("{VARIABLE}{count}");
                count += 1;
                project.variables.push((other.clone(), value));
                (name, Variable::From { names: vec![other], is_needed: false })
            })
            .collect();
    }
    setup
}

/// Stops and removes everything of a project, including the services of the user's file, and with `volumes` its volumes.
///
/// # Errors
///
/// Compose is missing or fails.
pub async fn down(
    project: &Project,
    volumes: bool,
    reporter: &mut dyn Reporter,
    stop: &Stop,
) -> Result<(), Error> {
    let program = stop.unless_asked(program::find(project)).await??;
    let down = program::by_labels(program, project).argument("down");
    let down = if volumes { down.argument("--volumes") } else { down };
    let mut child = program::start(&down)?;
    let done = stop.unless_asked(program::finish(&mut child, &down, &[], reporter)).await;
    if done.is_err() {
        child.interrupt();
        let ended = timeout(LAST_STEPS, program::finish(&mut child, &down, &[], reporter));
        if !stop.unless_forced(ended).await.is_ok_and(|ended| ended.is_ok()) {
            child.kill().await;
        }
    }
    done?
}

/// Writes the file of the setup to a place that git ignores.
fn write(project: &Project, text: &str) -> Result<PathBuf, Error> {
    let home = project.directory.join(HOME);
    let failed = |source| Error::Home { path: home.clone(), source };
    project::hidden_directory(&home).map_err(failed)?;
    let file = home.join(FILE);
    project::write_hidden(&file, text.as_bytes())?;
    Ok(file)
}
