//! Runs one project: provides what it needs, starts the server, follows it, and starts it anew when something
//! changes, until the caller has enough.

use std::cell::RefCell;
use std::future::pending;
use std::io;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout};

use super::environment::Environment;
use super::error::Error;
use super::lock::lock;
use super::node_modules;
use super::port;
use super::provision;
use super::server::{self, Address, Runtime, urls};
use super::session::{Hooks, Options, Session};
use super::state;
use super::traceback::{self, plain};
use super::tunnel::Tunnel;
use crate::child::{self, Child, Next, Status};
use crate::live::Stop;
use crate::live::{Crash, Event};
use crate::probe::{self, Client, Probe};
use crate::watch::{Changes, Watcher};

/// How many of its last lines are told of a server that ended.
const TOLD_LINES: usize = 12;

/// Interval of [`Hooks::tick`].
const TICK: Duration = Duration::from_millis(250);

/// How long ending may take before it is told.
const UNTOLD: Duration = Duration::from_secs(1);

/// Runs the server until the program is asked to stop, or until the server exits and nothing is watched. Asked, the
/// server shuts down in order; forced, it is killed.
///
/// # Errors
///
/// Whatever keeps the server from starting the first time. Later failures are reported as events, and the next change
/// is waited for.
pub async fn run(
    session: Session,
    options: &Options,
    hooks: &mut dyn Hooks,
    stop: &Stop,
) -> Result<(), Error> {
    let _lock = lock(&session.directory)?;
    let mut supervisor = Supervisor::new(session, options, hooks)?;
    let done = tokio::select! {
        biased;
        () = stop.asked() => Ok(()),
        done = supervisor.work() => done,
    };
    if stop.unless_forced(supervisor.end()).await.is_err() {
        child::kill_all();
        child::all_ended().await;
    }
    supervisor.hooks.event(&Event::Stopped);
    done
}

struct Supervisor<'a> {
    session: Session,
    options: &'a Options,
    hooks: &'a mut dyn Hooks,
    address: Address,
    client: Client,
    tunnel: Option<Tunnel>,
    watcher: Option<Watcher>,
    server: Option<Server>,
    tick: Interval,
}

/// A started server.
struct Server {
    child: Child,
    since: Instant,
    /// Asks whether it is ready, until it is.
    probe: Option<Probe>,
}

/// What can happen while the server runs.
enum Happening {
    Changed(Changes),
    Ended(Status),
    Late,
    Lines(Vec<String>),
    Ready,
    Tick,
    TunnelClosed(String),
}

