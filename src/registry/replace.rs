//! A new image from one in the registry: the same layers but the last, which is that of the source.

use super::access::{Access, LATEST, parsed};
use super::client::Repository;
use super::error::Error;
use super::former::{Former, Search};
use super::image::Image;
use super::renewed::Renewed;
use crate::compiler::manifests::image_name::ImageName;
use crate::context::{Listing, Parent};
use crate::engine::{BuildRequest, SourceRecord};
use crate::live::Stop;

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
    /// Bytes sent.
    pub sent: u64,
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
        let renewed = self.renewed(&repository, &image, &listing).await?;
        let (images, sent) = self.push(&repository, &image, &renewed).await?;
        Ok(Replaced { images, sent })
    }

    async fn renewed(
        &self,
        repository: &Repository,
        image: &Image,
        listing: &Listing,
    ) -> Result<Renewed, Error> {
        let what = format!("read the image `{}`", repository.image(&image.manifest.digest));
        let target = self.request.source().unwrap_or_default();
        let former = &image.layers()[image.layers().len() - 1];
        let digest = former["digest"].as_str().unwrap_or_default();
        let beginning = repository.beginning(digest, BEGINNING).await?;
        let parents = Parent::read(&beginning, target)
            .map_err(|error| repository.invalid(&what, &format!("its last layer cannot be read: {error}")))?;
        let layer = listing.layer(target, &parents)?;
        Ok(Renewed::new(image, layer))
    }

    /// Returns the names in the registry with the digest, and the number of bytes sent.
    async fn push(
        &self,
        former: &Repository,
        image: &Image,
        renewed: &Renewed,
    ) -> Result<(Vec<String>, u64), Error> {
        let mut images = Vec::new();
        let mut sent = 0;
        for name in &self.request.tags {
            let ImageName { name, tag, .. } = parsed(name);
            let repository = self.access.open(name, true).await?;
            let tag = tag.unwrap_or(LATEST);
            let what = format!("push `{}`", repository.image(tag));
            if (&repository.host, &repository.name) != (&former.host, &former.name) {
                self.mount(&repository, former, image, &what).await?;
            }
            let digest = renewed.push(&what, &repository, tag, &self.access).await?;
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
        image: &Image,
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
        let kept = &image.layers()[..image.layers().len() - 1];
        for digest in kept.iter().filter_map(|layer| layer["digest"].as_str()) {
            if !repository.mount(what, digest, &former.name).await? {
                return Err(refused());
            }
        }
        Ok(())
    }
}
