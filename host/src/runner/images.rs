//! Images that tenants name: those that the operator allows as the engine has them, all others as their registry gives them to
//! anybody.

use agentcli::api::wire::LogLevel;
use agentcli::engine::{Engine, RegistryUser};
use agentcli::live::Event;

use tokio::net::lookup_host;

use super::allowed_images;
use crate::net::address;

use super::{Failure, LogSink, Options, PullFrom, PullJob};

/// The port of registries without one.
const HTTPS: u16 = 443;

/// The name of the image that a tenant means. An image that the operator does not allow gets its digest in its registry: local
/// images of its name are not used, and keep their name.
pub(super) async fn resolve(engine: &Engine, options: &Options, image: &str) -> Result<String, Failure> {
    if allowed_images::is_of_host(image) {
        return Err(Failure::Refused(format!("cannot use {image}: it is an image of this service")));
    }
    let refused = |reason| Failure::Refused(format!("cannot use {image}: {reason}"));
    if options.allowed_images.has(image) {
        return Ok(image.to_owned());
    }
    let name = allowed_images::public(image).map_err(refused)?;
    if is_private(allowed_images::registry_host(&name)).await {
        return Err(refused(allowed_images::NOT_PUBLIC.to_owned()));
    }
    let digest = engine.public_digest(&name).await?;
    let repository = allowed_images::parse(&name).map_err(refused)?.name;
    Ok(format!("{repository}@{digest}"))
}

/// Whether the name of a registry leads to this machine or its network. An engine may know names that are unknown here, such as
/// those of a mirror.
async fn is_private(host: &str) -> bool {
    let found = lookup_host((host, HTTPS)).await;
    found.is_ok_and(|mut found| found.any(|address| !address::is_public(address.ip())))
}

/// Pulls an image with a resolved name, if it has to.
pub(super) async fn pull(
    engine: &Engine,
    options: &Options,
    job: &PullJob,
    log: &LogSink,
) -> Result<(), Failure> {
    let PullJob { image, from, .. } = job;
    let (user, is_enough) = match from {
        PullFrom::Engine => return Ok(()),
        // The credentials say whose it is, so that one that is there is not used.
        PullFrom::Host(login) => (RegistryUser::Login(login), false),
        PullFrom::Elsewhere if !options.allowed_images.has(image) => {
            (RegistryUser::Anonymous, image.contains('@'))
        }
        PullFrom::Replacement | PullFrom::Elsewhere => (RegistryUser::Stored, !options.pull),
    };
    if is_enough && engine.image(image).await?.is_some() {
        return Ok(());
    }
    log(LogLevel::Info, &format!("pulling {image}"));
    let warn = log.clone();
    let events = move |event: Event| {
        if let Event::Warning { message } = event {
            warn(LogLevel::Warning, &message);
        }
    };
    Ok(engine.pull_as(image, user, events).await?)
}