impl<'a> Supervisor<'a> {
    fn new(session: Session, options: &'a Options, hooks: &'a mut dyn Hooks) -> Result<Self, Error> {
        let (port, holder) = port::choose(&options.host, options.port)?;
        if let Some(holder) = holder {
            let message = format!("port {} is taken by {holder}; using {port}", options.port.number());
            hooks.event(&Event::Note { message });
        }
        if !port::is_loopback(&options.host) {
            let message = format!("other machines can reach the server at {}, port {port}", options.host);
            hooks.event(&Event::Note { message });
        }
        let client = probe::client().map_err(|reason| Error::Client { reason })?;
        let address = Address { port, public: None };
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self { session, options, hooks, address, client, tunnel: None, watcher: None, server: None, tick })
    }

    async fn work(&mut self) -> Result<(), Error> {
        for message in server::not_done(&self.session, self.options) {
            self.hooks.event(&Event::Warning { message });
        }
        if self.options.reload {
            self.watch()?;
        }
        let mut runtime = self.provide().await?;
        if self.options.tunnel {
            let local = urls(&self.session, self.options, &self.address).origin;
            let surroundings = &self.options.surroundings;
            let tunnel = Tunnel::open(&self.session.directory, surroundings, &local).await?;
            self.address.public = Some(tunnel.url.clone());
            self.tunnel = Some(tunnel);
        }
        loop {
            self.start(&runtime)?;
            match self.follow(&runtime).await? {
                Some(next) => runtime = next,
                None => return Ok(()),
            }
            self.end_server().await;
        }
    }

    /// The interpreters that have everything.
    async fn provide(&mut self) -> Result<Runtime, Error> {
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
        Ok(runtime)
    }

    fn watch(&mut self) -> Result<(), Error> {
        let mut watcher = Watcher::new(&self.session.directory, &self.session.plan.local.watch)?;
        self.watcher.take().into_iter().for_each(|before| watcher.go_on_from(before));
        self.watcher = Some(watcher);
        Ok(())
    }

    fn warn_of_unwatched(&mut self) {
        let warning = self.watcher.as_mut().and_then(Watcher::warning);
        warning.into_iter().for_each(|message| self.hooks.event(&Event::Warning { message }));
    }

    fn start(&mut self, runtime: &Runtime) -> Result<(), Error> {
        let lost = state::prepare(&self.session.directory, &self.session.plan)?;
        if let Some(place) = lost {
            self.warn_of_lost_state(&place);
        }
        self.hooks.event(&Event::Starting { program: runtime.program.clone() });
        if let Some(debugger) = &self.options.debugger {
            let waits = if debugger.waits { "; the server waits for it" } else { "" };
            let message = format!("a debugger can attach at {}:{}{waits}", debugger.host, debugger.port);
            self.hooks.event(&Event::Note { message });
        }
        let child = server::start(&self.session, self.options, runtime, &self.address)?;
        let url = urls(&self.session, self.options, &self.address).ok;
        let probe = Some(Probe::start(&self.client, url));
        self.server = Some(Server { child, since: Instant::now(), probe });
        Ok(())
    }

    /// Follows the server until a change has to be taken over; the answer is what to go on with, or nothing when nobody
    /// follows any more.
    async fn follow(&mut self, runtime: &Runtime) -> Result<Option<Runtime>, Error> {
        while !self.hooks.is_over() {
            match self.happening().await? {
                Happening::Changed(changes) => {
                    if let Some(runtime) = self.take_over(changes, runtime).await? {
                        return Ok(Some(runtime));
                    }
                }
                Happening::Ended(status) => self.ended(status.to_string())?,
                Happening::Late => self.late().await?,
                Happening::Lines(lines) => lines.into_iter().for_each(|line| self.tell(line)),
                Happening::Ready => self.ready(),
                Happening::Tick => {
                    self.hooks.tick();
                    self.warn_of_unwatched();
                }
                Happening::TunnelClosed(message) => {
                    self.tunnel = None;
                    self.hooks.event(&Event::Warning { message });
                }
            }
        }
        Ok(None)
    }

    async fn happening(&mut self) -> Result<Happening, Error> {
        let waits = self.options.debugger.as_ref().is_some_and(|debugger| debugger.waits);
        let patience = (!waits).then_some(self.options.patience);
        let (child, starting) = match &mut self.server {
            Some(Server { child, since, probe: Some(probe) }) => (Some(child), Some((*since, probe))),
            Some(server) => (Some(&mut server.child), None),
            None => (None, None),
        };
        tokio::select! {
            biased;
            _ = self.tick.tick() => Ok(Happening::Tick),
            changes = changes(self.watcher.as_mut()) => Ok(Happening::Changed(changes)),
            why = closed(self.tunnel.as_mut()) => Ok(Happening::TunnelClosed(why)),
            happening = until_ready(patience, starting) => Ok(happening),
            // Last: there may always be lines.
            next = next(child) => match next {
                Ok(Next::Lines(lines)) => Ok(Happening::Lines(lines)),
                Ok(Next::Ended(status)) => Ok(Happening::Ended(status)),
                Err(source) => Err(Error::Run { program: "the server".to_owned(), source }),
            },
        }
    }

    /// Makes ready for a new start, the old server running on; nothing where the change cannot be taken over.
    async fn take_over(&mut self, changes: Changes, runtime: &Runtime) -> Result<Option<Runtime>, Error> {
        let mut runtime = runtime.clone();
        // Of a server that did not start, something may be gone that was there.
        let mut must_provide = self.server.is_none();
        let mut before = None;
        if changes.decide_start {
            let Some(session) = self.hooks.replan() else {
                let reason = "the configuration has errors".to_owned();
                self.hooks.event(&Event::Kept { reason });
                return Ok(None);
            };
            before = Some(std::mem::replace(&mut self.session, session));
            self.watch()?;
            must_provide = true;
        }
        if must_provide {
            runtime = match self.provide().await {
                Ok(runtime) => runtime,
                Err(error) => {
                    if let Some(before) = before {
                        self.session = before;
                    }
                    self.hooks.event(&Event::Kept { reason: error.to_string() });
                    return Ok(None);
                }
            };
        }
        self.hooks.event(&Event::Reloading { changed: changes.paths });
        Ok(Some(runtime))
    }

    fn tell(&mut self, line: String) {
        let is_lost = state::is_lost(&line);
        let line = if self.options.colour { line } else { plain(&line) };
        self.hooks.event(&Event::Log { service: None, line });
        if is_lost && let Some(place) = state::save_lost(&self.session.directory) {
            self.warn_of_lost_state(&place);
        }
    }

    fn warn_of_lost_state(&mut self, place: &str) {
        let message =
            format!("the server could not read its state and began anew; the old files are in {place}");
        self.hooks.event(&Event::Warning { message });
    }

    fn ready(&mut self) {
        let Some(server) = &mut self.server else { return };
        server.probe = None;
        let milliseconds = u64::try_from(server.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let urls = urls(&self.session, self.options, &self.address);
        self.hooks.event(&Event::Ready { urls, milliseconds });
    }

    /// The server ended by itself: that is all, unless a change may mend it.
    fn ended(&mut self, status: String) -> Result<(), Error> {
        let Some(server) = self.server.take() else { return Ok(()) };
        let was_starting = server.probe.is_some();
        if was_starting {
            // Perhaps something is not there any more that was.
            Environment::forget_all(&self.session.directory);
        }
        let all: Vec<String> = server.child.last_lines().iter().map(|line| plain(line)).collect();
        // What was said since may be of a run that failed, which does not end a server.
        let cause = if was_starting { traceback::cause(&all, &self.session.directory) } else { None };
        let last = || all[all.len().saturating_sub(TOLD_LINES)..].to_vec();
        let (cause, last_lines) = cause.map_or_else(|| (None, last()), |it| (Some(it.text), it.lines));
        let crash = Crash { status, cause, last_lines, restarts: self.watcher.is_some() };
        self.hooks.event(&Event::Crashed(crash.clone()));
        if self.watcher.is_some() { Ok(()) } else { Err(Error::Crashed(Box::new(crash))) }
    }

    /// The server took too long.
    async fn late(&mut self) -> Result<(), Error> {
        let Some(server) = &mut self.server else { return Ok(()) };
        let said = server.child.last_lines().pop().map(|line| format!("it said last: {line}"));
        let cause = server.probe.as_ref().and_then(Probe::answer).or(said);
        let url = urls(&self.session, self.options, &self.address).ok;
        let error = Error::NotReady { url, after: self.options.patience, cause };
        server.child.stop(|_| {}).await;
        self.server = None;
        if self.watcher.is_none() {
            return Err(error);
        }
        let message = format!("{error}; it starts again when something changes");
        self.hooks.event(&Event::Warning { message });
        Ok(())
    }

    /// Stops the server, the tunnel and an interrupted installer, and waits until they have exited.
    async fn end(&mut self) {
        self.tunnel = None;
        self.end_server().await;
        wait_for("child processes", |event| self.hooks.event(event), child::all_ended()).await;
    }

    async fn end_server(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let hooks = RefCell::new(&mut *self.hooks);
        let tell = |event: &Event| hooks.borrow_mut().event(event);
        let stopped = server.child.stop(|line| tell(&Event::Log { service: None, line: line.to_owned() }));
        wait_for("the server", tell, stopped).await;
    }
}

