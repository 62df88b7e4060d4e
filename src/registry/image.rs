//! Images in a registry: the manifest and the configuration of one platform.

use serde_json::Value;

use super::client::{Manifest, Repository};
use super::error::Error;

/// The manifest and the configuration of an image.
pub(super) struct Image {
    pub(super) manifest: Manifest,
    pub(super) configuration: Value,
}

impl Image {
    /// The image of a tag or digest for `platform`, which an index of one platform needs not; `None` if there is none.
    pub(super) async fn find(
        repository: &Repository,
        reference: &str,
        platform: Option<&str>,
    ) -> Result<Option<Self>, Error> {
        let Some(mut manifest) = repository.manifest(reference).await? else { return Ok(None) };
        if let Some(all) = manifest.json["manifests"].as_array() {
            let images = all.iter().filter(|it| it["platform"]["os"].as_str() != Some("unknown"));
            let fitting: Vec<&Value> = images
                .filter(|it| platform.is_none_or(|platform| is_for(&it["platform"], platform)))
                .collect();
            let [one] = fitting[..] else { return Ok(None) };
            let digest = one["digest"].as_str().unwrap_or_default().to_owned();
            let Some(of_platform) = repository.manifest(&digest).await? else { return Ok(None) };
            manifest = of_platform;
        }
        let digest = manifest.json["config"]["digest"].as_str().unwrap_or_default().to_owned();
        let configuration = repository.configuration(&digest).await?;
        Ok(Some(Self { manifest, configuration }))
    }

    /// Its platform, such as `linux/arm64`.
    pub(super) fn platform(&self) -> String {
        platform(&self.configuration)
    }

    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.configuration["config"]["Labels"][name].as_str()
    }

    /// The digests of the layers before compression.
    pub(super) fn diff_ids(&self) -> &[Value] {
        self.configuration["rootfs"]["diff_ids"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn history(&self) -> &[Value] {
        self.configuration["history"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn layers(&self) -> &[Value] {
        self.manifest.json["layers"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// The platform in a configuration or in an entry of an index.
pub(super) fn platform(of: &Value) -> String {
    let part = |name: &str| of[name].as_str().unwrap_or_default();
    let variant = Some(part("variant")).filter(|variant| !variant.is_empty());
    let variant = variant.map_or_else(String::new, |variant| format!("/{variant}"));
    format!("{}/{}{variant}", part("os"), part("architecture"))
}

/// Whether a platform of an index is `platform`.
pub(super) fn is_for(of_index: &Value, platform: &str) -> bool {
    let mut parts = platform.split('/');
    let same = ["os", "architecture"].iter().all(|name| of_index[*name].as_str() == parts.next());
    same && parts.next().is_none_or(|variant| of_index["variant"].as_str().is_none_or(|it| it == variant))
}
