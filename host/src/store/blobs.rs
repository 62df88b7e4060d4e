//! The blobs of pushed images: which ones the database needs, and whether their files are whole.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::digest::Digest;
use super::needs::kept;
use super::{Broken, Manifest, Tx};

/// Number of bytes that are read together.
const PIECE: usize = 1 << 20;

/// Problems of the pushed images in the directory `root`, as lowercase fragments. Reads all blobs that revisions need.
pub(super) fn problems(root: &Path, tx: &Tx<'_>) -> Result<Vec<String>, Broken> {
    // Listed before the deployments: that of a new directory is known.
    let directories = names(root);
    let known = tx.deployment_ids()?;
    let mut problems: Vec<String> = directories
        .iter()
        .filter(|directory| !known.contains(directory))
        .map(|directory| format!("the images in registry/{directory} belong to no deployment"))
        .collect();
    for deployment in known {
        let mut manifests = tx.manifests(&deployment)?;
        manifests.retain(|manifest| {
            let is_whole = Digest::of(&manifest.content).as_str() == manifest.digest;
            if !is_whole {
                problems.push(format!("the manifest {} of {deployment} is damaged", manifest.digest));
            }
            is_whole
        });
        for blob in needed_blobs(&manifests) {
            let name = blob.as_str();
            match digest_of(&root.join(&deployment).join(blob.digits())) {
                Ok(found) if found == blob => {}
                Ok(_) => problems.push(format!("the blob {name} of {deployment} is damaged")),
                Err(_) => problems.push(format!("the blob {name} of {deployment} is missing")),
            }
        }
    }
    Ok(problems)
}

/// The blobs that revisions need, with the IDs of their deployments.
pub(super) fn named_blobs(tx: &Tx<'_>) -> Result<Vec<(String, Digest)>, Broken> {
    let mut named = Vec::new();
    for deployment in tx.deployment_ids()? {
        let blobs = needed_blobs(&tx.manifests(&deployment)?);
        named.extend(blobs.into_iter().map(|blob| (deployment.clone(), blob)));
    }
    Ok(named)
}

/// The blobs of the manifests that revisions need, each once.
fn needed_blobs(manifests: &[Manifest]) -> Vec<Digest> {
    let needs = kept(manifests, i64::MAX).into_values().flat_map(|needs| needs.blobs);
    let mut blobs: Vec<Digest> = needs.map(|(digest, _)| digest).collect();
    blobs.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    blobs.dedup();
    blobs
}

/// The names in a directory.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok(Digest::finish(hash));
        }
        hash.update(&piece[..length]);
    }
}
