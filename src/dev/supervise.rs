//! Runs one project: provides its packages, starts the server, and restarts it on changes until the program stops.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::address::Address;
use super::databases;
use super::environment::Environment;
use super::error::Error;
use super::lock::{Lock, lock};
use super::missing;
use super::node_modules;
use super::page;
use super::port::{self, Bound};
use super::provision;
use super::server::{self, Runtime, urls};
use super::session::{Hooks, Options, Session};
use super::standby::{self, Standby};
use super::state;
use super::story;
use super::traceback::{self, plain};
use super::tunnel::Tunnel;
use crate::child::{self, Child, Next, Status};
use crate::compiler::back::plan::Variant;
use crate::live::{Crash, Event, Happening, Sources, Stop};
use crate::probe::Probe;
use crate::watch::Changes;

/// Interval of [`Reporter::tick`](crate::live::Reporter::tick).
const TICK: Duration = Duration::from_millis(250);

/// Runs the server until the program is asked to stop, or until the server exits and nothing is watched. When asked to
/// stop, the server shuts down in order; when forced to, it is killed.
///
/// # Errors
///
/// Whatever prevents the first start of the server; later failures are reported as events, and the next change starts it
/// again. [`Error::Interrupted`] if the program is asked to stop before the server was ready.
pub async fn run(
    session: Session,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let lock = lock(&session.directory)?;
    let mut supervisor = Supervisor::new(session, options, hooks, lock)?;
    let done = stop.unless_asked(supervisor.work()).await;
    if stop.unless_forced(supervisor.end()).await.is_err() {
        child::kill_all();
        child::all_ended(supervisor.hooks).await;
    }
    supervisor.hooks.event(&Event::Stopped);
    match done {
        Ok(done) => done,
        Err(_) if supervisor.was_ready => Ok(()),
        Err(interrupted) => Err(interrupted.into()),
    }
}

struct Supervisor<'a> {
    session: Session,
    options: &'a Options,
    hooks: &'a mut dyn Hooks,
    address: Address,
    lock: Lock,
    /// Closes connections while no server runs.
    closing: Option<JoinSet<()>>,
    tunnel: Option<Tunnel>,
    server: Option<Child>,
    /// The process that serves after the next change of the code.
    standby: Option<Standby>,
    /// Whether the server was the standby.
    was_standby: bool,
    /// Whether the server ended because of a package that is not installed.
    lacks_package: bool,
    sources: Sources,
    was_ready: bool,
}

impl<'a> Supervisor<'a> {
    fn new(
        session: Session,
        options: &'a Options,
        hooks: &'a mut dyn Hooks,
        lock: Lock,
    ) -> Result<Self, Error> {
        let Bound { port, holder, sockets } = port::bind(&options.host, options.port)?;
        if let Some(holder) = holder {
            hooks.note(format!("port {} is in use by {holder}; using {port}", options.port.number()));
        }
        if !port::is_loopback(&options.host) {
            hooks.note(format!("other machines can reach the server at {}, port {port}", options.host));
        }
        let address = Address { port, sockets, public: None };
        let sources = Sources::new(TICK);
        Ok(Self {
            session,
            options,
            hooks,
            address,
            lock,
            closing: None,
            tunnel: None,
            server: None,
            standby: None,
            was_standby: false,
            lacks_package: false,
            sources,
            was_ready: false,
        })
    }

    async fn work(&mut self) -> Result<(), Error> {
        for message in server::unsupported(&self.session, self.options) {
            self.hooks.warn(message);
        }
        if self.options.reload {
            self.watch()?;
        }
        let mut runtime = self.provide().await?;
        if self.options.tunnel {
            let local = urls(&self.session, self.options, &self.address).origin;
            let surroundings = &self.options.selection.surroundings;
            let tunnel = Tunnel::open(&self.session.directory, surroundings, &local).await?;
            self.address.public = Some(tunnel.url.clone());
            self.tunnel = Some(tunnel);
        }
        loop {
            self.start(&runtime).await?;
            match self.follow(&runtime).await? {
                Some(next) => runtime = next,
                None => return Ok(()),
            }
            self.end_server().await;
        }
    }

