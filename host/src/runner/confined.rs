//! Builds of tenants: their Dockerfiles reach no image and no cache of others on the engine, and no URL by it.

use std::collections::BTreeSet;

use agentcli::engine::{BuildRequest, Engine, RegistryUser};
use tokio::runtime::Handle;

use super::dockerfile::{self, NamedImage};
use super::{Failure, Options, images, lines};

/// The build argument of BuildKit that keeps the cache mounts of builds apart. A Dockerfile cannot set it.
const CACHE_NAMESPACE: &str = "BUILDKIT_CACHE_MOUNT_NS";

/// Base images that were pulled for a build; they are removed with this value.
pub(super) struct Bases {
    engine: Engine,
    pulled: Vec<String>,
}

impl Drop for Bases {
    fn drop(&mut self) {
        let (engine, pulled) = (self.engine.clone(), std::mem::take(&mut self.pulled));
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                for image in pulled {
                    // Another build may use it.
                    engine.remove_image(&image).await.ok();
                }
            });
        }
    }
}

/// Confines a build: an image that the operator does not allow gets the digest that its registry gives to anybody, so that no
/// local image is taken for it, and cache mounts are in the namespace `cache`. An engine with source policies denies all others;
/// for the rest, [`lines`] that could name any are refused.
pub(super) async fn confine(
    engine: &Engine,
    options: &Options,
    request: &mut BuildRequest,
    of_tenant: &[String],
    cache: &str,
) -> Result<Bases, Failure> {
    let refused = |reason: String| Failure::Refused(format!("cannot build `dockerfile_lines`: {reason}"));
    let mut bases = Bases { engine: engine.clone(), pulled: Vec::new() };
    let file = request.context.extra.iter_mut().find(|(path, _)| *path == request.dockerfile);
    let Some((_, file)) = file else { return Ok(bases) };
    let mut text = String::from_utf8_lossy(file).into_owned();
    let is_enforced = engine.has_source_policies().await?;
    lines::check(of_tenant, is_enforced).map_err(refused)?;
    if engine.is_podman().await? {
        text = dockerfile::with_cache_ids(&text, cache);
    } else {
        request.settings.arguments.insert(CACHE_NAMESPACE.to_owned(), cache.to_owned());
    }
    let mut usable = BTreeSet::new();
    for image in dockerfile::uses(&text).map_err(refused)?.images {
        let name = images::resolve(engine, options, &image.name).await?;
        if name != image.name {
            text = dockerfile::renamed(&text, &image, &name).map_err(refused)?;
            if image.is_base {
                bases.pull(&name).await?;
            }
            // No credentials for their registries, and nothing that depends on the engine's images is up to date.
            request.images.retain(|known| *known != image.name);
            request.images_known = false;
        }
        usable.insert(name);
    }
    let uses = dockerfile::uses(&text).map_err(refused)?;
    if let Some(NamedImage { name, .. }) = uses.images.iter().find(|image| !usable.contains(&image.name)) {
        return Err(refused(format!("write the image `{name}` on one line, without quotes")));
    }
    // Podman has no namespaces.
    let is_foreign = |id: &Option<String>| !id.as_ref().is_some_and(|id| id.starts_with(cache));
    if !request.settings.arguments.contains_key(CACHE_NAMESPACE) && uses.caches.iter().any(is_foreign) {
        let reason = "write cache mounts as `--mount=type=cache,target=PATH`, without an ID";
        return Err(refused(reason.to_owned()));
    }
    *file = text.into_bytes();
    request.settings.sources = is_enforced.then(|| usable.into_iter().collect());
    Ok(bases)
}

impl Bases {
    /// Pulls a base image with a digest, unless it is there. Its own instructions for builds on it would be run unseen.
    async fn pull(&mut self, name: &str) -> Result<(), Failure> {
        if self.engine.image(name).await?.is_none() {
            self.engine.pull_as(name, RegistryUser::Anonymous, |_| ()).await?;
            self.pulled.push(name.to_owned());
        }
        if self.engine.build_triggers(name).await?.is_empty() {
            return Ok(());
        }
        Err(Failure::Refused(format!(
            "cannot build on {name}: it has ONBUILD instructions; the operator can permit the image with --allow-image"
        )))
    }
}
