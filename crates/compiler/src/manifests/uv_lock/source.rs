//! The place that a locked package comes from.

use serde::Deserialize;

/// The place that a locked package comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Table")]
pub enum Source {
    /// A package index, by its URL, or a directory of archives.
    Registry(String),
    /// A repository: its URL, with `subdirectory` in the query and the commit as the fragment.
    Git(String),
    /// An archive on a server.
    Url {
        /// The URL of the archive.
        url: String,
        /// The directory of the package in the archive.
        subdirectory: Option<String>,
    },
    /// A local archive.
    Archive(String),
    /// A local directory that is installed.
    Directory(String),
    /// A local directory that is not installed; only its requirements are.
    Virtual(String),
}

/// The keys of a source.
#[derive(Deserialize)]
struct Table {
    registry: Option<String>,
    git: Option<String>,
    url: Option<String>,
    subdirectory: Option<String>,
    path: Option<String>,
    directory: Option<String>,
    editable: Option<String>,
    r#virtual: Option<String>,
}

impl TryFrom<Table> for Source {
    type Error = &'static str;

    fn try_from(table: Table) -> Result<Self, Self::Error> {
        let Table { registry, git, url, subdirectory, path, directory, editable, r#virtual } = table;
        let found = registry
            .map(Self::Registry)
            .or(git.map(Self::Git))
            .or(url.map(|url| Self::Url { url, subdirectory }))
            .or(path.map(Self::Archive))
            .or(directory.or(editable).map(Self::Directory))
            .or(r#virtual.map(Self::Virtual));
        found.ok_or("unknown kind of package source")
    }
}

impl Source {
    /// The directory of a local package.
    pub fn directory(&self) -> Option<&str> {
        match self {
            Self::Directory(path) | Self::Virtual(path) => Some(path),
            _ => None,
        }
    }

    /// The parts of it that become words of a requirement.
    pub(super) fn words(&self) -> impl Iterator<Item = &String> {
        let (address, subdirectory) = match self {
            Self::Registry(url) => (Some(url).filter(|it| it.contains("://")), None),
            Self::Git(url) => (Some(url), None),
            Self::Url { url, subdirectory } => (Some(url), subdirectory.as_ref()),
            Self::Archive(_) | Self::Directory(_) | Self::Virtual(_) => (None, None),
        };
        address.into_iter().chain(subdirectory)
    }
}
