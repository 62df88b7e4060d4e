//! Extension records of archives, which hold names that are too long for the header of an entry. They are not read by the
//! `tar` crate, which has no limit for their size.

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
    /// It is too large, or ambiguous.
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
        match kind {
            EntryType::GNULongName => once(&mut self.path, &bytes)?,
            EntryType::GNULongLink => once(&mut self.target, &bytes)?,
            _ => self.extend(&bytes, kind == EntryType::XHeader)?,
        }
        Ok(true)
    }

    /// The path of the entry after the records.
    pub(super) fn path<R: Read>(&self, entry: &Entry<'_, R>) -> PathBuf {
        self.path.clone().unwrap_or_else(|| text(&entry.header().path_bytes()))
    }

    /// The target of the link after the records.
    pub(super) fn target<R: Read>(&self, entry: &Entry<'_, R>) -> PathBuf {
        let in_header = || text(&entry.header().link_name_bytes().unwrap_or_default());
        self.target.clone().unwrap_or_else(in_header)
    }

    fn extend(&mut self, bytes: &[u8], is_of_entry: bool) -> Result<(), String> {
        let pairs = pairs(bytes).ok_or("the archive cannot be read as a tar.gz: a PAX record is broken")?;
        for (key, value) in pairs {
            match key {
                b"path" if is_of_entry => once(&mut self.path, value)?,
                b"linkpath" if is_of_entry => once(&mut self.target, value)?,
                // Global paths, sizes and sparse names outside of the header: not every program honours them.
                b"path" | b"linkpath" | b"size" | b"GNU.sparse.name" => {
                    let key = String::from_utf8_lossy(key);
                    return Err(format!("the archive has a PAX record that is not taken, `{key}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Sets a name that is not set yet.
fn once(name: &mut Option<PathBuf>, bytes: &[u8]) -> Result<(), String> {
    let given = text(bytes);
    match name.replace(given) {
        None => Ok(()),
        Some(before) => Err(format!("`{}` is given another name in the archive", before.display())),
    }
}

/// The name up to a zero byte. Invalid UTF-8 is replaced, which at worst rejects an archive.
fn text(bytes: &[u8]) -> PathBuf {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned().into()
}

/// Keys and values of a PAX record, in lines of `LENGTH KEY=VALUE`; `None` if it is malformed.
fn pairs(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let space = bytes.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
        let pair = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
        let equals = pair.iter().position(|byte| *byte == b'=')?;
        pairs.push((&pair[..equals], &pair[equals + 1..]));
        bytes = &bytes[length..];
    }
    Some(pairs)
}

/// The error of an archive that cannot be read.
pub(super) fn broken(error: io::Error) -> String {
    format!("the archive cannot be read as a tar.gz: {error}")
}
