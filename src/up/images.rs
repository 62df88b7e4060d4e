//! The images that the setup runs: built, pulled, or here already.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::definition::image_name;
use super::error::Error;
use super::session::{Hooks, Image, Options, Session};
use crate::compiler::back::plan::ServiceImage;
use crate::engine::{BuildRequest, Engine};
use crate::live::Event;

/// Builds or pulls every image of the setup.
///
/// # Errors
///
/// The build fails, or an image is not here and cannot be pulled.
pub async fn images(
    engine: &Engine,
    session: &Session,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<(), Error> {
    build(engine, session, hooks).await?;
    provide(engine, session, options.pull, hooks).await.map(drop)
}

/// Builds the server's image, where it is built.
pub(super) async fn build(engine: &Engine, session: &Session, hooks: &mut dyn Hooks) -> Result<(), Error> {
    let Image::Built(request) = &session.image else { return Ok(()) };
    let built = engine.build(BuildRequest::clone(request), |event| hooks.building(&event)).await;
    hooks.built(built.as_ref().err());
    built?;
    Ok(())
}

/// The ids of all images by their names. What is missing is pulled, where that is allowed; and what may be newer
/// elsewhere, where that is wanted. An image that the user names is used as it is, for it may be nowhere else.
pub(super) async fn provide(
    engine: &Engine,
    session: &Session,
    pulls: bool,
    hooks: &mut dyn Hooks,
) -> Result<BTreeMap<String, String>, Error> {
    let mut ids = BTreeMap::new();
    for service in &session.setup.services {
        let name = image_name(service);
        let is_built = matches!(service.image, ServiceImage::Built { .. });
        let is_ours = is_built || service.name == session.server;
        if ids.contains_key(name) {
            continue;
        }
        let id = match engine.image(name).await? {
            Some(id) if is_ours || !pulls => id,
            None if !pulls || is_built => return Err(Error::NoImage { image: name.to_owned() }),
            _ => {
                pull(engine, name, hooks).await?;
                engine.image(name).await?.ok_or_else(|| Error::NoImage { image: name.to_owned() })?
            }
        };
        ids.insert(name.to_owned(), id);
    }
    Ok(ids)
}

async fn pull(engine: &Engine, name: &str, hooks: &mut dyn Hooks) -> Result<(), Error> {
    let told = |current, total| Event::Pulling { image: name.to_owned(), current, total };
    hooks.event(&told(0, 0));
    let (sender, mut events) = mpsc::unbounded_channel();
    let warnings = sender.clone();
    let progress = move |it: crate::engine::Transfer| _ = sender.send(told(it.current, it.total));
    let warn = move |message| _ = warnings.send(Event::Warning { message });
    let mut pulled = std::pin::pin!(engine.pull(name, progress, warn));
    loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => hooks.event(&event),
            done = &mut pulled => return Ok(done?),
        }
    }
}
