//! Extension records of archives, which hold names that are too long for the header of an entry. They are not read by the
//! `tar` crate, which has no limit for their size.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;

use tar::{Entry, EntryType};

/// Maximum size of a record, in bytes; paths have at most 4 KiB.
const LONGEST: u64 = 64 << 10;

/// The records of an entry.
#[derive(Default)]
pub(super) struct Names {
    path: Option<PathBuf>,
    target: Option<PathBuf>,
}

impl Names {
    /// Reads `entry` if it is a record; returns whether it is.
    ///
    /// # Errors
    ///
    /// It is too large, ambiguous, or not a record that every program reads alike.
    pub(super) fn read<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<bool, String> {
        let kind = entry.header().entry_type();
        if !matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader
        ) {
            return Ok(false);
        }
        if entry.size() > LONGEST {
            return Err(format!(
                "the archive cannot be read as a tar.gz: a record about an entry has {} bytes, more than {} KiB",
                entry.size(),
                LONGEST >> 10
            ));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(broken)?;
        // Without a zero byte at its end, GNU tar reads on until there is one.
        let text = || {
            bytes.strip_suffix(b"\0").ok_or("the archive cannot be read as a tar.gz: a long name has no end")
        };
        match kind {
            EntryType::GNULongName => once(&mut self.path, text()?)?,
            EntryType::GNULongLink => once(&mut self.target, text()?)?,
            _ => self.extend(&bytes, kind == EntryType::XHeader)?,
        }
        Ok(true)
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.path.is_none() && self.target.is_none()
    }

    /// The path of the entry after the records.
    pub(super) fn path<R: Read>(&self, entry: &Entry<'_, R>) -> Result<PathBuf, String> {
        self.path.clone().map_or_else(|| name(&entry.header().path_bytes()), Ok)
    }

    /// The target of the link after the records.
    pub(super) fn target<R: Read>(&self, entry: &Entry<'_, R>) -> Result<PathBuf, String> {
        let in_header = || name(&entry.header().link_name_bytes().unwrap_or_default());
        self.target.clone().map_or_else(in_header, Ok)
    }

    fn extend(&mut self, bytes: &[u8], is_of_entry: bool) -> Result<(), String> {
        let pairs = pairs(bytes).ok_or("the archive cannot be read as a tar.gz: a PAX record is broken")?;
        for (key, value) in pairs {
            match key {
                b"path" if is_of_entry => once(&mut self.path, value)?,
                b"linkpath" if is_of_entry => once(&mut self.target, value)?,
                // Global paths, sizes and sparse files outside of the header: not every program honours them.
                b"path" | b"linkpath" | b"size" => return Err(not_taken(key)),
                _ if key.starts_with(b"GNU.sparse.") => return Err(not_taken(key)),
                _ => {}
            }
        }
        Ok(())
    }
}

fn not_taken(key: &[u8]) -> String {
    format!("the archive has a PAX record that is not taken, `{}`", String::from_utf8_lossy(key))
}

/// Sets a name that is not set yet.
fn once(known: &mut Option<PathBuf>, bytes: &[u8]) -> Result<(), String> {
    match known.replace(name(bytes)?) {
        None => Ok(()),
        Some(before) => Err(format!("`{}` is given another name in the archive", before.display())),
    }
}

/// A name of an archive. Programs differ about those with a zero byte, and about empty ones.
fn name(bytes: &[u8]) -> Result<PathBuf, String> {
    if bytes.is_empty() || bytes.contains(&0) {
        return Err("an entry of the archive has no name, or one with a zero byte".to_owned());
    }
    native(bytes).map(PathBuf::from).ok_or_else(|| "a name in the archive is not UTF-8".to_owned())
}

#[cfg(unix)]
fn native(bytes: &[u8]) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec()))
}

#[cfg(not(unix))]
fn native(bytes: &[u8]) -> Option<OsString> {
    std::str::from_utf8(bytes).ok().map(OsString::from)
}

/// Keys and values of a PAX record, in lines of `LENGTH KEY=VALUE`; `None` if it is malformed.
fn pairs(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let digits = bytes[..space].iter().all(u8::is_ascii_digit).then_some(&bytes[..space])?;
        let length: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
        let pair = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
        // A zero byte ends the line for some readers.
        let equals = pair.iter().position(|byte| matches!(byte, b'=' | 0)).filter(|at| pair[*at] == b'=')?;
        pairs.push((&pair[..equals], &pair[equals + 1..]));
        bytes = &bytes[length..];
    }
    Some(pairs)
}

/// The error of an archive that cannot be read.
pub(super) fn broken(error: io::Error) -> String {
    format!("the archive cannot be read as a tar.gz: {error}")
}
