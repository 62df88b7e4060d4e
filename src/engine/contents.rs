//! What an image contains, to compare it with another one. Times of files are left out: each build has its own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tar::{Archive, Entry, EntryType};

use super::connect::Engine;
use super::error::Error;
use super::export::Files;
use crate::compiler::paths;
use crate::live::Stop;

/// The files and the configuration of an image.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents {
    /// By their path without `/` at the start.
    files: BTreeMap<String, File>,
    /// The members of the configuration, such as `Env`.
    configuration: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    kind: EntryType,
    mode: u32,
    owner: (u64, u64),
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// The SHA-256 of a file.
    Bytes([u8; 32]),
    /// The target of a link, or nothing.
    Target(String),
}

impl Contents {
    /// The number of files and directories.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The differences to `other`, as lines that start with `-` for what only this image has, with `+` for what only the
    /// other one has, and with `~` and what differs for what both have.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let keys: BTreeSet<&String> = self.configuration.keys().chain(other.configuration.keys()).collect();
        let configuration = keys.into_iter().filter(|&key| {
            let value = |contents: &Self| contents.configuration.get(key).filter(|it| !is_empty(it)).cloned();
            value(self) != value(other)
        });
        let mut lines: Vec<String> = configuration.map(|key| format!("~ {key} of the image")).collect();
        let paths: BTreeSet<&String> = self.files.keys().chain(other.files.keys()).collect();
        lines.extend(paths.into_iter().filter_map(|path| {
            match (self.files.get(path), other.files.get(path)) {
                (Some(one), Some(two)) => Some(format!("~ /{path}: {}", one.difference(two)?)),
                (Some(_), None) => Some(format!("- /{path}")),
                _ => Some(format!("+ /{path}")),
            }
        }));
        lines
    }
}

impl File {
    fn read(mut entry: Entry<'_, Files>) -> io::Result<Self> {
        let header = entry.header();
        let kind = header.entry_type();
        let (mode, owner) = (header.mode()?, (header.uid()?, header.gid()?));
        let content = if kind.is_file() {
            Content::Bytes(sha256(&mut entry)?)
        } else {
            Content::Target(paths::in_archive(&entry.link_name_bytes().unwrap_or_default()))
        };
        Ok(Self { kind, mode, owner, content })
    }

    fn difference(&self, other: &Self) -> Option<&'static str> {
        let differences = [
            (self.kind != other.kind, "kind"),
            (self.content != other.content, "content"),
            (self.mode != other.mode, "mode"),
            (self.owner != other.owner, "owner"),
        ];
        differences.into_iter().find_map(|(differs, name)| differs.then_some(name))
    }
}

impl Engine {
    /// The contents of a local image.
    ///
    /// # Errors
    ///
    /// There is no such image, the engine refuses or disconnects, or the program is asked to stop.
    pub async fn contents(&self, image: &str, stop: &Stop) -> Result<Contents, Error> {
        let details = stop.unless_asked(self.inspect_image(image)).await??;
        let details = details.ok_or_else(|| Error::NoImage { image: image.to_owned() })?;
        let configuration = match serde_json::to_value(details.config) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        };
        let files = self.read_files(image, stop, files).await?;
        let files = files.map_err(|error| Error::Request {
            what: "send all files of the image".to_owned(),
            status: 200,
            reason: error.to_string(),
        })?;
        Ok(Contents { files, configuration })
    }
}

/// The files of an archive. A hard link is the file that it leads to, whichever of both the engine sends first.
fn files(archive: Files) -> io::Result<BTreeMap<String, File>> {
    let mut files = BTreeMap::new();
    for entry in Archive::new(archive).entries()? {
        let entry = entry?;
        files.insert(paths::in_archive(&entry.path_bytes()), File::read(entry)?);
    }
    let links = files.iter().filter(|(_, file)| file.kind == EntryType::Link);
    let links = links.filter_map(|(path, link)| match &link.content {
        Content::Target(target) => Some((path.clone(), files.get(target)?.clone())),
        Content::Bytes(_) => None,
    });
    let links: Vec<_> = links.collect();
    files.extend(links);
    Ok(files)
}

fn sha256(file: &mut impl Read) -> io::Result<[u8; 32]> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Whether a member of the configuration says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
