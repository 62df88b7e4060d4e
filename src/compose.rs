//! docker compose, for the one thing that needs it: services of the user's own beside those of the setup.
//!
//! The images of the setup are built and pulled as ever. What compose is given is a file of the setup without a value in
//! it, kept in [`HOME`](crate::project::HOME), and the user's; values reach it as variables of its environment alone.

mod error;
mod follow;
mod program;

use std::path::PathBuf;

use tokio::time::Instant;

use crate::compiler::back::plan::{Setup, Variable};
use crate::engine::Engine;
use crate::live::{Event, Interrupted, Stop};
use crate::probe::{self, Probe};
use crate::project::{self, HOME};
use crate::up::{self, Hooks, Mode, Options, Session, Turn};
use follow::{Follow, Ready};

pub use error::Error;

/// What the setup's file is called, in [`HOME`].
const FILE: &str = "compose.yaml";

/// The variables that hold values for compose: this and a number.
const VARIABLE: &str = "AGENTCLI_VALUE_";

/// How compose is called for one project. There is no `Debug`: variables hold secrets.
pub struct Project {
    /// The configuration's directory, absolute: relative paths of the user's file start here.
    pub directory: PathBuf,
    /// The project's name.
    pub name: String,
    /// The user's file, absolute.
    pub file: PathBuf,
    /// Variables of compose's own, such as where the engine is.
    pub variables: Vec<(String, String)>,
}

/// The setup with every value of a variable replaced by the name of another variable, and those variables: nothing
/// secret is left, and nothing that compose would read in its own way.
pub fn without_values(session: &Session) -> (Setup, Vec<(String, String)>) {
    let mut setup = session.setup.clone();
    let mut values = Vec::new();
    for service in &mut setup.services {
        let environment = session.environment(service);
        service.env_file = None;
        service.environment = environment
            .into_iter()
            .map(|(name, value)| {
                let other = format!("{VARIABLE}{}", values.len());
                values.push((other.clone(), value));
                (name, Variable::From { names: vec![other], is_needed: false })
            })
            .collect();
    }
    (setup, values)
}

/// Runs the setup, whose file is `text`, together with the user's services, as [`up::run`] does.
///
/// # Errors
///
/// There is no compose, it fails, or something keeps the setup's own images away; [`Error::Interrupted`] where that comes
/// before the server answers.
pub async fn run(
    engine: &Engine,
    session: &Session,
    project: &Project,
    text: &str,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let began = Instant::now();
    let program = stop.unless_asked(program::find(project)).await??;
    let turn = stop.unless_asked(provide(engine, session, options, hooks)).await??;
    let file = write(project, text)?;
    let command = program::call(program, project, Some(&file));
    let mut say = |event: &Event| hooks.event(event);
    let mut follow = Follow::new(&mut say, stop);
    follow.hidden = if options.all_logs { Vec::new() } else { hidden(session) };
    if options.pull {
        // What the user builds, or has nowhere else, is no reason to stop.
        let pull = ["pull", "--quiet", "--ignore-buildable", "--ignore-pull-failures"];
        follow.follow_to_the_end(&command.clone().arguments(pull)).await?;
    }
    let [end, kill] = ["stop", "kill"].map(|word| command.clone().argument(word));
    let up = command.arguments(["up", "--remove-orphans"]);
    let up = if options.recreate { up.argument("--force-recreate") } else { up };
    let up = if options.mode == Mode::Detached { up.argument("--wait") } else { up };
    let client = probe::client().map_err(|reason| Error::Client { reason })?;
    let ready = Ready {
        probe: Probe::start(&client, session.urls.ok.clone()),
        urls: session.urls.clone(),
        began,
        patience: options.patience,
        _turn: turn,
    };
    let done = follow.until_ready(&up, ready).await;
    let gave_up = matches!(done, Err(Error::NotReady { .. })) && options.mode != Mode::Detached;
    if follow.was_interrupted() || gave_up {
        // Compose stops what it has attached to, which may not be all as yet.
        let stopped = match follow.is_forced() {
            true => Err(Interrupted.into()),
            false => follow.follow_to_the_end(&end).await,
        };
        let stopped = match stopped {
            Err(Error::Interrupted(_)) => follow.follow_to_the_end(&kill).await,
            stopped => stopped,
        };
        // Why it is given up says more than why it could not be stopped.
        return if gave_up { done } else { stopped.and(done) };
    }
    done
}

/// Whatever has to be there before compose is called; the turn is had until the server answers.
async fn provide(
    engine: &Engine,
    session: &Session,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<Option<Turn>, Error> {
    let turn = up::turn(engine, &session.setup.name, &mut |event| hooks.event(event)).await;
    up::check(engine, session).await?;
    up::provide(engine, session, options, hooks).await?;
    Ok(turn)
}

/// Stops and removes everything of a project, that of the user's file included, and its volumes where `volumes` says so.
///
/// # Errors
///
/// There is no compose, or it fails.
pub async fn down(
    project: &Project,
    volumes: bool,
    say: &mut dyn FnMut(&Event),
    stop: &Stop,
) -> Result<(), Error> {
    let program = stop.unless_asked(program::find(project)).await??;
    let setup = Some(project.directory.join(HOME).join(FILE)).filter(|file| file.is_file());
    let down = program::call(program, project, setup.as_deref()).arguments(["down", "--remove-orphans"]);
    let down = if volumes { down.argument("--volumes") } else { down };
    Follow::new(say, stop).follow_to_the_end(&down).await
}

/// Writes the file of the setup where git does not see it.
fn write(project: &Project, text: &str) -> Result<PathBuf, Error> {
    let home = project.directory.join(HOME);
    let failed = |source| Error::Home { path: home.clone(), source };
    project::hidden_directory(&home).map_err(failed)?;
    let file = home.join(FILE);
    project::write_atomically(&file, text.as_bytes())?;
    Ok(file)
}

/// The services whose logs are not asked for: those of the setup beside the server.
fn hidden(session: &Session) -> Vec<String> {
    let names = session.setup.services.iter().map(|service| service.name.clone());
    names.filter(|name| *name != session.server).collect()
}
