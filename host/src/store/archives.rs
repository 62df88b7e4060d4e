//! The files of uploaded archives, in the data directory.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use uuid::Uuid;

use super::{Broken, Store};

/// File name extension of an archive.
pub(super) const EXTENSION: &str = ".tar.gz";

/// The path of the archive of an upload as revisions name it.
pub(crate) fn archive_path(deployment: &str, id: &str) -> String {
    format!("uploads/{deployment}/{id}{EXTENSION}")
}

/// The ID of the upload at the path of an archive.
pub(crate) fn archive_id(path: &str) -> Option<&str> {
    let id = path.rsplit('/').next()?.strip_suffix(EXTENSION)?;
    Uuid::parse_str(id).is_ok().then_some(id)
}

impl Store {
    /// The file of the archive of an upload.
    pub(crate) fn archive(&self, id: &str) -> PathBuf {
        self.uploads().join(format!("{id}{EXTENSION}"))
    }

    /// Opens the archive at `path`, as revisions name it; `None` if it was removed.
    pub(crate) fn open_archive(&self, path: &str) -> io::Result<Option<File>> {
        let Some(id) = archive_id(path) else { return Ok(None) };
        match File::open(self.archive(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Removes the archives of deleted deployments.
    pub(crate) fn tidy_archives(&self) -> Result<(), Broken> {
        // Listed before the addresses are read: an archive that is received meanwhile has its address.
        let files = self.archives();
        let known = self.read(|tx| tx.uploads())?;
        remove(&files, |name| archive_id(name).is_none_or(|id| known.iter().any(|known| known == id)));
        Ok(())
    }

    /// Removes everything but received archives, at the start of the service: what uploads left that were cut off.
    pub(crate) fn remove_partial_archives(&self) -> Result<(), Broken> {
        let received: HashSet<String> = self.read(|tx| tx.received_uploads())?.into_iter().collect();
        remove(&self.archives(), |name| archive_id(name).is_some_and(|id| received.contains(id)));
        Ok(())
    }

    /// Records the sizes of archives that an older version received.
    pub(crate) async fn measure_archives(self: &Arc<Self>) -> Result<(), Broken> {
        let store = self.clone();
        let size = move |id: &str| fs::metadata(store.archive(id)).map_or(0, |found| found.len());
        self.change(move |tx| tx.measure_uploads(size)).await
    }

    fn archives(&self) -> Vec<PathBuf> {
        fs::read_dir(self.uploads()).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

fn remove(files: &[PathBuf], is_kept: impl Fn(&str) -> bool) {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for file in files.iter().filter(|file| !is_kept(&name(file))) {
        fs::remove_file(file).ok();
    }
}
