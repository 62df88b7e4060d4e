//! The digests of the images that an image in a registry was built on.

use super::access::{Access, LATEST, parsed};
use super::error::Error;
use super::image::Image;
use crate::live::Stop;

/// The digest of each of `bases`: that in its name, or that of its tag now, if `image`, in the registry with its digest, begins
/// with its layers. `None` if neither is certain, or its registry does not give it.
///
/// # Errors
///
/// The registry of the image refuses or is unreachable, or the program is asked to stop.
pub async fn base_digests(
    access: &Access<'_>,
    image: &str,
    bases: &[String],
    stop: &Stop,
) -> Result<Vec<Option<String>>, Error> {
    stop.unless_asked(find_all(access, image, bases)).await?
}

async fn find_all(access: &Access<'_>, image: &str, bases: &[String]) -> Result<Vec<Option<String>>, Error> {
    let own = parsed(image);
    let repository = access.open(own.name, false).await?;
    let image = Image::find(&repository, own.digest.unwrap_or(LATEST), None).await?;
    let mut digests = Vec::new();
    for base in bases {
        let digest = match (parsed(base).digest, &image) {
            (Some(digest), _) => Some(digest.to_owned()),
            (None, Some(image)) => find(access, image, base).await.ok().flatten(),
            (None, None) => None,
        };
        digests.push(digest);
    }
    Ok(digests)
}

async fn find(access: &Access<'_>, image: &Image, base: &str) -> Result<Option<String>, Error> {
    let base = parsed(base);
    let repository = access.open(base.name, false).await?;
    let Some(named) = repository.manifest(base.tag.unwrap_or(LATEST)).await? else { return Ok(None) };
    let found = Image::find(&repository, &named.digest, Some(&image.platform())).await?;
    let is_base = |base: &Image| !base.diff_ids().is_empty() && image.diff_ids().starts_with(base.diff_ids());
    Ok(found.filter(is_base).map(|_| named.digest))
}
