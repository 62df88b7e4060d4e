//! A new image from one in the registry: the same layers but the last, which is that of the source.

use bytes::Bytes;
use serde_json::{Value, json};

use super::access::{Access, LATEST, parsed};
use super::client::{Repository, digest_of};
use super::error::Error;
use super::image::Image;
use crate::compiler::manifests::image_name::ImageName;
use crate::context::{Layer, Listing, Parent};
use crate::engine::{BuildRequest, SOURCE_LABEL, SourceRecord};
use crate::live::{Event, Stop};

/// The key of an image's configuration under which BuildKit records which step made each layer: it would name the former
/// source as that of the new layer.
const INLINE_CACHE: &str = "moby.buildkit.cache.v0";

/// Bytes of the former source layer that are read: its first entries are the directories above the source.
const BEGINNING: usize = 64 << 10;

/// How to get an image without an engine.
const BUILD: &str = "build it with a container engine and push it with `agentcli build --push`";

/// A build without a container engine.
pub struct Replacement<'a> {
    /// The build; its names are those to push.
    pub request: &'a BuildRequest,
    /// The image to start from [default: the one that has the first name, or else the tag `latest`].
    pub from: Option<&'a str>,
    /// How the registries are reached.
    pub access: Access<'a>,
}

/// A new image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its names in the registry with the digest, one for each repository.
    pub images: Vec<String>,
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
        let names = &self.request.tags;
        let different = |reason: String, hint| Error::Different { image: names[0].clone(), reason, hint };
        let listing = self.request.context.list()?;
        let record = SourceRecord::new(self.request, &listing)?;
        let record = record.map_err(|reason| different(reason, "build it with a container engine"))?;
        let former = self.former().await?;
        let Some((repository, image, reference)) = former else {
            let wanted = self.from.unwrap_or(&names[0]);
            return Err(different(format!("the registry has no image `{wanted}` for the platform"), BUILD));
        };
        let Some(label) = image.label(SOURCE_LABEL) else {
            let reason = format!("`{reference}` has no record of its steps; `agentcli build` writes one");
            return Err(different(reason, BUILD));
        };
        if let Some(difference) = record.difference(self.request, label) {
            return Err(different(format!("{difference} (compared with `{reference}`)"), BUILD));
        }
        self.check_layers(&image, &reference).await?;
        let parts = self.parts(&repository, &image, &listing).await?;
        self.push(&repository, &parts).await
    }

    /// The image to start from: its repository, itself, and its name.
    async fn former(&self) -> Result<Option<(Repository, Image, String)>, Error> {
        let own = &self.request.tags[0];
        let name = parsed(self.from.unwrap_or(own));
        let repository = self.access.open(name.name, self.from.is_none()).await?;
        let own = name.digest.or(name.tag).unwrap_or(LATEST);
        let fallback = (self.from.is_none() && own != LATEST).then_some(LATEST);
        for reference in [own].into_iter().chain(fallback) {
            let found = Image::find(&repository, reference, self.request.platform.as_deref()).await?;
            if let Some(image) = found {
                let reference = repository.image(reference);
                return Ok(Some((repository, image, reference)));
            }
        }
        Ok(None)
    }

    /// Checks that the image is its base image, the steps of the record and the source, and nothing else: an image inherits
    /// the label of its base image.
    async fn check_layers(&self, image: &Image, reference: &str) -> Result<(), Error> {
        let different =
            |reason: String| Error::Different { image: self.request.tags[0].clone(), reason, hint: BUILD };
        for name in &self.request.images {
            let parsed = parsed(name);
            let repository = self.access.open(parsed.name, false).await?;
            let tag = parsed.digest.or(parsed.tag).unwrap_or(LATEST);
            let base = Image::find(&repository, tag, Some(&image.platform())).await?;
            let base = base.ok_or_else(|| different(format!("the registry has no base image `{name}`")))?;
            if !image.diff_ids().starts_with(base.diff_ids()) || !image.history().starts_with(base.history())
            {
                return Err(different(format!(
                    "the base image `{name}` changed since `{reference}` was built"
                )));
            }
            let own = &image.history()[base.history().len()..];
            let is_source = |entry: &&Value| {
                let text = entry["created_by"].as_str().unwrap_or_default();
                text.starts_with("COPY . ")
            };
            let is_layer = |entry: &&Value| entry["empty_layer"] != json!(true);
            let layers = image.history().iter().filter(is_layer).count();
            let last = own.iter().rfind(is_layer);
            let is_whole = layers == image.diff_ids().len() && layers == image.layers().len();
            if !is_whole
                || !last.is_some_and(|last| is_source(&last))
                || own.iter().filter(is_source).count() != 1
            {
                return Err(different(format!("the last layer of `{reference}` is not that of the source")));
            }
        }
        Ok(())
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

    async fn push(&self, former: &Repository, parts: &Parts) -> Result<Replaced, Error> {
        let mut replaced = Replaced { images: Vec::new(), sent: 0 };
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
            replaced.sent += repository.sent();
            let image = format!("{name}@{digest}");
            if !replaced.images.contains(&image) {
                replaced.images.push(image);
            }
        }
        Ok(replaced)
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
