//! Records of an archive before an entry: they give the names that its header has no room for. They are read here, and
//! not by the `tar` crate, which takes them into memory however large they are.

use std::io::Read;
use std::path::PathBuf;

use tar::{Entry, EntryType};

/// The largest record in bytes; the longest path that a system takes has 4 KiB.
const LONGEST: u64 = 64 << 10;

/// What the records before an entry say about it.
#[derive(Default)]
pub(super) struct Names {
    path: Option<PathBuf>,
    target: Option<PathBuf>,
}

impl Names {
    /// Reads a record; whether `entry` was one.
    ///
    /// # Errors
    ///
    /// It is too large, or programs that unpack the archive may take it for different things.
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
        entry.read_to_end(&mut bytes).map_err(super::broken)?;
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
                // They say for all entries where they are, or how long one is, which its header can say, or where its
                // name stands. Not every program minds them.
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

/// Takes a name that was not given before.
fn once(name: &mut Option<PathBuf>, bytes: &[u8]) -> Result<(), String> {
    let given = text(bytes);
    match name.replace(given) {
        None => Ok(()),
        Some(before) => Err(format!("`{}` is given another name in the archive", before.display())),
    }
}

/// As programs read it that end a name at a zero byte. What is no UTF-8 may look like another name, which at worst
/// refuses an archive.
fn text(bytes: &[u8]) -> PathBuf {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned().into()
}

/// Keys and values of a PAX record, in lines of `LENGTH KEY=VALUE`; nothing where it is broken.
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
