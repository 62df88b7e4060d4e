//! Following compose: what it says as events, and Ctrl-C handed on.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::{Error, program};
use crate::child::{Child, Command, Next, Status};
use crate::live::{Event, Interrupted, Level, Stop, Urls};
use crate::probe::Probe;
use crate::up::Turn;

/// Who says what no service says.
const COMPOSE: &str = "compose";

/// Hands on what compose says, and to compose that it should end.
pub(super) struct Follow<'a> {
    say: &'a mut dyn FnMut(&Event),
    stop: Stop,
    /// The level that compose has been told of.
    level: Level,
    /// Services whose logs are not shown.
    pub(super) hidden: Vec<String>,
}

/// What is waited for while compose runs.
pub(super) struct Ready {
    pub(super) probe: Probe,
    pub(super) urls: Urls,
    pub(super) began: Instant,
    pub(super) patience: Duration,
    /// Others wait for it until then.
    pub(super) _turn: Option<Turn>,
}

/// What happens next.
enum Happening {
    Interrupted,
    Late,
    Next(Next),
    Ready,
}

impl<'a> Follow<'a> {
    pub(super) fn new(say: &'a mut dyn FnMut(&Event), stop: &Stop) -> Self {
        Self { say, stop: stop.clone(), level: Level::Running, hidden: Vec::new() }
    }

    /// Whether compose has been told to stop.
    pub(super) fn was_interrupted(&self) -> bool {
        self.level > Level::Running
    }

    /// Whether compose has been killed for it.
    pub(super) fn is_forced(&self) -> bool {
        self.level == Level::Forced
    }

    /// Runs compose until it ends by itself; it fails where compose does, or the user has enough.
    pub(super) async fn follow_to_the_end(&mut self, command: &Command) -> Result<(), Error> {
        self.follow(command, &mut None).await
    }

    /// The same, and says when the server answers. Once it does, Ctrl-C is no failure.
    pub(super) async fn until_ready(&mut self, command: &Command, ready: Ready) -> Result<(), Error> {
        let mut waiting = Some(ready);
        let done = self.follow(command, &mut waiting).await;
        match (done, waiting) {
            (Err(Error::Interrupted(_)), None) => Ok(()),
            (Ok(()), Some(mut ready)) => {
                // Compose takes everything for well; the server is what counts.
                let deadline = ready.deadline();
                tokio::select! {
                    () = self.stop.above(self.level) => {
                        self.level = self.stop.level();
                        return Err(Interrupted.into());
                    }
                    () = ready.probe.done() => self.say_ready(&ready),
                    () = sleep_until(deadline) => return Err(Error::NotReady { after: ready.patience }),
                }
                Ok(())
            }
            (done, _) => done,
        }
    }

    async fn follow(&mut self, command: &Command, ready: &mut Option<Ready>) -> Result<(), Error> {
        let mut child = program::start(command)?;
        let mut why = None;
        loop {
            match self.happening(&mut child, ready, why.is_some()).await? {
                Happening::Next(Next::Lines(lines)) => lines.iter().for_each(|line| self.say(line)),
                Happening::Next(Next::Ended(status)) => {
                    return why.map_or_else(|| self.ended(command, status), Err);
                }
                Happening::Ready => ready.take().iter().for_each(|ready| self.say_ready(ready)),
                Happening::Late => {
                    why = ready.as_ref().map(|ready| Error::NotReady { after: ready.patience });
                    child.interrupt();
                }
                Happening::Interrupted => {
                    self.level = self.stop.level();
                    if self.level == Level::Forced {
                        child.kill().await;
                        return Err(Interrupted.into());
                    }
                    why.get_or_insert(Interrupted.into());
                    child.interrupt();
                }
            }
        }
    }

    async fn happening(
        &mut self,
        child: &mut Child,
        ready: &mut Option<Ready>,
        is_ending: bool,
    ) -> Result<Happening, Error> {
        let deadline = ready.as_ref().map(Ready::deadline);
        let probe = async {
            match ready {
                Some(ready) if !is_ending => ready.probe.done().await,
                _ => std::future::pending().await,
            }
        };
        let late = async {
            match deadline {
                Some(deadline) if !is_ending => sleep_until(deadline).await,
                _ => std::future::pending().await,
            }
        };
        Ok(tokio::select! {
            biased;
            () = self.stop.above(self.level) => Happening::Interrupted,
            () = probe => Happening::Ready,
            () = late => Happening::Late,
            next = child.next() => Happening::Next(next?),
        })
    }

    /// `langgraph-api-1  | a line` is the service's; anything else is compose's.
    fn say(&mut self, line: &str) {
        let (service, line) = match line.split_once(" | ").map(|(name, rest)| (name.trim_end(), rest)) {
            Some((name, rest)) if is_container(name) => (without_number(name), rest),
            _ => (COMPOSE, line.trim_end()),
        };
        if !line.is_empty() && !self.hidden.iter().any(|name| name == service) {
            (self.say)(&Event::Log { service: Some(service.to_owned()), line: line.to_owned() });
        }
    }

    fn say_ready(&mut self, ready: &Ready) {
        let milliseconds = u64::try_from(ready.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        (self.say)(&Event::Ready { urls: ready.urls.clone(), milliseconds });
    }

    fn ended(&self, command: &Command, status: Status) -> Result<(), Error> {
        if status.is_success() {
            return Ok(());
        }
        let words = command.arguments.iter().rev().take_while(|word| word.as_encoded_bytes() != b"--file");
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let asked = words.iter().rev().skip(1).find(|word| !word.starts_with('-'));
        let asked = asked.map(|word| word.to_string()).unwrap_or_default();
        Err(Error::Failed { command: format!("docker compose {asked}"), status: status.to_string() })
    }
}

impl Ready {
    fn deadline(&self) -> Instant {
        self.began + self.patience
    }
}

fn is_container(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// The service of a container's name, as compose shows it.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((service, number)) if number.chars().all(|c| c.is_ascii_digit()) => service,
        _ => name,
    }
}