    /// Installs missing packages and prepares databases; returns the interpreters that have everything.
    async fn provide(&mut self) -> Result<Runtime, Error> {
        databases::write_files(&self.session)?;
        let plan = &self.session.plan.local;
        let mut runtime = Runtime::default();
        let mut python = None;
        if let Some(packages) = &plan.python {
            python = Some(provision::provide(&self.session, packages, self.options, self.hooks).await?);
        }
        if let Some(packages) = &plan.javascript {
            runtime = node_modules::provide(&self.session, packages, self.options, self.hooks).await?;
        }
        runtime.program = python.unwrap_or(runtime.program);
        databases::migrate(&self.session, &runtime, self.hooks).await?;
        Ok(runtime)
    }

    fn watch(&mut self) -> Result<(), Error> {
        Ok(self.sources.watch(&self.session.directory, &self.session.plan.local.watch)?)
    }

    async fn start(&mut self, runtime: &Runtime) -> Result<(), Error> {
        page::write(&self.session.directory)?;
        let lost = state::prepare(&self.session.directory, &self.session.plan)?;
        if let Some(place) = lost {
            self.warn_of_lost_state(&place);
        }
        self.closing = None;
        self.hooks.event(&Event::Starting { program: runtime.program.clone() });
        if let Some(debugger) = &self.options.debugger {
            let waits = if debugger.waits { "; the server waits for it" } else { "" };
            self.hooks.note(format!("a debugger can attach at {}:{}{waits}", debugger.host, debugger.port));
        }
        let standby = standby::serve(self.standby.take()).await;
        self.was_standby = standby.is_some();
        let child = match standby {
            Some(standby) => standby,
            None => server::start(&self.session, self.options, runtime, &self.address, false)?,
        };
        let waits = self.options.debugger.as_ref().is_some_and(|debugger| debugger.waits);
        let timeout = (!waits).then_some(self.options.start_timeout);
        let url = urls(&self.session, self.options, &self.address).ok;
        self.sources.probe = Some(Probe::start(url, Instant::now(), timeout));
        self.server = Some(child);
        Ok(())
    }

    /// Follows the server until a change restarts it; returns the interpreters to go on with, or none when nobody reads
    /// the events any more.
    async fn follow(&mut self, runtime: &Runtime) -> Result<Option<Runtime>, Error> {
        while !self.hooks.is_closed() {
            let closed = self.tunnel.as_mut().map(Tunnel::closed);
            let output = self.server.as_mut().map(Child::next);
            match self.sources.next(self.hooks, closed, output).await {
                Happening::Changed(changes) => {
                    if let Some(runtime) = self.accept(changes, runtime).await? {
                        return Ok(Some(runtime));
                    }
                }
                Happening::Late(answer) => self.late(answer).await?,
                Happening::Output(Ok(Next::Lines(lines))) => {
                    lines.into_iter().for_each(|line| self.show(line));
                }
                Happening::Output(Ok(Next::Ended(status))) if self.lost_standby(status) => {
                    self.start(runtime).await?;
                }
                Happening::Output(Ok(Next::Ended(status))) => self.ended(status)?,
                Happening::Output(Err(source)) => {
                    return Err(Error::Run { program: "the server".to_owned(), source });
                }
                Happening::Ready(milliseconds) => {
                    self.was_ready = true;
                    let urls = urls(&self.session, self.options, &self.address);
                    self.lock.publish(&urls.api);
                    self.hooks.event(&Event::Ready { urls, milliseconds });
                    self.standby = standby::start(&self.session, self.options, runtime, &self.address);
                }
                Happening::Step(closed) => {
                    self.tunnel = None;
                    self.hooks.warn(closed);
                }
                Happening::Tick => {}
            }
        }
        Ok(None)
    }

    /// Prepares a restart for a change while the old server runs; returns none if the change breaks the project.
    async fn accept(&mut self, changes: Changes, runtime: &Runtime) -> Result<Option<Runtime>, Error> {
        let mut runtime = runtime.clone();
        // Also checks the source.
        let Some(session) = self.hooks.replan() else {
            self.hooks.event(&Event::kept("the project has errors".to_owned()));
            return Ok(None);
        };
        let mut before = None;
        if changes.decide_start {
            before = Some(std::mem::replace(&mut self.session, session));
            self.watch()?;
        }
        if changes.decide_start || self.lacks_package {
            let recorded = Environment::recorded(&self.session.directory);
            runtime = match self.provide().await {
                Ok(runtime) => runtime,
                Err(error) => {
                    if let Some(before) = before {
                        self.session = before;
                    }
                    self.hooks.event(&Event::kept(error.to_string()));
                    return Ok(None);
                }
            };
            self.lacks_package = false;
            // After a mistake in the configuration, all may be as it was.
            let is_same = before.is_some_and(|before| before == self.session)
                && recorded == Environment::recorded(&self.session.directory);
            if !is_same {
                let serves = self.server.is_some();
                let start = || standby::start(&self.session, self.options, &runtime, &self.address);
                self.standby = serves.then(start).flatten();
            }
        }
        if let Some(lines) = self.failure(&runtime).await {
            self.hooks.event(&self.explained(&lines));
            return Ok(None);
        }
        self.hooks.event(&Event::Reloading { changed: changes.paths });
        Ok(Some(runtime))
    }

