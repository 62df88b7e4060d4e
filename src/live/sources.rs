//! The one loop of the commands that run a server: what they wait for, and in which order.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::event::Reporter;
use crate::compiler::back::plan::Watch;
use crate::probe::Probe;
use crate::watch::{self, Changes, Watcher};

/// The sources of events of a running command, beside its own steps and output. Stopping is not among them: a command races
/// all of its work, of which this loop is a part, against [`Stop`](super::Stop).
pub struct Sources {
    tick: Interval,
    watcher: Option<Watcher>,
    /// The readiness check of the server that is starting.
    pub probe: Option<Probe>,
}

/// An event of one of the sources.
pub enum Happening<S, O> {
    /// Files changed.
    Changed(Changes),
    /// The server did not become ready in time. It answered this instead, if anything.
    Late(Option<String>),
    /// The command's output.
    Output(O),
    /// The server is ready, this many milliseconds after it was started.
    Ready(u64),
    /// A step of the command.
    Step(S),
    /// Time for periodic checks.
    Tick,
}

impl Sources {
    /// A loop with a tick, and nothing to wait for yet.
    pub fn new(period: Duration) -> Self {
        let mut tick = interval(period);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { tick, watcher: None, probe: None }
    }

    /// Watches the user's tree from now on. Changes that an earlier watch has seen are kept.
    pub fn watch(&mut self, directory: &Path, watch: &Watch) -> Result<(), watch::Error> {
        let mut watcher = Watcher::new(directory, watch)?;
        self.watcher.take().into_iter().for_each(|before| watcher.continue_from(before));
        self.watcher = Some(watcher);
        Ok(())
    }

    /// Whether changes are watched.
    pub fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }

    /// Waits for the next event. Sources that may always be ready are polled after the others: changes before the command's
    /// own steps, and its output last.
    pub async fn next<S, O>(
        &mut self,
        reporter: &mut dyn Reporter,
        step: Option<impl Future<Output = S>>,
        output: Option<impl Future<Output = O>>,
    ) -> Happening<S, O> {
        let warning = self.watcher.as_mut().and_then(Watcher::warning);
        warning.into_iter().for_each(|message| reporter.warn(message));
        let Self { tick, watcher, probe } = self;
        tokio::select! {
            biased;
            _ = tick.tick() => {
                reporter.tick();
                Happening::Tick
            }
            changes = or_never(watcher.as_mut().map(Watcher::changes)) => Happening::Changed(changes),
            outcome = or_never(probe.as_mut().map(Probe::outcome)) => {
                *probe = None;
                outcome.map_or_else(Happening::Late, Happening::Ready)
            }
            step = or_never(step) => Happening::Step(step),
            output = or_never(output) => Happening::Output(output),
        }
    }
}

/// Waits for `future`; without one, never completes.
async fn or_never<T>(future: Option<impl Future<Output = T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}
