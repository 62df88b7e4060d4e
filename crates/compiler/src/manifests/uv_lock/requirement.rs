//! Locked packages as requirements (PEP 508) for exactly their version.

use super::closure::Selected;
use super::{DEFAULT_INDEX, File, Package, Source};
use crate::manifests::marker::MACHINES;
use crate::manifests::requirement::file_url;
use crate::paths;

impl Selected {
    /// The requirement. `place` maps the path of a local archive to its path for the installer.
    pub fn requirement(&self, python: &str, place: impl Fn(&str) -> String) -> String {
        let name = &self.package.name;
        let from = match (&self.package.source, self.archive(python)) {
            (_, Some(path)) => format!(" @ {}", file_url(&place(&path))),
            (Source::Git(url), _) => format!(" @ {}", git(url)),
            (Source::Url { url, subdirectory }, _) => {
                format!(" @ {}", with_directory(url, subdirectory.as_deref()))
            }
            _ => format!("=={}", self.package.version.as_deref().unwrap_or("*")),
        };
        match &self.machines[..] {
            [machine] if MACHINES.len() > 1 => format!("{name}{from} ; platform_machine == \"{machine}\""),
            _ => format!("{name}{from}"),
        }
    }

    /// The constraint to its version, which holds for this Python version if the lock has others. `None` if it does not come
    /// from an index, or is a build that the default index does not have.
    pub fn constraint(&self, python: &str) -> Option<String> {
        let Package { name, version, source, .. } = &self.package;
        let version = version.as_ref().filter(|version| !version.contains('+'))?;
        let is_indexed = matches!(source, Source::Registry(url) if url.contains("://"));
        let marker = match &self.machines[..] {
            _ if !self.is_forked => String::new(),
            [machine] if MACHINES.len() > 1 => {
                format!(" ; python_version == \"{python}\" and platform_machine == \"{machine}\"")
            }
            _ => format!(" ; python_version == \"{python}\""),
        };
        is_indexed.then(|| format!("{name}=={version}{marker}"))
    }

    /// The local archive that it is installed from, relative to the directory of the lock file.
    pub fn archive(&self, python: &str) -> Option<String> {
        match &self.package.source {
            Source::Archive(path) => Some(paths::normalize(path)),
            Source::Registry(directory) if !directory.contains("://") => {
                let path = self.files(python).find_map(|file| file.path.as_deref())?;
                Some(paths::join(directory, path))
            }
            _ => None,
        }
    }

    /// The index that it comes from, unless that is the default one.
    pub fn index(&self) -> Option<&str> {
        match &self.package.source {
            Source::Registry(url) if url.contains("://") && !self.is_from_default_index() => Some(url),
            _ => None,
        }
    }

    /// Whether it comes from the default index.
    pub fn is_from_default_index(&self) -> bool {
        matches!(&self.package.source, Source::Registry(url) if url.trim_end_matches('/') == DEFAULT_INDEX)
    }

    /// Whether it has wheels, but none that can be installed, and no source archive.
    pub fn has_no_file(&self, python: &str) -> bool {
        !self.package.wheels.is_empty() && self.files(python).next().is_none()
    }

    /// The files that can be installed.
    pub fn files(&self, python: &str) -> impl Iterator<Item = &File> {
        self.package.files(python, &self.machines)
    }
}

/// `https://example.com/x?subdirectory=y&tag=z#commit` as a requirement has it.
fn git(url: &str) -> String {
    let (url, commit) = url.split_once('#').unwrap_or((url, ""));
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let subdirectory = query.split('&').find_map(|pair| pair.strip_prefix("subdirectory="));
    let commit = if commit.is_empty() { String::new() } else { format!("@{commit}") };
    with_directory(&format!("git+{url}{commit}"), subdirectory)
}

fn with_directory(url: &str, subdirectory: Option<&str>) -> String {
    match subdirectory {
        Some(directory) if url.contains('#') => format!("{url}&subdirectory={directory}"),
        Some(directory) => format!("{url}#subdirectory={directory}"),
        None => url.to_owned(),
    }
}
