//! A new image from one in the registry: the same layers but the last, which is that of the source.

use bytes::Bytes;
use serde_json::json;

use super::access::{Access, LATEST, parsed};
use super::client::{Repository, digest_of};
use super::error::Error;
use super::former::{Former, Search};
use super::image::Image;
use crate::compiler::manifests::image_name::ImageName;
use crate::context::{Layer, Listing, Parent};
use crate::engine::{BuildRequest, SourceRecord};
use crate::live::{Event, Stop};

/// The key of an image's configuration under which BuildKit records which step made each layer: it would name the former
/// source as that of the new layer.
const INLINE_CACHE: &str = "moby.buildkit.cache.v0";

/// Bytes of the former source layer that are read: its first entries are the directories above the source.
const BEGINNING: usize = 64 << 10;

/// A build without a container engine.
pub struct Replacement<'a> {
    /// The build; its names are those to push.
    pub request: &'a BuildRequest,
    /// The image to start from [default: the first that fits of those with the names, the tag `latest`, and other tags of
    /// the first name's repository].
    pub from: Option<&'a str>,
    /// How the registries are reached.
    pub access: Access<'a>,
}

/// A new image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its names in the registry with the digest, one for each repository.
    pub images: Vec<String>,
    /// The image that it was made from, with its digest.
    pub former: String,
    /// Bytes sent.
    pub sent: u64,
}

/// The parts of a new image.
struct Parts {
    layer: Layer,
    configuration: Bytes,
    manifest: Bytes,
    media_type: String,
    /// Digests of the layers that the former image has, too.
    kept: Vec<String>,
}

impl Replacement<'_> {
    /// Makes the image and pushes it under its names. Tags change last, when everything that they need is there.
    ///
    /// # Errors
    ///
    /// Something before the source differs from the image in the registry, there is none, the context cannot be read, or a
    /// registry refuses or is unreachable.
    pub async fn run(&self, stop: &Stop) -> Result<Replaced, Error> {
        stop.unless_asked(self.replace()).await?
    }

    async fn replace(&self) -> Result<Replaced, Error> {
        let listing = self.request.context.list()?;
        let record = SourceRecord::new(self.request, &listing)?;
        let record = record.map_err(|reason| Error::Different {
            image: self.request.tags[0].clone(),
            reason,
            hint: "build it with a container engine",
        })?;
        let search = Search { request: self.request, record: &record, access: &self.access };
        let Former { repository, image } = search.run(self.from).await?;
        let parts = self.parts(&repository, &image, &listing).await?;
        let former = repository.image(&image.manifest.digest);
        let (images, sent) = self.push(&repository, &parts).await?;
        Ok(Replaced { images, former, sent })
    }

    async fn parts(&self, repository: &Repository, image: &Image, listing: &Listing) -> Result<Parts, Error> {
        let what = format!("read the image `{}`", repository.image(&image.manifest.digest));
        let target = self.request.source().unwrap_or_default();
        let former = &image.layers()[image.layers().len() - 1];
        let digest = former["digest"].as_str().unwrap_or_default();
        let beginning = repository.beginning(digest, BEGINNING).await?;
        let parents = Parent::read(&beginning, target)
            .map_err(|error| repository.invalid(&what, &format!("its last layer cannot be read: {error}")))?;
        let layer = listing.layer(target, &parents)?;
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
        let kept = image.layers()[..image.layers().len() - 1].iter();
        let kept = kept.filter_map(|layer| layer["digest"].as_str()).map(str::to_owned).collect();
        if let Some(last) = manifest["layers"].as_array_mut().and_then(|all| all.last_mut()) {
            *last = json!({
                "mediaType": last["mediaType"],
                "size": layer.bytes.len(),
                "digest": digest_of(&layer.bytes),
            });
        }
        let manifest = Bytes::from(manifest.to_string());
        Ok(Parts { layer, configuration, manifest, media_type: image.manifest.media_type.clone(), kept })
    }

    /// Returns the names in the registry with the digest, and the number of bytes sent.
    async fn push(&self, former: &Repository, parts: &Parts) -> Result<(Vec<String>, u64), Error> {
        let mut images = Vec::new();
        let mut sent = 0;
        for name in &self.request.tags {
            let ImageName { name, tag, .. } = parsed(name);
            let repository = self.access.open(name, true).await?;
            let tag = tag.unwrap_or(LATEST);
            let what = format!("push `{}`", repository.image(tag));
            let blobs = [&parts.layer.bytes, &parts.configuration];
            let total = blobs.iter().map(|blob| blob.len() as u64).sum();
            let report = |bytes| _ = self.access.events.send(Event::Push { bytes, total, layers: 1 });
            report(0);
            if (&repository.host, &repository.name) != (&former.host, &former.name) {
                self.mount(&repository, former, parts, &what).await?;
            }
            for blob in blobs {
                repository.push_blob(&what, blob, &digest_of(blob)).await?;
                report(repository.sent());
            }
            let digest = repository.push_manifest(&what, tag, &parts.media_type, &parts.manifest).await?;
            sent += repository.sent();
            let image = format!("{name}@{digest}");
            if !images.contains(&image) {
                images.push(image);
            }
        }
        Ok((images, sent))
    }

    /// Makes another repository of the registry take the layers that stay.
    async fn mount(
        &self,
        repository: &Repository,
        former: &Repository,
        parts: &Parts,
        what: &str,
    ) -> Result<(), Error> {
        let refused = || Error::Different {
            image: self.request.tags[0].clone(),
            reason: format!(
                "`{}/{}` does not take layers of `{}/{}`",
                repository.host, repository.name, former.host, former.name
            ),
            hint: "pass an image of the same repository with --from",
        };
        if repository.host != former.host {
            return Err(refused());
        }
        for digest in &parts.kept {
            if !repository.mount(what, digest, &former.name).await? {
                return Err(refused());
            }
        }
        Ok(())
    }
}
