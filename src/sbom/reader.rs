//! Reads the files of an image, and keeps the metadata of packages.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read};

use tar::{Archive, EntryType};

use super::javascript;
use crate::compiler::paths;

/// Most bytes of a database of a distribution.
const MAX_DATABASE: u64 = 64 << 20;

/// Most bytes of any other file; of longer ones, the rest is not read.
const MAX_FILE: u64 = 1 << 20;

/// Most bytes that are kept of all files together.
const MAX_TOTAL: usize = 256 << 20;

/// The metadata of packages in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The content of files by their path without `/` at the start; of some, only the part that is used.
    pub files: BTreeMap<String, String>,
    /// Files that are hard links to files that are not kept, by the path of those.
    pub links: BTreeMap<String, BTreeSet<String>>,
}

/// The part of a file that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Its beginning up to an empty line.
    Headers,
    /// Some members of a JSON object.
    Package,
    /// All of it.
    Whole,
    /// All of a large file.
    Database,
}

impl Use {
    fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.rsplitn(4, '/').collect();
        let is_site =
            |name: Option<&&str>| name.is_some_and(|it| matches!(*it, "site-packages" | "dist-packages"));
        match parts[..] {
            ["METADATA" | "WHEEL" | "direct_url.json", info, ..] if info.ends_with(".dist-info") => {
                let is_json = parts[0].ends_with(".json");
                is_site(parts.get(2)).then_some(if is_json { Self::Whole } else { Self::Headers })
            }
            ["PKG-INFO", info, ..] if info.ends_with(".egg-info") => {
                is_site(parts.get(2)).then_some(Self::Headers)
            }
            [info, ..] if info.ends_with(".egg-info") => is_site(parts.get(1)).then_some(Self::Headers),
            ["package.json", ..] => javascript::is_installed(path).then_some(Self::Package),
            ["status", "dpkg", ..] if path == "var/lib/dpkg/status" => Some(Self::Database),
            [name, "status.d", ..]
                if path.starts_with("var/lib/dpkg/status.d/") && !name.ends_with(".md5sums") =>
            {
                Some(Self::Whole)
            }
            ["installed", "db", ..]
                if matches!(path, "lib/apk/db/installed" | "usr/lib/apk/db/installed") =>
            {
                Some(Self::Database)
            }
            ["os-release", ..] if matches!(path, "etc/os-release" | "usr/lib/os-release") => {
                Some(Self::Whole)
            }
            _ => None,
        }
    }

    fn read(self, file: impl Read) -> io::Result<String> {
        let limit = if self == Self::Database { MAX_DATABASE } else { MAX_FILE };
        let mut file = BufReader::new(file.take(limit));
        let mut bytes = Vec::new();
        match self {
            Self::Headers => while file.read_until(b'\n', &mut bytes)? > 1 && !bytes.ends_with(b"\n\r\n") {},
            _ => _ = file.read_to_end(&mut bytes)?,
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(if self == Self::Package { javascript::shortened(&text) } else { text.into_owned() })
    }
}

/// Reads the files of an image, a tar archive. `metadata` is the result for the same archive, which tells which files have
/// links; empty the first time.
///
/// # Errors
///
/// It is broken or ends early, or has more metadata than an image of packages can have.
pub fn read(archive: impl Read, mut metadata: Metadata) -> io::Result<Metadata> {
    let links = std::mem::take(&mut metadata.links);
    let mut total: usize = metadata.files.values().map(String::len).sum();
    for entry in Archive::new(archive).entries()? {
        let entry = entry?;
        let path = paths::in_archive(&entry.path_bytes());
        let kind = entry.header().entry_type();
        if kind == EntryType::Link {
            let target = paths::in_archive(&entry.link_name_bytes().unwrap_or_default());
            if Use::of(&path).is_some() && !metadata.files.contains_key(&path) {
                match metadata.files.get(&target).cloned() {
                    Some(text) => {
                        total = counted(total, text.len())?;
                        metadata.files.insert(path, text);
                    }
                    None => _ = metadata.links.entry(target).or_default().insert(path),
                }
            }
            continue;
        }
        let linked = links.get(&path).into_iter().flatten().find_map(|link| Use::of(link));
        let Some(used) = Use::of(&path).or(linked).filter(|_| kind.is_file()) else { continue };
        let text = used.read(entry)?;
        for link in links.get(&path).into_iter().flatten() {
            total = counted(total, text.len())?;
            metadata.files.insert(link.clone(), text.clone());
        }
        if Use::of(&path).is_some() {
            total = counted(total, text.len())?;
            metadata.files.insert(path, text);
        }
    }
    metadata.links.retain(|_, links| links.iter().any(|link| !metadata.files.contains_key(link)));
    Ok(metadata)
}

