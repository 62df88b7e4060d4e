//! One name for the images of several platforms: an image index.

use bytes::Bytes;
use serde_json::{Value, json};

use super::access::{Access, INDEX, LATEST, parsed};
use super::error::Error;
use super::image::Image;
use crate::live::Stop;

/// Start of the media types of images in the format of OCI; the others are in Docker's.
const OCI: &str = "application/vnd.oci.";

/// The type of an index of images in the format of OCI, and of one of other images.
const TYPES: [&str; 2] = [INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"];

/// Makes the images with these `digests`, which the repository of `name` has, one image of several platforms, and pushes it
/// under that name. Returns its name with its digest.
///
/// # Errors
///
/// The registry refuses, lacks one of the images, or is unreachable; or the program is asked to stop.
pub async fn push_index(
    access: &Access<'_>,
    name: &str,
    digests: &[String],
    stop: &Stop,
) -> Result<String, Error> {
    stop.unless_asked(push(access, name, digests)).await?
}

async fn push(access: &Access<'_>, name: &str, digests: &[String]) -> Result<String, Error> {
    let parsed = parsed(name);
    let repository = access.open(parsed.name, true).await?;
    let tag = parsed.tag.unwrap_or(LATEST);
    let what = format!("push `{}`", repository.image(tag));
    let mut manifests = Vec::new();
    for digest in digests {
        let image = Image::find(&repository, digest, None).await?;
        let image =
            image.ok_or_else(|| repository.invalid(&what, &format!("it lacks the pushed image {digest}")))?;
        manifests.push(entry(&image));
    }
    let is_oci = manifests.iter().all(|it| it["mediaType"].as_str().is_some_and(|it| it.starts_with(OCI)));
    let media_type = TYPES[usize::from(!is_oci)];
    let index = json!({ "schemaVersion": 2, "mediaType": media_type, "manifests": manifests });
    let index = Bytes::from(index.to_string());
    let digest = repository.push_manifest(&what, tag, media_type, &index).await?;
    Ok(format!("{}@{digest}", parsed.name))
}

/// The entry of an image in an index.
fn entry(image: &Image) -> Value {
    let platform = ["architecture", "os", "os.version", "variant"].iter();
    let platform = platform.filter_map(|&name| {
        let value = image.configuration[name].as_str().filter(|value| !value.is_empty())?;
        Some((name.to_owned(), Value::from(value)))
    });
    json!({
        "mediaType": image.manifest.media_type,
        "size": image.manifest.size,
        "digest": image.manifest.digest,
        "platform": platform.collect::<serde_json::Map<_, _>>(),
    })
}