    /// The lines of a failure to load the project, if the standby finds one.
    async fn failure(&mut self, runtime: &Runtime) -> Option<Vec<String>> {
        let lines = standby::failure(&mut self.standby, self.options.start_timeout).await?;
        // Node.js cannot forget what it has loaded.
        if self.session.plan.server.variant == Variant::Javascript {
            self.standby = standby::start(&self.session, self.options, runtime, &self.address);
        }
        Some(lines)
    }

    /// Why a change is not taken over, by the lines that its code printed when it was loaded.
    fn explained(&self, lines: &[String]) -> Event {
        let lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
        let (cause, last_lines) = traceback::explained(&lines, &self.session.directory);
        let reason = cause.unwrap_or_else(|| "the graphs cannot be loaded".to_owned());
        let hint = missing::hint(&reason, &self.session);
        Event::Kept { reason, last_lines, hint }
    }

    /// Shows a line of the server.
    fn show(&mut self, line: String) {
        if let Some(event) = story::read(&line) {
            return self.hooks.event(&event);
        }
        let is_lost = state::is_lost(&line);
        let line = if self.options.colour { line } else { plain(&line) };
        self.hooks.lines(vec![line]);
        if is_lost && let Some(place) = state::save_lost(&self.session.directory) {
            self.warn_of_lost_state(&place);
        }
    }

    fn warn_of_lost_state(&mut self, place: &str) {
        let text = "the server could not read its state and started without it; the old files are in";
        self.hooks.warn(format!("{text} {place}"));
    }

    /// Whether the server that ended was a standby that was lost before it served.
    fn lost_standby(&self, status: Status) -> bool {
        self.was_standby && self.sources.probe.is_some() && standby::is_lost(status)
    }

    /// The server exited by itself: an error, unless a change may fix it.
    fn ended(&mut self, status: Status) -> Result<(), Error> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let was_starting = self.sources.probe.take().is_some();
        let all: Vec<String> = server.last_lines().iter().map(|line| plain(line)).collect();
        self.lacks_package = was_starting && all.iter().any(|line| missing::is_package(line));
        if self.lacks_package {
            Environment::forget_all(&self.session.directory);
        }
        // Once it runs, a traceback may be that of a failed run, which does not end the server.
        let (cause, last_lines) = if was_starting {
            traceback::explained(&all, &self.session.directory)
        } else {
            (None, traceback::last(&all))
        };
        let restarts = self.sources.is_watching();
        let hint = cause.as_deref().and_then(|cause| missing::hint(cause, &self.session));
        let crash = Crash { status: status.to_string(), cause, last_lines, hint, restarts };
        self.hooks.event(&Event::Crashed(crash.clone()));
        self.closing = port::close_connections(&self.address.sockets).ok();
        if restarts { Ok(()) } else { Err(Error::Crashed(Box::new(crash))) }
    }

    /// The server was not ready in time: stops it, which is an error, unless a change may fix it.
    async fn late(&mut self, answer: Option<String>) -> Result<(), Error> {
        let last_line = self.server.as_ref().and_then(|server| server.last_lines().pop());
        let cause = answer.or_else(|| last_line.map(|line| format!("its last line was: {line}")));
        let url = urls(&self.session, self.options, &self.address).ok;
        let error = Error::NotReady { url, after: self.options.start_timeout, cause };
        self.end_server().await;
        if !self.sources.is_watching() {
            return Err(error);
        }
        self.closing = port::close_connections(&self.address.sockets).ok();
        self.hooks.warn(format!("{error}; it starts again when something changes"));
        Ok(())
    }

    /// Stops the server, the tunnel and an interrupted installer, and waits until they have exited.
    async fn end(&mut self) {
        self.tunnel = None;
        self.standby = None;
        self.end_server().await;
        child::all_ended(self.hooks).await;
    }

    async fn end_server(&mut self) {
        self.sources.probe = None;
        if let Some(mut server) = self.server.take() {
            server.stop("the server", self.hooks).await;
        }
    }
}
