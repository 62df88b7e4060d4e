//! Base images in a registry. Compressing their layers takes an engine twenty seconds, so it does so once.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Registry, Security};
use crate::engine::docker;

/// Images that were pushed, each with its engine.
static PUSHED: Mutex<BTreeSet<(String, String)>> = Mutex::new(BTreeSet::new());

/// The root of a registry's file system storage, within its directory.
const ROOT: &str = "docker/registry/v2";

impl Registry {
    /// Adds the layers of `image` to `repository`, as if it had been pushed before: the engine `host` need not send them.
    /// They are symbolic links, not files.
    pub(crate) fn add_layers(&self, image: &str, repository: &str, host: &str) {
        let (from, to) = (pushed(image, host).join(ROOT), self.images().join(ROOT));
        let layers = |repository: &str| format!("repositories/{repository}/_layers/sha256");
        for layer in fs::read_dir(from.join(layers("base"))).unwrap() {
            let digest = layer.unwrap().file_name().into_string().unwrap();
            let link = to.join(layers(repository)).join(&digest);
            fs::create_dir_all(&link).unwrap();
            fs::write(link.join("link"), format!("sha256:{digest}")).unwrap();
            let blob = Path::new("blobs/sha256").join(&digest[..2]);
            fs::create_dir_all(to.join(&blob)).unwrap();
            // They may be there for another repository.
            symlink(from.join(&blob).join(&digest), to.join(&blob).join(&digest)).ok();
        }
    }

    /// Pushes a local image of the engine to a registry without passwords, as the tag 1 of `repository`.
    pub(crate) fn push(&self, image: &str, repository: &str, host: &str) {
        let name = format!("{}/{repository}:1", self.address);
        docker(host, &["tag", image, &name]);
        docker(host, &["push", "-q", &name]);
        docker(host, &["rmi", &name]);
    }
}

/// The directory of a registry to which this engine has pushed the image as `base:1`. It stays for the next run of the
/// tests.
fn pushed(image: &str, host: &str) -> PathBuf {
    let images =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("base-images").join(image.replace(['/', ':'], "-"));
    let mut pushed = PUSHED.lock().unwrap_or_else(PoisonError::into_inner);
    if pushed.insert((image.to_owned(), host.to_owned())) {
        Registry::start_with(Arc::new(images.clone()), |_| Security::default()).push(image, "base", host);
    }
    images
}
