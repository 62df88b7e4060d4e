//! Manifests, and the blobs and manifests that they reference.

use std::collections::HashMap;

use serde::Deserialize;

use super::Manifest;
use super::digest::Digest;

/// The media types of manifests of an image.
pub(crate) const IMAGES: [&str; 2] =
    ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"];

/// The media types of lists of manifests.
pub(crate) const INDEXES: [&str; 2] =
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];

/// Maximum number of layers, or of manifests in an index.
const MAX_PARTS: usize = 500;

/// The blobs and manifests that an image or an index references, with their sizes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Its configuration and layers.
    pub(crate) blobs: Vec<(Digest, u64)>,
    /// The manifests of an index.
    pub(crate) manifests: Vec<(Digest, u64)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    schema_version: u32,
    media_type: Option<String>,
    config: Option<Part>,
    layers: Option<Vec<Part>>,
    manifests: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Part {
    digest: String,
    size: u64,
}

/// Reads a manifest of this media type.
pub(crate) fn needs(kind: &str, content: &[u8]) -> Result<Needs, String> {
    let document: Document =
        serde_json::from_slice(content).map_err(|error| format!("it is not a manifest: {error}"))?;
    if document.schema_version != 2 {
        return Err(format!("its schemaVersion is {}, and not 2", document.schema_version));
    }
    if let Some(other) = document.media_type.filter(|it| it != kind) {
        return Err(format!("its mediaType is {other}, and its Content-Type {kind}"));
    }
    match (document.config, document.layers, document.manifests) {
        (Some(config), Some(layers), None) if IMAGES.contains(&kind) => {
            Ok(Needs { blobs: parts([config].into_iter().chain(layers))?, manifests: Vec::new() })
        }
        (None, None, Some(manifests)) if INDEXES.contains(&kind) => {
            Ok(Needs { blobs: Vec::new(), manifests: parts(manifests.into_iter())? })
        }
        _ => Err("it needs `config` and `layers`, or `manifests`, as its Content-Type says".to_owned()),
    }
}

fn parts(parts: impl Iterator<Item = Part>) -> Result<Vec<(Digest, u64)>, String> {
    let parsed: Vec<_> = parts
        .map(|part| {
            let digest = Digest::parse(&part.digest);
            Ok((digest.ok_or("a digest is not sha256: and 64 hexadecimal digits")?, part.size))
        })
        .collect::<Result<_, String>>()?;
    if parsed.len() > MAX_PARTS {
        return Err(format!("it has more than {MAX_PARTS} parts"));
    }
    Ok(parsed)
}

/// The manifests to keep, with their references: those that a revision needs, those newer than `before`, and those in an
/// index of either.
pub(crate) fn kept(manifests: &[Manifest], before: i64) -> HashMap<&str, Needs> {
    let is_root = |manifest: &&Manifest| manifest.is_needed || manifest.made > before;
    let mut open: Vec<&Manifest> = manifests.iter().filter(is_root).collect();
    let mut kept = HashMap::new();
    while let Some(manifest) = open.pop() {
        // All were read when they were pushed.
        let needs = needs(&manifest.kind, &manifest.content).unwrap_or_default();
        let is_part = |it: &&Manifest| needs.manifests.iter().any(|(digest, _)| digest.as_str() == it.digest);
        let parts = manifests.iter().filter(is_part).filter(|it| !kept.contains_key(it.digest.as_str()));
        open.extend(parts);
        kept.insert(manifest.digest.as_str(), needs);
    }
    kept
}
