//! Whether there is anything to build. What went into an image is remembered when it is built; where all of it is still
//! the same and every name still means that image, a build could only make it again.
//!
//! It is remembered on this machine by the image's id, not in a label of the image: whatever is built on an image has
//! its labels, too, and a label must be chosen before the files are sent, which may change meanwhile.

use std::future::poll_fn;

use bollard::models::ImageInspect;
use futures_util::future::join_all;
use sha2::{Digest as _, Sha256};

use super::build::{BuildRequest, Built};
use super::connect::Engine;
use super::records::{Record, Records};
use crate::context::Listing;

/// Changes when the same inputs would become another image.
const FORMAT: &str = "1";

/// SHA-256 of the context's archive.
pub(super) type Files = [u8; 32];

/// Everything that decides on an image, but for its files.
pub(super) struct Freshness {
    engine: Engine,
    records: Records,
    tags: Vec<String>,
    images: Vec<String>,
    settings: [String; 2],
}

/// What there was before a build.
#[derive(Default)]
pub(super) struct Before {
    /// The base images; nothing where one is not here.
    bases: Option<Vec<Image>>,
    /// The image that a build would only make again.
    pub(super) built: Option<Built>,
}

/// An image as the engine has it.
#[derive(PartialEq)]
struct Image {
    id: String,
    /// Operating system, architecture, and its variant.
    platform: [String; 3],
    /// Whether it has instructions for what is built on it, and so inputs that nobody here knows.
    has_triggers: bool,
}

impl Freshness {
    /// What `request` depends on; nothing where that cannot be told.
    pub(super) fn new(engine: &Engine, request: &BuildRequest) -> Option<Self> {
        let directory = engine.env.cache.as_ref()?;
        if request.pull || !request.images_known || request.tags.is_empty() {
            return None;
        }
        Some(Self {
            engine: engine.clone(),
            records: Records::new(directory, &engine.host),
            tags: request.tags.clone(),
            images: request.images.clone(),
            settings: [request.dockerfile.clone(), request.platform.clone().unwrap_or_default()],
        })
    }

    /// Looks at what is there. Whatever fails here fails in the build too, where it is reported.
    pub(super) async fn look(&self, listing: &Listing, reuse: bool) -> Before {
        let Some(record) = self.records.of(&self.tags).filter(|_| reuse) else {
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

    /// Remembers `built`, if it is sure what it was made from: the base images are the same as `before`, and of its own
    /// platform (where the one that is here is of another, the engine asks the registry).
    pub(super) async fn remember(&self, before: Before, files: &Files, built: &Built) {
        let (bases, named) = tokio::join!(self.inspect(&self.images), self.inspect(&self.tags));
        let (Some(bases), Some(named)) = (bases.filter(|bases| before.bases.as_ref() == Some(bases)), named)
        else {
            return;
        };
        let fits = |base: &Image, image: &Image| base.platform == image.platform && !base.has_triggers;
        let is_sure = |image: &Image| image.id == built.id && bases.iter().all(|base| fits(base, image));
        if named.iter().all(is_sure) {
            let record = Record { inputs: self.inputs(&bases, files), id: built.id.clone() };
            // Without it the engine is asked again, which is no harm.
            self.records.keep(&self.tags, &record).ok();
        }
    }

    async fn inspect(&self, names: &[String]) -> Option<Vec<Image>> {
        let images = join_all(names.iter().map(|name| self.engine.inspect_image(name))).await;
        images.into_iter().map(|image| Image::of(image.ok()??)).collect()
    }

    /// The digest of everything that goes into the image.
    fn inputs(&self, bases: &[Image], files: &Files) -> String {
        let mut hasher = Sha256::new_with_prefix(files);
        let bases = self.images.iter().chain(bases.iter().map(|base| &base.id));
        for text in [FORMAT].into_iter().chain(self.settings.iter().chain(bases).map(String::as_str)) {
            hasher.update(text.len().to_le_bytes());
            hasher.update(text);
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Image {
    fn of(image: ImageInspect) -> Option<Self> {
        let triggers = image.config.and_then(|config| config.on_build).unwrap_or_default();
        let architecture = image.architecture.unwrap_or_default();
        // The variant that goes without saying is written by some and not by others.
        let variant = image.variant.filter(|variant| (&*architecture, &**variant) != ("arm64", "v8"));
        let platform = [image.os.unwrap_or_default(), architecture, variant.unwrap_or_default()];
        Some(Self { id: image.id?, platform, has_triggers: !triggers.is_empty() })
    }
}

/// The digest of the archive; nothing where a file cannot be read.
async fn digest(listing: &Listing) -> Option<Files> {
    let mut archive = listing.clone().stream();
    let mut hasher = Sha256::new();
    while let Some(piece) = poll_fn(|task| archive.poll_next(task)).await {
        hasher.update(piece.ok()?);
    }
    Some(hasher.finalize().into())
}
