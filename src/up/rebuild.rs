//! The build of a changed project, while the old server runs.

use std::pin::Pin;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::images::build_image;
use super::session::Session;
use crate::engine::{BuildEvent, BuildRequest, Engine, Error};

/// A build of a changed project. Dropping it stops the build.
pub(super) struct Rebuild {
    /// The changed project; none if only its files changed.
    pub(super) session: Option<Session>,
    /// The changed files.
    pub(super) changed: Vec<String>,
    /// When the change was noticed.
    pub(super) since: Instant,
    /// Whether an image is built at all.
    pub(super) is_built: bool,
    events: mpsc::UnboundedReceiver<BuildEvent>,
    build: Pin<Box<dyn Future<Output = Done>>>,
}

/// The ID of the image that the build has replaced, if any.
pub(super) type Done = Result<Option<String>, Error>;

/// A step of a build.
pub(super) enum Step {
    /// It advanced.
    Event(Box<BuildEvent>),
    /// It ended.
    Done(Done),
}

impl Rebuild {
    /// Starts the build of an image, if there is one, with the base images that are here, so that a change is soon visible.
    pub(super) fn start(engine: &Engine, request: Option<&BuildRequest>, changed: Vec<String>) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let request = request.map(|request| BuildRequest { pull: false, ..request.clone() });
        let (engine, is_built) = (engine.clone(), request.is_some());
        let build = Box::pin(async move {
            let Some(request) = request else { return Ok(None) };
            build_image(&engine, request, |event| _ = sender.send(event)).await
        });
        Self { session: None, changed, since: Instant::now(), is_built, events, build }
    }

    /// The next step. Cancel safe; not to be called again after the last one.
    pub(super) async fn next(&mut self) -> Step {
        tokio::select! {
            biased;
            Some(event) = self.events.recv() => Step::Event(Box::new(event)),
            done = &mut self.build => Step::Done(done),
        }
    }
}
