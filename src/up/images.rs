//! The images of the setup: built, pulled, or already here.

use std::collections::BTreeMap;

use super::definition::image_name;
use super::error::Error;
use super::session::{Hooks, Options, Session};
use crate::compiler::back::plan::ServiceImage;
use crate::engine::{self, BuildEvent, BuildRequest, Engine};

/// Builds or pulls every image of the setup. Returns the ID of the image that the build has replaced, if any.
///
/// # Errors
///
/// The build fails, or an image is not here and cannot be pulled.
pub async fn images(
    engine: &Engine,
    session: &Session,
    options: &Options,
    hooks: &mut dyn Hooks,
) -> Result<Option<String>, Error> {
    let replaced = build(engine, session, hooks).await?;
    provide(engine, session, options.pull, hooks).await?;
    Ok(replaced)
}

/// Builds the server's image, if it is built. Returns the ID of the image that it has replaced, if any.
pub(super) async fn build(
    engine: &Engine,
    session: &Session,
    hooks: &mut dyn Hooks,
) -> Result<Option<String>, Error> {
    let Some(request) = &session.build else { return Ok(None) };
    let built = build_image(engine, request.clone(), |event| hooks.building(&event)).await;
    hooks.built(built.as_ref().err());
    Ok(built?)
}

/// Builds an image. Returns the ID of the image that had its name before, if that was another.
pub(super) async fn build_image(
    engine: &Engine,
    request: BuildRequest,
    events: impl FnMut(BuildEvent),
) -> Result<Option<String>, engine::Error> {
    let name = request.tags.first().cloned().unwrap_or_default();
    let (before, built) = tokio::join!(engine.image(&name), engine.build(request, events));
    let built = built?;
    Ok(before.ok().flatten().filter(|id| *id != built.id))
}

/// Returns the IDs of all images by their names. Pulls missing images, and with `pulls` also newer ones if their registry can
/// be reached. The server's image is never pulled over one that is here, because it may exist only here.
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
            here => match (engine.pull(name, |event| hooks.event(&event)).await, here) {
                (Err(error), Some(id)) if error.is_unreachable_registry() => {
                    hooks.warn(format!("{error}; using the local image"));
                    id
                }
                (pulled, _) => {
                    pulled?;
                    engine.image(name).await?.ok_or_else(|| Error::NoImage { image: name.to_owned() })?
                }
            },
        };
        ids.insert(name.to_owned(), id);
    }
    Ok(ids)
}
