//! A package of an image.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::licence::Licence;
use crate::compiler::manifests::requirement::normalized_name;

/// A package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The kind of its package manager.
    pub kind: Kind,
    /// The name, as the package writes it.
    pub name: String,
    /// The version.
    pub version: String,
    /// Paths in the image: of the directory that it is in, or of the database that names it.
    pub locations: BTreeSet<String>,
    /// Its origins, as far as they are certain: `lock:PATH`, `server:NAME`, `base-image:NAME` or `project`.
    pub origins: BTreeSet<String>,
    /// Hashes of the file that it was installed from.
    pub hashes: Vec<Hash>,
    /// Hashes of the files that a lock file allows, where it is not certain which one was installed.
    pub locked: Vec<Hash>,
    pub(super) licence: Option<Licence>,
    pub(super) source: Source,
    /// The distribution of a package of the system.
    pub(super) namespace: Option<String>,
    /// The architecture of a package of the system.
    pub(super) architecture: Option<String>,
    /// The tags of the wheel that a Python package was installed from.
    pub(super) wheel: Vec<String>,
}

/// A kind of package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// apk.
    Apk,
    /// dpkg.
    Deb,
    /// Package managers of JavaScript.
    JavaScript,
    /// Installers of Python.
    Python,
}

/// The place that a package was installed from. URLs have no credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// An index or a registry.
    #[default]
    Index,
    /// A directory in the image, by its path.
    Directory(String),
    /// A file in the image.
    File,
    /// A repository, as `git+URL@COMMIT`.
    Repository(String),
    /// An archive.
    Url(String),
}

/// Name of a hash algorithm in lock files, in CycloneDX and in SPDX, and the length of its digests in bytes.
const ALGORITHMS: &[(&str, &str, &str, usize)] = &[
    ("md5", "MD5", "MD5", 16),
    ("sha1", "SHA-1", "SHA1", 20),
    ("sha256", "SHA-256", "SHA256", 32),
    ("sha384", "SHA-384", "SHA384", 48),
    ("sha512", "SHA-512", "SHA512", 64),
];

/// A hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hash {
    /// Index in [`ALGORITHMS`].
    algorithm: usize,
    /// In lowercase hexadecimal.
    digest: String,
}

impl Hash {
    /// The hash with this digest in hexadecimal; `None` if it is not valid.
    pub(super) fn of(algorithm: &str, digest: &str) -> Option<Self> {
        let algorithm = ALGORITHMS.iter().position(|it| it.0 == algorithm)?;
        let bytes = hex::decode(digest).ok().filter(|bytes| bytes.len() == ALGORITHMS[algorithm].3)?;
        Some(Self { algorithm, digest: hex::encode(bytes) })
    }

    /// The hashes in a lock file: `sha256:HEXADECIMAL`, or `sha512-BASE64` separated by spaces.
    pub(super) fn read(text: &str) -> Vec<Self> {
        let one = |text: &str| match text.split_once(':') {
            Some((algorithm, digest)) => Self::of(algorithm, digest),
            None => {
                let (algorithm, digest) = text.split_once('-')?;
                Self::of(algorithm, &hex::encode(STANDARD.decode(digest.split('?').next()?).ok()?))
            }
        };
        text.split_whitespace().filter_map(one).collect()
    }

    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// The algorithm's name in lock files.
    pub(super) fn name(&self) -> &'static str {
        ALGORITHMS[self.algorithm].0
    }

    /// The algorithm's name in CycloneDX.
    pub(super) fn cyclonedx(&self) -> &'static str {
        ALGORITHMS[self.algorithm].1
    }

    /// The algorithm's name in SPDX.
    pub(super) fn spdx(&self) -> &'static str {
        ALGORITHMS[self.algorithm].2
    }
}

impl Component {
    /// A package in `location`, of which nothing else is known.
    pub(super) fn new(kind: Kind, name: &str, version: &str, location: &str) -> Self {
        Self {
            kind,
            name: printable(name),
            version: printable(version),
            locations: BTreeSet::from([format!("/{}", printable(location))]),
            origins: BTreeSet::new(),
            hashes: Vec::new(),
            locked: Vec::new(),
            licence: None,
            source: Source::Index,
            namespace: None,
            architecture: None,
            wheel: Vec::new(),
        }
    }

    /// The name by which its installer knows it.
    pub(super) fn key(&self) -> String {
        if self.kind == Kind::Python { normalized_name(&self.name) } else { self.name.clone() }
    }

    /// Its package URL; `None` if it comes from no public place.
    pub fn purl(&self) -> Option<String> {
        let (name, version) = (encoded(&self.key()), encoded(&self.version));
        let namespace = self.namespace.as_deref().map(encoded).unwrap_or_default();
        let architecture = self.architecture.as_deref().map(encoded);
        let architecture = architecture.map_or_else(String::new, |it| format!("?arch={it}"));
        Some(match (self.kind, &self.source) {
            (_, Source::Directory(_) | Source::File) => return None,
            (Kind::Apk, _) => format!("pkg:apk/{namespace}/{name}@{version}{architecture}"),
            (Kind::Deb, _) => format!("pkg:deb/{namespace}/{name}@{version}{architecture}"),
            (Kind::JavaScript, _) => format!("pkg:npm/{name}@{version}"),
            (Kind::Python, Source::Index) => format!("pkg:pypi/{name}@{version}"),
            (Kind::Python, Source::Url(url)) => {
                format!("pkg:pypi/{name}@{version}?download_url={}", encoded(url))
            }
            (Kind::Python, Source::Repository(url)) => {
                format!("pkg:pypi/{name}@{version}?vcs_url={}", encoded(url))
            }
        })
    }

    /// An identifier that no other package of the image has.
    pub(super) fn id(&self) -> String {
        self.purl().unwrap_or_else(|| format!("{}@{}", self.key(), self.version))
    }
}

/// Text without control characters and line ends.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The text with percent-encoding, as package URLs want it.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_~:/".contains(&byte);
    let byte = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_lock_files() {
        let digest = "ab".repeat(32);
        assert_eq!(Hash::read(&format!("sha256:{digest}"))[0].digest(), digest);
        let sha1 = STANDARD.encode([1; 20]);
        let read = Hash::read(&format!("sha1-{sha1} sha512-{sha1} md4-{sha1} sha1-{sha1}?x"));
        assert_eq!(read.iter().map(Hash::cyclonedx).collect::<Vec<_>>(), ["SHA-1", "SHA-1"]);
        assert!(Hash::read("sha256:xyz").is_empty() && Hash::read("").is_empty());
    }
}
