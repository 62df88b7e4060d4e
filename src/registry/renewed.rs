//! A new image from one in a registry: the same but for its last layer.

use bytes::Bytes;
use serde_json::json;

use super::access::Access;
use super::client::{Repository, digest_of};
use super::error::Error;
use super::image::Image;
use crate::context::Layer;
use crate::live::Event;

/// The key of an image's configuration under which BuildKit records which step made each layer: it would name the former
/// source as that of the new layer.
const INLINE_CACHE: &str = "moby.buildkit.cache.v0";

/// The new parts of an image.
pub(super) struct Renewed {
    layer: Layer,
    configuration: Bytes,
    manifest: Bytes,
    media_type: String,
}

impl Renewed {
    /// `image` with `layer` as its last one.
    pub(super) fn new(image: &Image, layer: Layer) -> Self {
        let mut configuration = image.configuration.clone();
        if let Some(settings) = configuration.as_object_mut() {
            settings.remove(INLINE_CACHE);
        }
        if let Some(last) = configuration["rootfs"]["diff_ids"].as_array_mut().and_then(|all| all.last_mut())
        {
            *last = json!(layer.diff_id);
        }
        let configuration = Bytes::from(configuration.to_string());
        let mut manifest = image.manifest.json.clone();
        manifest["config"]["digest"] = json!(digest_of(&configuration));
        manifest["config"]["size"] = json!(configuration.len());
        if let Some(last) = manifest["layers"].as_array_mut().and_then(|all| all.last_mut()) {
            *last = json!({
                "mediaType": last["mediaType"],
                "size": layer.bytes.len(),
                "digest": digest_of(&layer.bytes),
            });
        }
        let manifest = Bytes::from(manifest.to_string());
        Self { layer, configuration, manifest, media_type: image.manifest.media_type.clone() }
    }

    /// Pushes it to a repository that has the other layers, and returns its digest. The tag changes last.
    pub(super) async fn push(
        &self,
        what: &str,
        repository: &Repository,
        tag: &str,
        access: &Access<'_>,
    ) -> Result<String, Error> {
        let blobs = [&self.layer.bytes, &self.configuration];
        let total = blobs.iter().map(|blob| blob.len() as u64).sum();
        let report = |bytes| _ = access.events.send(Event::Push { bytes, total, layers: 1 });
        report(0);
        for blob in blobs {
            repository.push_blob(what, blob, &digest_of(blob)).await?;
            report(repository.sent());
        }
        repository.push_manifest(what, tag, &self.media_type, &self.manifest).await
    }
}