/// Waits until `what` has exited, with a note if that takes long.
async fn wait_for(what: &str, mut tell: impl FnMut(&Event), ended: impl Future<Output = ()>) {
    let mut ended = pin!(ended);
    if timeout(UNTOLD, ended.as_mut()).await.is_err() {
        let message = format!("waiting for {what} to exit; press Ctrl-C again to kill it");
        tell(&Event::Note { message });
        ended.await;
    }
}

async fn next(child: Option<&mut Child>) -> io::Result<Next> {
    match child {
        Some(child) => child.next().await,
        None => pending().await,
    }
}

async fn changes(watcher: Option<&mut Watcher>) -> Changes {
    match watcher {
        Some(watcher) => watcher.changes().await,
        None => pending().await,
    }
}

async fn closed(tunnel: Option<&mut Tunnel>) -> String {
    match tunnel {
        Some(tunnel) => tunnel.closed().await,
        None => pending().await,
    }
}

/// Waits until the server is ready or late, where it is starting.
async fn until_ready(patience: Option<Duration>, starting: Option<(Instant, &mut Probe)>) -> Happening {
    let Some((since, probe)) = starting else { return pending().await };
    let late = async {
        match patience {
            Some(patience) => sleep_until(since + patience).await,
            None => pending().await,
        }
    };
    tokio::select! {
        () = probe.done() => Happening::Ready,
        () = late => Happening::Late,
    }
}
