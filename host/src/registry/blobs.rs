//! The files of blobs, and the uploads of them. In the directory of a deployment, a blob has the 64 digits of its digest as its name; files that begin
//! with a dot are of uploads in progress.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};
use tempfile::{Builder, NamedTempFile};

use super::fault::Fault;
use crate::lock::lock;
use crate::net::limits::RegistryLimits;
use crate::store::persist::persist;
use crate::store::private;
use crate::store::quota::{Exceeded, Quota};
use crate::store::{Digest, names};

/// Prefix of the files of uploads.
pub(super) const UPLOAD: &str = ".upload-";

/// Number of received bytes after which the size of the repository is measured again.
const MEASURED: u64 = 16 << 20;

/// Maximum number of blobs of a deployment.
const MAX_BLOBS: usize = 10_000;

/// The blobs of all deployments.
pub(super) struct Blobs {
    root: PathBuf,
    limits: RegistryLimits,
    /// Held while it is decided whether a blob is removed, and while one is kept from that.
    removal: Mutex<()>,
}

/// The images that count for a quota.
#[derive(Clone)]
pub(super) struct Room {
    /// IDs of all deployments of the tenant.
    pub(super) deployments: Vec<String>,
    /// Maximum size of their images, in bytes.
    pub(super) most: u64,
}

/// A blob that is being received.
pub(super) struct Upload {
    /// ID of the deployment.
    pub(super) deployment: String,
    /// Those of the tenant.
    room: Room,
    /// Number of bytes received.
    pub(super) size: u64,
    /// Removed when it is dropped.
    file: NamedTempFile,
    hash: Sha256,
    /// Number of bytes since the size of the repository was measured.
    unmeasured: u64,
}

impl Blobs {
    pub(super) fn new(root: PathBuf, limits: RegistryLimits) -> Self {
        Self { root, limits, removal: Mutex::default() }
    }

    fn directory(&self, deployment: &str) -> PathBuf {
        self.root.join(deployment)
    }

    fn path(&self, deployment: &str, digest: &Digest) -> PathBuf {
        self.directory(deployment).join(digest.digits())
    }

    /// The size of a blob, which is not removed for a while.
    pub(super) fn touch(&self, deployment: &str, digest: &Digest) -> Option<u64> {
        let _guard = lock(&self.removal);
        let file = File::open(self.path(deployment, digest)).ok()?;
        file.set_modified(SystemTime::now()).ok()?;
        Some(file.metadata().ok()?.len())
    }

    /// A blob and its size.
    pub(super) fn open(&self, deployment: &str, digest: &Digest) -> Option<(File, u64)> {
        let file = File::open(self.path(deployment, digest)).ok()?;
        let size = file.metadata().ok()?.len();
        Some((file, size))
    }

    /// Begins to receive a blob.
    pub(super) fn begin(&self, deployment: &str, room: Room) -> Result<Upload, Fault> {
        let directory = self.directory(deployment);
        private::create_directory(&directory)?;
        let file = Builder::new().prefix(UPLOAD).tempfile_in(directory)?;
        let (deployment, hash) = (deployment.to_owned(), Sha256::new());
        let upload = Upload { deployment, room, size: 0, file, hash, unmeasured: 0 };
        self.measure(&upload)?;
        Ok(upload)
    }

    /// Adds received bytes to a blob.
    pub(super) fn write(&self, mut upload: Upload, bytes: &[u8]) -> Result<Upload, Fault> {
        upload.size += bytes.len() as u64;
        upload.unmeasured += bytes.len() as u64;
        if upload.size > self.limits.blob {
            let most = self.limits.blob;
            return Err(Fault::too_large(format!("A blob may have {most} bytes at most.")));
        }
        upload.file.write_all(bytes)?;
        upload.hash.update(bytes);
        if upload.unmeasured >= MEASURED {
            upload.unmeasured = 0;
            self.measure(&upload)?;
        }
        Ok(upload)
    }

    /// Keeps a whole blob of this digest: it is on the disk when it appears.
    pub(super) fn keep(&self, upload: Upload, digest: &Digest) -> Result<(), Fault> {
        self.measure(&upload)?;
        let found = Digest::finish(upload.hash);
        if found != *digest {
            return Err(Fault::wrong_digest(format!("The blob has the digest {}.", found.as_str())));
        }
        upload.file.as_file().sync_all()?;
        let path = self.path(&upload.deployment, digest);
        persist(upload.file, &path).map_err(|error| match error.kind() {
            // The deployment was deleted meanwhile.
            io::ErrorKind::NotFound => Fault::unknown_upload(),
            _ => error.into(),
        })
    }

