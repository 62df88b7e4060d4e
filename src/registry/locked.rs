//! The digests of an image, which a lock file names.

use std::collections::BTreeMap;

use serde_json::Value;

use super::access::{Access, LATEST, parsed};
use super::error::Error;
use super::image::{Image, platform};
use crate::compiler::agent_lock::{LockedImage, is_word};
use crate::compiler::manifests::image_name::{is_sha256, without_digest};
use crate::live::Stop;

/// The image `name` with the digests that its registry has for it now.
///
/// # Errors
///
/// There is no such image, the registry refuses or is unreachable, or the program is asked to stop.
pub async fn locked_image(access: &Access<'_>, name: &str, stop: &Stop) -> Result<LockedImage, Error> {
    stop.unless_asked(find(access, name)).await?
}

async fn find(access: &Access<'_>, name: &str) -> Result<LockedImage, Error> {
    let parsed = parsed(name);
    let repository = access.open(parsed.name, false).await?;
    let reference = parsed.digest.or(parsed.tag).unwrap_or(LATEST);
    let what = format!("read the image `{}`", repository.image(reference));
    let absent = || Error::Refused {
        what: what.clone(),
        host: repository.host.clone(),
        status: 404,
        reason: "there is no such image".to_owned(),
    };
    let invalid = || repository.invalid(&what, "it does not name the platforms and digests of the image");
    let manifest = repository.manifest(reference).await?.ok_or_else(absent)?;
    let digest = manifest.digest.clone();
    let platforms = match manifest.json["manifests"].as_array() {
        Some(all) => all.iter().filter_map(of_index).collect::<BTreeMap<_, _>>(),
        None => {
            let settings = manifest.json["config"]["digest"].as_str().unwrap_or_default().to_owned();
            if !is_sha256(&settings) {
                return Err(invalid());
            }
            let configuration = repository.configuration(&settings).await?;
            let image = Image { manifest, configuration };
            BTreeMap::from([(image.platform(), digest.clone())])
        }
    };
    let is_valid = |(platform, digest): (&String, &String)| is_word(platform) && is_sha256(digest);
    if platforms.is_empty() || !platforms.iter().all(is_valid) {
        return Err(invalid());
    }
    Ok(LockedImage { name: without_digest(name).to_owned(), digest, platforms })
}

/// The platform and the digest of an entry; `None` for what is no image, such as an attestation.
fn of_index(entry: &Value) -> Option<(String, String)> {
    let of_entry = &entry["platform"];
    let is_image = of_entry["os"].as_str().is_some_and(|os| os != "unknown");
    is_image.then(|| (platform(of_entry), entry["digest"].as_str().unwrap_or_default().to_owned()))
}
