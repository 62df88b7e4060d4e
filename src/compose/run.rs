//! `up` with services of the user: images as without them, and compose for the containers.

use std::future::Pending;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::program::{self, report};
use super::{Error, Project, write};
use crate::child::{Child, Command, Next};
use crate::engine::Engine;
use crate::live::{Event, Happening, Sources, Stop};
use crate::probe::Probe;
use crate::up::{self, Hooks, Mode, Options, Replaced, Session, Turn};

/// Interval of [`Reporter::tick`](crate::live::Reporter::tick).
const TICK: Duration = Duration::from_millis(250);

/// Runs the setup, whose compose file is `text`, together with the user's services, as [`up::run`] does without them.
///
/// # Errors
///
/// Compose is missing or fails, or an image of the setup cannot be built or pulled; [`Error::Interrupted`] if the program
/// is asked to stop before the server was ready.
pub async fn run(
    engine: &Engine,
    session: &Session,
    project: &Project,
    text: &str,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let names = session.setup.services.iter().map(|service| service.name.clone());
    let mut run = Run {
        engine,
        session,
        project,
        options,
        hooks,
        hidden: names.filter(|name| !options.all_logs && *name != session.server).collect(),
        command: None,
        child: None,
        turn: None,
        replaced: Replaced::default(),
        is_ready: false,
        sources: Sources::new(TICK),
    };
    let done = stop.unless_asked(run.work(text)).await.unwrap_or_else(|interrupted| Err(interrupted.into()));
    let ended = match done {
        Err(Error::Interrupted(_)) => run.end(true, stop).await,
        Err(Error::Up(up::Error::NotReady { .. })) => run.end(options.mode != Mode::Detached, stop).await,
        _ => Ok(()),
    };
    if ended.is_ok() {
        run.replaced.finish(engine, stop).await;
    }
    match done {
        Err(Error::Interrupted(interrupted)) => {
            Ok(interrupted.unless_stopped(run.is_ready, ended, run.hooks)?)
        }
        done => done,
    }
}

/// One project that is run.
struct Run<'a> {
    engine: &'a Engine,
    session: &'a Session,
    project: &'a Project,
    options: &'a Options,
    hooks: &'a mut dyn Hooks,
    /// Services whose lines are not shown.
    hidden: Vec<String>,
    /// Compose with the files of the project, once they are written.
    command: Option<Command>,
    /// The running compose.
    child: Option<Child>,
    /// Held until the server is ready.
    turn: Option<Turn>,
    replaced: Replaced,
    is_ready: bool,
    sources: Sources,
}

impl Run<'_> {
    async fn work(&mut self, text: &str) -> Result<(), Error> {
        let began = Instant::now();
        let program = program::find(self.project).await?;
        self.turn = up::turn(self.engine, &self.session.setup.name, self.hooks).await;
        up::check(self.engine, self.session).await?;
        self.replaced.extend(up::provide(self.engine, self.session, self.options, self.hooks).await?);
        let file = write(self.project, text)?;
        let command = program::with_files(program, self.project, &file);
        if self.options.pull {
            // Images that the user builds, or that exist only here, are no reason to stop.
            let pull = ["pull", "--quiet", "--ignore-buildable", "--ignore-pull-failures"];
            self.call(&command.clone().arguments(pull)).await?;
        }
        let up = command.clone().arguments(["up", "--remove-orphans"]).arguments(grace());
        let up = if self.options.recreate { up.argument("--force-recreate") } else { up };
        let up = if self.options.mode == Mode::Detached { up.argument("--wait") } else { up };
        self.command = Some(command);
        self.child = Some(program::start(&up)?);
        let url = self.session.urls.ok.clone();
        self.sources.probe = Some(Probe::start(url, began, Some(self.options.wait_timeout)));
        self.follow(&up).await
    }

    /// Follows `compose up` until it ends and the server is ready.
    async fn follow(&mut self, up: &Command) -> Result<(), Error> {
        loop {
            let output = self.child.as_mut().map(Child::next);
            match self.sources.next(self.hooks, None::<Pending<()>>, output).await {
                Happening::Late(_) => {
                    let what = "the server does not answer".to_owned();
                    return Err(up::Error::NotReady { what, after: self.options.wait_timeout }.into());
                }
                Happening::Output(next) => match next? {
                    Next::Lines(lines) => report(&lines, &self.hidden, self.hooks),
                    Next::Ended(status) => {
                        self.child = None;
                        program::check(up, status)?;
                        // `compose up --wait` ends by itself; what counts is the server.
                        if self.sources.probe.is_none() {
                            return Ok(());
                        }
                    }
                },
                Happening::Ready(milliseconds) => {
                    (self.is_ready, self.turn) = (true, None);
                    self.hooks.event(&Event::Ready { urls: self.session.urls.clone(), milliseconds });
                    if self.child.is_none() {
                        return Ok(());
                    }
                    // The new server works: nobody goes back to the old one.
                    self.replaced.remove(self.engine);
                }
                Happening::Changed(_) | Happening::Step(()) | Happening::Tick => {}
            }
        }
    }

    /// Interrupts compose, and with `stops` stops all services. Kills them once forced to, or after
    /// the grace period.
    async fn end(&mut self, stops: bool, stop: &Stop) -> Result<(), Error> {
        let (engine, project) = (self.engine, &self.session.setup.name);
        let ending = async {
            match stop.unless_forced(timeout(up::GRACE, self.stop(stops))).await {
                Ok(Ok(stopped)) => stopped,
                _ => self.kill(stops).await,
            }
        };
        let done = up::while_responsive(engine, project, ending).await;
        if let Some(mut child) = self.child.take() {
            child.kill().await;
        }
        done?
    }

    async fn stop(&mut self, stops: bool) -> Result<(), Error> {
        if let Some(child) = &mut self.child {
            child.interrupt();
            child.finish(|lines| report(&lines, &self.hidden, self.hooks)).await?;
            self.child = None;
        }
        // Compose has stopped only the services that it was attached to.
        match self.command.clone().filter(|_| stops) {
            Some(command) => self.call(&command.argument("stop").arguments(grace())).await,
            None => Ok(()),
        }
    }

    async fn kill(&mut self, stops: bool) -> Result<(), Error> {
        if let Some(mut child) = self.child.take() {
            child.kill().await;
        }
        if stops && self.command.is_some() {
            up::kill(self.engine, &self.session.setup.name).await?;
        }
        Ok(())
    }

    async fn call(&mut self, command: &Command) -> Result<(), Error> {
        let child = self.child.insert(program::start(command)?);
        let done = program::finish(child, command, &self.hidden, self.hooks).await;
        self.child = None;
        done
    }
}

/// The option that sets the grace period of containers.
fn grace() -> [String; 2] {
    ["--timeout".to_owned(), up::GRACE.as_secs().to_string()]
}