/// The bytes that are kept with `more` of them.
fn counted(total: usize, more: usize) -> io::Result<usize> {
    let total = total + more;
    let is_much = total > MAX_TOTAL;
    let message = format!("the metadata of its packages has more than {} MiB", MAX_TOTAL >> 20);
    if is_much { Err(io::Error::other(message)) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use tar::{Builder, Header};

    use super::*;

    /// An archive of files and, with `>` before the target, hard links.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = Header::new_gnu();
            match content.strip_prefix(b">") {
                Some(target) => {
                    header.set_entry_type(EntryType::Link);
                    header.set_size(0);
                    let target = str::from_utf8(target).unwrap();
                    archive.append_link(&mut header, path, target).unwrap();
                }
                None => {
                    header.set_size(content.len() as u64);
                    archive.append_data(&mut header, path, *content).unwrap();
                }
            }
        }
        archive.into_inner().unwrap()
    }

    #[test]
    fn only_metadata_of_installed_packages_is_kept() {
        let site = "usr/lib/python3.12/site-packages";
        let nested = format!("{site}/setuptools/_vendor/a-1.dist-info/METADATA");
        let own = format!("{site}/b-1.dist-info/METADATA");
        let files: &[(&str, &[u8])] = &[
            (&nested, b"Name: a"),
            (&own, b"Name: b\nX: \xff\r\n\r\nlong text\n"),
            ("app/package.json", b"{}"),
            ("app/node_modules/@x/y/package.json", br#"{"name": "@x/y", "version": "1", "scripts": {}}"#),
            ("app/node_modules/y/test/package.json", b"{}"),
            ("home/var/lib/dpkg/status", b"Package: no"),
        ];
        let found = read(&archive(files)[..], Metadata::default()).unwrap();
        let expected = [
            ("app/node_modules/@x/y/package.json", r#"{"name":"@x/y","version":"1"}"#),
            (&own, "Name: b\nX: \u{fffd}\r\n\r\n"),
        ];
        let expected = expected.map(|(path, text)| (path.to_owned(), text.to_owned()));
        assert_eq!(found.files, BTreeMap::from(expected));
    }

    #[test]
    fn hard_links_to_files_elsewhere_are_found_the_second_time() {
        let own = "lib/site-packages/b-1.dist-info/METADATA";
        let files: &[(&str, &[u8])] = &[("root/cache/1f", b"Name: b\n"), (own, b">root/cache/1f")];
        let archive = archive(files);
        let first = read(&archive[..], Metadata::default()).unwrap();
        assert_eq!((first.files.len(), first.links.len()), (0, 1));
        let second = read(&archive[..], first).unwrap();
        assert_eq!(second.files, BTreeMap::from([(own.to_owned(), "Name: b\n".to_owned())]));
        assert!(second.links.is_empty());
    }

    #[test]
    fn the_sum_of_all_files_is_bounded() {
        assert!(counted(MAX_TOTAL - 1, 1).is_ok());
        assert!(counted(MAX_TOTAL, 1).unwrap_err().to_string().contains("more than 256 MiB"));
    }

    #[test]
    fn an_archive_that_ends_early_is_an_error() {
        let archive = archive(&[("lib/site-packages/b-1.dist-info/METADATA", &[b'a'; 5000])]);
        assert!(read(&archive[..3000], Metadata::default()).is_err());
        assert!(read(&b"nonsense"[..], Metadata::default()).is_err());
    }
}