    /// Fails if the repository of an upload is full, or the quota of its tenant is used up.
    fn measure(&self, upload: &Upload) -> Result<(), Fault> {
        let Room { deployments, most } = &upload.room;
        let needed = deployments.iter().flat_map(|it| self.sizes(it)).sum();
        if needed > *most {
            return Err(Exceeded { quota: Quota::ImageBytes, most: *most, needed }.into());
        }
        let sizes = self.sizes(&upload.deployment);
        let (most, used) = (self.limits.repository, sizes.iter().sum::<u64>());
        if used > most {
            return Err(Fault::too_large(format!(
                "The images of a deployment may have {most} bytes at most; those of old revisions are removed later."
            )));
        }
        if sizes.len() > MAX_BLOBS {
            return Err(Fault::too_large(format!("A deployment may have {MAX_BLOBS} blobs at most.")));
        }
        Ok(())
    }

    /// The sizes of the files of a deployment, in bytes.
    fn sizes(&self, deployment: &str) -> Vec<u64> {
        let files = entries(&self.directory(deployment)).into_iter();
        files.filter_map(|(path, _)| Some(path.metadata().ok()?.len())).collect()
    }

    /// Removes the blobs of a deployment that are not used, and were not for some time.
    pub(super) fn remove_unused(&self, deployment: &str, used: &HashSet<Digest>, age: Duration) {
        for (path, name) in entries(&self.directory(deployment)) {
            let digest = Digest::parse(&format!("sha256:{name}"));
            if name.starts_with(UPLOAD) || digest.is_some_and(|digest| used.contains(&digest)) {
                continue;
            }
            let _guard = lock(&self.removal);
            if is_older(&path, age) {
                // It is tried again by the next sweep.
                fs::remove_file(&path).ok();
            }
        }
    }

    /// Removes everything of a deployment.
    pub(super) fn remove_all(&self, deployment: &str) {
        // It is tried again by the next sweep.
        fs::remove_dir_all(self.directory(deployment)).ok();
    }

    /// The deployments that have a directory.
    pub(super) fn deployments(&self) -> Vec<String> {
        names(&self.root)
    }

    /// Removes what uploads left that a kill cut off.
    pub(super) fn remove_uploads(&self) {
        for deployment in self.deployments() {
            for (path, name) in entries(&self.directory(&deployment)) {
                if name.starts_with(UPLOAD) {
                    fs::remove_file(path).ok();
                }
            }
        }
    }
}

/// The uploads that wait for their next request.
pub(super) struct Uploads {
    /// By their ID, with the time of the last request.
    waiting: Mutex<HashMap<String, (Upload, Instant)>>,
    patience: Duration,
}

impl Uploads {
    pub(super) fn new(patience: Duration) -> Self {
        Self { waiting: Mutex::default(), patience }
    }

    pub(super) fn count(&self, deployment: &str) -> usize {
        lock(&self.waiting).values().filter(|(upload, _)| upload.deployment == deployment).count()
    }

    pub(super) fn put(&self, id: &str, upload: Upload) {
        lock(&self.waiting).insert(id.to_owned(), (upload, Instant::now()));
    }

    /// Takes the upload of a request, which no other request has meanwhile.
    pub(super) fn take(&self, deployment: &str, id: &str) -> Result<Upload, Fault> {
        let mut waiting = lock(&self.waiting);
        let found = waiting.get(id);
        let is_own = found.is_some_and(|(upload, _)| upload.deployment == deployment);
        let taken = if is_own { waiting.remove(id) } else { None };
        taken.map(|(upload, _)| upload).ok_or_else(Fault::unknown_upload)
    }

    /// Removes the uploads that do not go on.
    pub(super) fn remove_old(&self) {
        lock(&self.waiting).retain(|_, (_, since)| since.elapsed() < self.patience);
    }
}

/// The files in a directory, with their names.
fn entries(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Whether a file was neither written nor used for some time. One from the future was, after the clock was set.
fn is_older(path: &Path, age: Duration) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().unwrap_or_default() >= age)
}
