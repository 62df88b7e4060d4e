//! Adds files to the user's tree, all or none, without replacing any.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Error, write_atomically};

/// Number of entries of a directory to name.
const MAX_NAMED: usize = 3;

/// The paths of the files of a new project.
#[derive(Debug, Default)]
pub struct Created {
    /// Files that existed, and were not changed.
    pub kept: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
}

/// Writes `files`, which are relative paths and texts, into `directory`. Unless it is forced, the directory must be empty
/// or missing. On failure nothing is left behind.
pub fn create(directory: &Path, files: &[(String, String)], is_forced: bool) -> Result<Created, Error> {
    let found = entries(directory)?;
    if !found.is_empty() && !is_forced {
        return Err(Error::NotEmpty { path: shown(directory), found: summary(&found) });
    }
    let mut made = Made::default();
    let created = made.create(directory, files);
    if created.is_err() {
        made.remove();
    }
    created
}

/// The names in a directory, sorted; none if there is no directory.
fn entries(directory: &Path) -> Result<Vec<String>, Error> {
    let read = fs::read_dir(directory).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    });
    let mut names: Vec<String> = match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|source| Error::Create { path: shown(directory), source })?,
    };
    names.sort();
    Ok(names)
}

/// `a, b, c and 2 more`
fn summary(names: &[String]) -> String {
    let named = names[..names.len().min(MAX_NAMED)].join(", ");
    match names.len().saturating_sub(MAX_NAMED) {
        0 => named,
        rest => format!("{named} and {rest} more"),
    }
}

fn shown(path: &Path) -> String {
    path.components().collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The files and directories that were added.
#[derive(Default)]
struct Made {
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn create(&mut self, directory: &Path, files: &[(String, String)]) -> Result<Created, Error> {
        let mut created = Created::default();
        for (file, text) in files {
            let path = directory.join(file);
            // A link exists even if its target does not.
            if fs::symlink_metadata(&path).is_ok() {
                created.kept.push(file.clone());
                continue;
            }
            let parent = path.parent().unwrap_or(directory);
            self.directory(parent).map_err(|source| Error::Create { path: shown(parent), source })?;
            write_atomically(&path, text.as_bytes())?;
            self.files.push(path);
            created.written.push(file.clone());
        }
        Ok(created)
    }

    fn directory(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|it| !it.exists()).collect();
        for path in missing.into_iter().rev().filter(|it| !it.as_os_str().is_empty()) {
            fs::create_dir(path)?;
            self.directories.push(path.to_owned());
        }
        Ok(())
    }

    /// Removes it again; the error that led to this is the one to report.
    fn remove(self) {
        self.files.iter().for_each(|file| fs::remove_file(file).unwrap_or_default());
        self.directories.iter().rev().for_each(|directory| fs::remove_dir(directory).unwrap_or_default());
    }
}
