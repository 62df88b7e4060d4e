//! Whether an image is up to date. A build records a digest of its inputs; if the inputs are the same and all names of the
//! image still refer to it, it is not built again.
//!
//! The records are files on this machine, not labels of the images: images inherit the labels of their base images, and
//! a label would have to be set before the files are sent, which may change until then.

use std::future::poll_fn;

use bollard::models::ImageInspect;
use futures_util::future::join_all;
use sha2::{Digest as _, Sha256};

use super::connect::Engine;
use super::records::{Record, Records};
use super::request::{BuildRequest, Built, Settings};
use crate::context::Listing;

/// Version of the digest; it changes if the same inputs make another image.
const FORMAT: &str = "2";

/// SHA-256 of the archive of the context.
pub(super) type Files = [u8; 32];

/// The inputs of an image, except its files.
pub(super) struct Freshness {
    engine: Engine,
    records: Records,
    tags: Vec<String>,
    images: Vec<String>,
    settings: Vec<String>,
}

/// The state before a build.
#[derive(Default)]
pub(super) struct Before {
    /// The base images; `None` if one is not local.
    bases: Option<Vec<Image>>,
    /// The image, if it is up to date.
    pub(super) built: Option<Built>,
}

/// An image on the engine.
#[derive(PartialEq)]
struct Image {
    id: String,
    /// Operating system, architecture and variant.
    platform: [String; 3],
    /// Whether it has ONBUILD instructions, whose inputs are unknown.
    has_triggers: bool,
}

impl Freshness {
    /// The inputs of `request`; `None` if they are not all known.
    pub(super) fn new(engine: &Engine, request: &BuildRequest) -> Option<Self> {
        let directory = engine.env.cache.as_ref()?;
        if request.pull || !request.images_known || request.tags.is_empty() {
            return None;
        }
        Some(Self {
            engine: engine.clone(),
            records: Records::new(directory, &engine.endpoint.host),
            tags: request.tags.clone(),
            images: request.images.clone(),
            settings: settings(request),
        })
    }

    /// The state before the build. Errors are ignored: the build would report them, too.
    pub(super) async fn before_build(&self, listing: &Listing, reuse: bool) -> Before {
        let Some(record) = self.records.find(&self.tags).filter(|_| reuse) else {
            return Before { bases: self.inspect(&self.images).await, built: None };
        };
        let (bases, named, files) =
            tokio::join!(self.inspect(&self.images), self.inspect(&self.tags), digest(listing));
        let is_same = |bases: &Vec<Image>| {
            named.is_some_and(|named| named.iter().all(|image| image.id == record.id))
                && files.is_some_and(|files| self.inputs(bases, &files) == record.inputs)
        };
        let built = bases.as_ref().filter(|bases| is_same(bases));
        let built = built.map(|_| Built { id: record.id, tags: self.tags.clone() });
        Before { bases, built }
    }

    /// Records the inputs of `built` if they are certain: the base images did not change during the build, and have its
    /// platform (otherwise the engine takes them from the registry).
    pub(super) async fn record(&self, before: Before, files: &Files, built: &Built) {
        let (bases, named) = tokio::join!(self.inspect(&self.images), self.inspect(&self.tags));
        let (Some(bases), Some(named)) = (bases.filter(|bases| before.bases.as_ref() == Some(bases)), named)
        else {
            return;
        };
        let fits = |base: &Image, image: &Image| base.platform == image.platform && !base.has_triggers;
        let is_certain = |image: &Image| image.id == built.id && bases.iter().all(|base| fits(base, image));
        if named.iter().all(is_certain) {
            let record = Record { inputs: self.inputs(&bases, files), id: built.id.clone() };
            // Without a record, the image is built again.
            self.records.add(&self.tags, &record).ok();
        }
    }

    async fn inspect(&self, names: &[String]) -> Option<Vec<Image>> {
        let images = join_all(names.iter().map(|name| self.engine.inspect_image(name))).await;
        images.into_iter().map(|image| Image::new(image.ok()??)).collect()
    }

    /// The digest of all inputs.
    fn inputs(&self, bases: &[Image], files: &Files) -> String {
        let mut hasher = Sha256::new_with_prefix(files);
        let bases = self.images.iter().chain(bases.iter().map(|base| &base.id));
        for text in [FORMAT].into_iter().chain(self.settings.iter().chain(bases).map(String::as_str)) {
            hasher.update(text.len().to_le_bytes());
            hasher.update(text);
        }
        hex::encode(hasher.finalize())
    }
}

/// The settings that are inputs of the image. Secrets are none, as for the engine's cache, and neither are images whose layers
/// are used.
fn settings(request: &BuildRequest) -> Vec<String> {
    let Settings {
        arguments,
        labels,
        hosts,
        network,
        inline_cache,
        time,
        cache_from: _,
        secrets: _,
        sources: _,
    } = &request.settings;
    let texts = [request.dockerfile.clone(), request.platform.clone().unwrap_or_default()].into_iter();
    let all = [format!("{arguments:?} {labels:?} {hosts:?} {network:?}")];
    let time = time.map(|time| format!("time {time}"));
    texts.chain(all).chain(inline_cache.then(|| "inline cache".to_owned())).chain(time).collect()
}

impl Image {
    fn new(image: ImageInspect) -> Option<Self> {
        let triggers = image.config.and_then(|config| config.on_build).unwrap_or_default();
        let architecture = image.architecture.unwrap_or_default();
        // Some engines omit the default variant.
        let variant = image.variant.filter(|variant| (&*architecture, &**variant) != ("arm64", "v8"));
        let platform = [image.os.unwrap_or_default(), architecture, variant.unwrap_or_default()];
        Some(Self { id: image.id?, platform, has_triggers: !triggers.is_empty() })
    }
}

/// The digest of the archive; `None` if a file cannot be read.
async fn digest(listing: &Listing) -> Option<Files> {
    let mut archive = listing.clone().stream();
    let mut hasher = Sha256::new();
    while let Some(piece) = poll_fn(|task| archive.poll_next(task)).await {
        hasher.update(piece.ok()?);
    }
    Some(hasher.finalize().into())
}
