//! Checks of the data of the registry.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::blobs::names;
use super::digest::Digest;
use super::sweep::kept;
use crate::store::{Broken, Tx};

/// Number of bytes that are read together.
const PIECE: usize = 1 << 20;

/// Problems of the pushed images in the directory `root`, as lowercase fragments. Reads all blobs that revisions need.
pub(crate) fn problems(root: &Path, tx: &Tx<'_>) -> Result<Vec<String>, Broken> {
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
        let mut blobs: Vec<Digest> = Vec::new();
        for needs in kept(&manifests, i64::MAX).into_values() {
            blobs.extend(needs.blobs.into_iter().map(|(digest, _)| digest));
        }
        blobs.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        blobs.dedup();
        for blob in blobs {
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
