//! One digest: the source layer of an image that an engine pushed, written as without an engine.

use super::access::{Access, parsed};
use super::client::digest_of;
use super::error::Error;
use super::image::Image;
use super::renewed::Renewed;
use crate::engine::{BuildRequest, SOURCE_LABEL, SourceRecord};
use crate::live::{Event, Stop};

/// The most bytes of a layer beside the contents of the files, for each entry and for all of them: names and headers.
const ENTRY: u64 = 16 * 1024;
const SLACK: u64 = 1 << 20;

/// Writes the last layer of the image with the name `image`, a repository, a tag and a digest, which was built of `request`, as
/// it is without an engine, and moves the tag to the new image; returns its digest. If that is not possible, a warning says why,
/// and the image stays as it is.
///
/// # Errors
///
/// The program is asked to stop.
pub async fn settle(
    access: &Access<'_>,
    image: &str,
    request: &BuildRequest,
    stop: &Stop,
) -> Result<String, Error> {
    let settled = stop.unless_asked(settled(access, image, request)).await?;
    Ok(settled.unwrap_or_else(|error| {
        let message = format!("the digest of the image is another one than without an engine: {error}");
        _ = access.events.send(Event::Warning { message });
        parsed(image).digest.unwrap_or_default().to_owned()
    }))
}

async fn settled(access: &Access<'_>, image: &str, request: &BuildRequest) -> Result<String, Error> {
    let name = parsed(image);
    let repository = access.open(name.name, true).await?;
    let (tag, digest) = (name.tag.unwrap_or_default(), name.digest.unwrap_or_default());
    let what = format!("push `{}`", repository.image(tag));
    let found = Image::find(&repository, digest, None).await?;
    let found = found.ok_or_else(|| repository.invalid(&what, "it does not have the pushed image"))?;
    let different =
        |reason: String| Error::Different { image: image.to_owned(), reason, hint: "build it again" };
    let mut listing = request.context.list()?;
    let copied: Vec<&String> = request.copied().collect();
    listing.hold(copied.iter().copied())?;
    let record = SourceRecord::new(request, &listing)?.map_err(different)?;
    if let Some(reason) = record.difference(request, found.label(SOURCE_LABEL).unwrap_or_default()) {
        return Err(different(reason));
    }
    let last = found.layers().last().and_then(|layer| layer["digest"].as_str()).unwrap_or_default();
    let most = listing.bytes() * 2 + listing.entries().len() as u64 * ENTRY + SLACK;
    let bytes = repository.beginning(last, usize::try_from(most).unwrap_or(usize::MAX)).await?;
    repository.check(&what, last, &digest_of(&bytes))?;
    let layer = listing.layer_of_engine(&bytes, request.source().unwrap_or_default(), &copied);
    let unreadable = |error| repository.invalid(&what, &format!("its last layer cannot be read: {error}"));
    Renewed::new(&found, layer.map_err(unreadable)?).push(&what, &repository, tag, access).await
}
