//! Attaches documents to images: as referrers (OCI distribution specification 1.1), so that the image stays as it is.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::access::{Access, INDEX, LATEST, parsed};
use super::client::{Manifest, Repository, digest_of};
use super::error::Error;
use super::image::is_for;
use crate::engine::ImageDetails;
use crate::live::Stop;

/// The type of manifests.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// The type and content of a configuration that says nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const NOTHING: &[u8] = b"{}";

/// A document about an image.
pub struct Attachment<'a> {
    /// The name of the image in the registry.
    pub name: &'a str,
    /// The local image that the document is about; without one, that in the registry.
    pub image: Option<&'a ImageDetails>,
    /// The type of the document.
    pub media_type: &'a str,
    /// Names and values that clients can choose documents by.
    pub annotations: &'a [(&'a str, &'a str)],
    /// The document.
    pub content: Bytes,
}

impl Attachment<'_> {
    /// Pushes the document, and returns its name with its digest. The same document is attached once.
    ///
    /// # Errors
    ///
    /// The registry has no such image, or another one than the local; it refuses or is unreachable; or the program is asked to
    /// stop.
    pub async fn push(&self, access: &Access<'_>, stop: &Stop) -> Result<String, Error> {
        stop.unless_asked(self.attach(access)).await?
    }

    async fn attach(&self, access: &Access<'_>) -> Result<String, Error> {
        let parsed = parsed(self.name);
        let repository = access.open(parsed.name, true).await?;
        let reference = parsed.digest.or(parsed.tag).unwrap_or(LATEST);
        let what = format!("attach a document to `{}`", repository.image(reference));
        let subject = self.subject(&repository, reference).await?;
        for blob in [&self.content, &Bytes::from_static(NOTHING)] {
            repository.push_blob(&what, blob, &digest_of(blob)).await?;
        }
        let descriptor = |media_type: &str, content: &[u8]| json!({ "mediaType": media_type, "digest": digest_of(content), "size": content.len() });
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": self.media_type,
            "config": descriptor(EMPTY, NOTHING),
            "layers": [descriptor(self.media_type, &self.content)],
            "subject": {
                "mediaType": subject.media_type,
                "digest": subject.digest,
                "size": subject.size,
            },
        });
        let annotations: Option<Map<String, Value>> = (!self.annotations.is_empty()).then(|| {
            self.annotations.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
        });
        if let Some(annotations) = &annotations {
            manifest["annotations"] = annotations.clone().into();
        }
        let manifest = Bytes::from(manifest.to_string());
        let digest = digest_of(&manifest);
        repository.push_manifest(&what, &digest, MANIFEST, &manifest).await?;
        if !repository.lists_referrers(&what, &subject.digest).await? {
            let mut entry = descriptor(MANIFEST, &manifest);
            entry["artifactType"] = self.media_type.into();
            if let Some(annotations) = annotations {
                entry["annotations"] = annotations.into();
            }
            add_to_index(&repository, &what, &subject.digest, entry).await?;
        }
        Ok(format!("{}@{digest}", parsed.name))
    }

    /// The manifest of the image in the registry, which is the local image if there is one.
    async fn subject(&self, repository: &Repository, reference: &str) -> Result<Manifest, Error> {
        let other = |reason: &str| Error::Other { image: self.name.to_owned(), reason: reason.to_owned() };
        let found = repository.manifest(reference).await?;
        let found = found.ok_or_else(|| other("the registry has no such image"))?;
        let Some(image) = self.image else { return Ok(found) };
        let different = || other("the registry has another image under this name");
        let Some(all) = found.json["manifests"].as_array() else {
            return if is_local(image, &found) { Ok(found) } else { Err(different()) };
        };
        // An engine may know an image by the digest of its index.
        let is_known = knows(image, &found.digest);
        let platform = image.platform.as_deref().unwrap_or_default();
        for entry in all.iter().filter(|entry| is_for(&entry["platform"], platform)) {
            let digest = entry["digest"].as_str().unwrap_or_default();
            let found = repository.manifest(digest).await?;
            if let Some(found) = found.filter(|found| is_known || is_local(image, found)) {
                return Ok(found);
            }
        }
        Err(different())
    }
}

/// Whether a manifest is that of the local image.
fn is_local(image: &ImageDetails, manifest: &Manifest) -> bool {
    knows(image, &manifest.digest) || manifest.json["config"]["digest"].as_str() == Some(&image.id)
}

/// Whether the engine knows the image by this digest.
fn knows(image: &ImageDetails, digest: &str) -> bool {
    image.id == digest || image.digests.iter().any(|it| it.ends_with(digest))
}

/// Lists a document under the tag in which clients look for those of `subject` where a registry does not list them.
async fn add_to_index(repository: &Repository, what: &str, subject: &str, entry: Value) -> Result<(), Error> {
    let tag = subject.replace(':', "-");
    let before = repository.manifest(&tag).await?;
    let before = before.and_then(|before| before.json["manifests"].as_array().cloned());
    let mut manifests = before.unwrap_or_default();
    if manifests.iter().any(|known| known["digest"] == entry["digest"]) {
        return Ok(());
    }
    manifests.push(entry);
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
    repository.push_manifest(what, &tag, INDEX, &Bytes::from(index.to_string())).await.map(drop)
}
