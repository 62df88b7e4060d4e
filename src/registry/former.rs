//! The image that a new one is made from: one in the registry that differs in the source only.

use serde_json::{Value, json};

use super::access::{Access, LATEST, parsed};
use super::client::Repository;
use super::error::Error;
use super::image::Image;
use crate::api::time;
use crate::compiler::manifests::image_name::ImageName;
use crate::engine::{BuildRequest, SOURCE_LABEL, SourceRecord};

/// Maximum number of images that are read besides those of the names and of `latest`.
const MOST: usize = 20;

/// Start of the tags of what is about an image: signatures, and lists of referrers.
const ABOUT_AN_IMAGE: &str = "sha256-";

/// How to get an image without an engine.
const BUILD: &str = "build it with a container engine and push it with `agentcli build --push`";

/// An image that differs in the source only.
pub(super) struct Former {
    pub(super) repository: Repository,
    pub(super) image: Image,
}

/// A search for an image that differs from that of a build in the source only.
pub(super) struct Search<'a> {
    pub(super) request: &'a BuildRequest,
    /// The record that the image must have.
    pub(super) record: &'a SourceRecord,
    pub(super) access: &'a Access<'a>,
}

/// An image that differs in more.
struct Rejected {
    has_record: bool,
    /// In milliseconds since 1970.
    created: Option<i64>,
    /// The first difference, as a fragment.
    reason: String,
}

impl Search<'_> {
    /// The image `from`; or without one the first that fits of the images of the names, `latest`, and other tags of the
    /// repository.
    ///
    /// # Errors
    ///
    /// None fits, or a registry refuses or is unreachable. The error names the difference from the newest image.
    pub(super) async fn run(&self, from: Option<&str>) -> Result<Former, Error> {
        let wanted = from.unwrap_or(&self.request.tags[0]);
        let name = parsed(wanted);
        let repository = self.access.open(name.name, from.is_none()).await?;
        let mut rejected = Vec::new();
        let first = self.first(&name, from.is_none());
        for tag in &first {
            if let Some(image) = self.examine(&repository, tag, &mut rejected).await? {
                return Ok(Former { repository, image });
            }
        }
        let others = if from.is_none() { others(repository.tags().await?, &first) } else { Vec::new() };
        for tag in &others {
            match self.examine(&repository, tag, &mut rejected).await {
                // Something else than an image.
                Err(Error::Invalid { .. } | Error::Refused { .. }) | Ok(None) => {}
                Err(error) => return Err(error),
                Ok(Some(image)) => return Ok(Former { repository, image }),
            }
        }
        // The first of several that are equally new.
        let newest = rejected.into_iter().rev().max_by_key(|it| (it.has_record, it.created));
        let none = || format!("the registry has no image `{wanted}` for the platform");
        let reason = newest.map_or_else(none, |it| it.reason);
        Err(Error::Different { image: self.request.tags[0].clone(), reason, hint: BUILD })
    }

    /// The tag or digest of `name`; with `has_more`, the tags of the other names in its repository, and `latest`, too.
    fn first(&self, name: &ImageName<'_>, has_more: bool) -> Vec<String> {
        let mut tags = vec![name.digest.or(name.tag).unwrap_or(LATEST).to_owned()];
        let names = self.request.tags.iter().map(|other| parsed(other));
        let more = names.filter(|other| other.name == name.name).map(|other| other.tag.unwrap_or(LATEST));
        for tag in more.chain([LATEST]).filter(|_| has_more) {
            if !tags.iter().any(|known| known == tag) {
                tags.push(tag.to_owned());
            }
        }
        tags
    }

    /// The image of a tag or digest, if there is one for the platform that fits; one that does not is `rejected`.
    async fn examine(
        &self,
        repository: &Repository,
        tag: &str,
        rejected: &mut Vec<Rejected>,
    ) -> Result<Option<Image>, Error> {
        let found = Image::find(repository, tag, self.request.platform.as_deref()).await?;
        let Some(image) = found else { return Ok(None) };
        let reference = repository.image(tag);
        let label = image.label(SOURCE_LABEL);
        let reason = match label.map(|label| self.record.difference(self.request, label)) {
            None => Some(format!("`{reference}` has no record of its steps; `agentcli build` writes one")),
            Some(Some(difference)) => Some(format!("{difference} (compared with `{reference}`)")),
            Some(None) => self.other_layers(&image, &reference).await?,
        };
        let Some(reason) = reason else { return Ok(Some(image)) };
        let created = image.configuration["created"].as_str().and_then(time::parse);
        rejected.push(Rejected { has_record: label.is_some(), created, reason });
        Ok(None)
    }

    /// How the image is more than its base image, the steps of the record and the source, if it is: an image inherits the
    /// label of its base image.
    async fn other_layers(&self, image: &Image, reference: &str) -> Result<Option<String>, Error> {
        for name in &self.request.images {
            let parsed = parsed(name);
            let repository = self.access.open(parsed.name, false).await?;
            let tag = parsed.digest.or(parsed.tag).unwrap_or(LATEST);
            let Some(base) = Image::find(&repository, tag, Some(&image.platform())).await? else {
                return Ok(Some(format!("the registry has no base image `{name}`")));
            };
            if !image.diff_ids().starts_with(base.diff_ids()) || !image.history().starts_with(base.history())
            {
                return Ok(Some(format!("the base image `{name}` changed since `{reference}` was built")));
            }
            if !ends_with_source(image, &base) {
                return Ok(Some(format!("the last layer of `{reference}` is not that of the source")));
            }
        }
        Ok(None)
    }
}

/// Whether the source is the last layer of the image, and copied once after its base image.
fn ends_with_source(image: &Image, base: &Image) -> bool {
    let own = &image.history()[base.history().len()..];
    let is_source = |entry: &&Value| entry["created_by"].as_str().unwrap_or_default().starts_with("COPY . ");
    let is_layer = |entry: &&Value| entry["empty_layer"] != json!(true);
    let layers = image.history().iter().filter(is_layer).count();
    layers == image.diff_ids().len()
        && layers == image.layers().len()
        && own.iter().rfind(is_layer).is_some_and(|last| is_source(&last))
        && own.iter().filter(is_source).count() == 1
}

/// The last of the tags in the order of the numbers in them, the very last first, without those that are `known`.
fn others(mut tags: Vec<String>, known: &[String]) -> Vec<String> {
    tags.retain(|tag| !known.contains(tag) && !tag.starts_with(ABOUT_AN_IMAGE));
    tags.sort_by_cached_key(|tag| with_padded_numbers(tag));
    tags.reverse();
    tags.truncate(MOST);
    tags
}

/// The text with numbers of one length, by which `v9` is before `v10`.
fn with_padded_numbers(text: &str) -> String {
    let mut padded = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, after) = rest.split_at(start);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        padded.push_str(before);
        padded.push_str(&format!("{:0>20}", number.trim_start_matches('0')));
        rest = after;
    }
    padded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_tags_come_first() {
        let tags = ["v9", "v10", "1", "v010-a", "sha256-ab.sig", "latest", "main"].map(str::to_owned);
        let found = others(tags.into(), &["latest".to_owned()]);
        assert_eq!(found, ["v010-a", "v10", "v9", "main", "1"]);
        let many = (0..MOST + 5).map(|number| number.to_string()).collect();
        let found = others(many, &[]);
        assert_eq!((found.len(), &*found[0], &*found[MOST - 1]), (MOST, "24", "5"));
    }
}
