//! A changed project on its way: its image is built while the old server runs on.

use std::pin::Pin;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::session::{Image, Session};
use crate::engine::{BuildEvent, BuildRequest, Built, Engine, Error};

/// What comes next. When it is dropped, its build is stopped.
pub(super) struct Rebuild {
    /// The project as it will be; nothing where only its files changed.
    pub(super) session: Option<Session>,
    /// What changed.
    pub(super) changed: Vec<String>,
    /// When that was seen.
    pub(super) since: Instant,
    events: mpsc::UnboundedReceiver<BuildEvent>,
    build: Pin<Box<dyn Future<Output = Result<Option<Built>, Error>>>>,
}

/// How a build goes on.
pub(super) enum Step {
    Event(Box<BuildEvent>),
    /// It is over, where anything had to be built.
    Done(Result<Option<Built>, Error>),
}

impl Rebuild {
    /// Begins to build `image`. Base images are not looked for anew: an edit is to be seen soon.
    pub(super) fn start(engine: &Engine, image: &Image, changed: Vec<String>) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let request = match image {
            Image::Built(request) => Some(BuildRequest { pull: false, ..BuildRequest::clone(request) }),
            Image::Named => None,
        };
        let engine = engine.clone();
        let build = Box::pin(async move {
            let Some(request) = request else { return Ok(None) };
            engine.build(request, |event| _ = sender.send(event)).await.map(Some)
        });
        Self { session: None, changed, since: Instant::now(), events, build }
    }

    /// The next thing that happens. Can be given up and called again, until it is over.
    pub(super) async fn next(&mut self) -> Step {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => Step::Event(Box::new(event)),
            done = &mut self.build => Step::Done(done),
        }
    }
}
