//! Uploaded archives: a tar.gz of a tree with the configuration. One reader decides about the entries and writes them.

mod names;
mod root;

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::mem;
use std::path::{Component, Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use tar::{Archive, Entry, EntryType, Header};

use agentcli::project;

use super::tree::DEPTH;
use crate::store::persist::system_error;
use names::{Names, broken};
use root::Root;

/// The limits of archives.
const LIMITS: Limits = Limits { bytes: 4 << 30, entries: 200_000 };

#[derive(Clone, Copy)]
struct Limits {
    /// Maximum unpacked size, in bytes, against compression bombs. Each name of a file counts with the size of the file.
    bytes: u64,
    /// Maximum number of entries, and of directories that are made for them.
    entries: u64,
}

/// Maximum length of a path and of a name in it, in bytes: what systems can remove again below the directory of a build.
const PATH: usize = 2048;
const NAME: usize = 255;

/// Maximum size of the symbolic links, in bytes: enough for thousands.
const LINKS: usize = 1 << 20;

/// Size of a link besides its names, in bytes, roughly.
const LINK: usize = 128;

/// The formats that all programs read alike, by the bytes after the old fields: none, of POSIX and of GNU.
const FORMATS: [&[u8; 8]; 3] = [b"\0\0\0\0\0\0\0\0", b"ustar\x0000", b"ustar  \0"];

/// Contents of an archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// Number of files, without directories.
    pub(super) files: u64,
    /// Their size in bytes.
    pub(super) bytes: u64,
}

/// Writes the archive into the empty directory `root`. The archive has the file `config`. Its symbolic links may lead out of
/// the directory; nothing is read or written through them.
///
/// # Errors
///
/// The archive is not accepted, or cannot be written, as a fragment. What was written until then stays.
pub(super) fn unpack(archive: &File, config: &str, root: &Path) -> Result<Contents, String> {
    unpack_within(LIMITS, archive, config, root)
}

fn unpack_within(limits: Limits, mut archive: &File, config: &str, root: &Path) -> Result<Contents, String> {
    let failed = |error: io::Error| format!("cannot unpack the archive: {}", reason(error));
    archive.rewind().map_err(failed)?;
    let tree = Root::open(root).map_err(failed)?;
    let mut written = Written {
        limits,
        tree,
        config: inside(Path::new(config)).ok(),
        has_config: false,
        contents: Contents::default(),
        entries: 0,
        links: 0,
    };
    let mut archive = Archive::new(MultiGzDecoder::new(BufReader::new(archive)).take(limits.bytes));
    let mut names = Names::default();
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        check_header(entry.header())?;
        if !names.read(&mut entry)? {
            written.add(&mem::take(&mut names), &mut entry)?;
        }
    }
    check_end(archive.into_inner(), limits)?;
    if !names.is_empty() {
        return Err("the archive ends with a record about an entry that it does not have".to_owned());
    }
    if !written.has_config {
        return Err(format!("the archive does not hold the configuration, `{config}`"));
    }
    Ok(written.contents)
}

/// Fails unless nothing follows the entries.
fn check_end(mut rest: io::Take<impl Read>, limits: Limits) -> Result<(), String> {
    let mut piece = [0; 8192];
    loop {
        match rest.read(&mut piece).map_err(broken)? {
            0 if rest.limit() == 0 => return Err(limits.too_large()),
            0 => return Ok(()),
            length if piece[..length].iter().any(|byte| *byte != 0) => {
                return Err("the archive goes on after its end".to_owned());
            }
            _ => {}
        }
    }
}

/// What was written.
struct Written {
    limits: Limits,
    tree: Root,
    /// Path of the configuration; `None` if it is outside.
    config: Option<PathBuf>,
    has_config: bool,
    contents: Contents,
    /// Number of entries, directories included.
    entries: u64,
    /// Size of the symbolic links, in bytes, roughly.
    links: usize,
}

impl Written {
    fn add<R: Read>(&mut self, names: &Names, entry: &mut Entry<'_, R>) -> Result<(), String> {
        let path = names.path(entry)?;
        let inside = inside(&path)?;
        check_size(&inside)?;
        let (kind, size) = (entry.header().entry_type(), entry.size());
        let is_directory = kind == EntryType::Directory;
        if !is_directory && (inside.as_os_str().is_empty() || ends_like_a_directory(&path)) {
            return Err(format!("`{}` is the name of a directory, and is none", path.display()));
        }
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous);
        if !is_file && size != 0 {
            return Err(format!("`{}` is not a file, and has contents", path.display()));
        }
        // Some writers leave it out.
        let mode = entry.header().mode().unwrap_or_default();
        self.entries += 1;
        self.contents.files += u64::from(!is_directory);
        let written = match kind {
            EntryType::Directory => self.tree.directory(&inside, mode),
            EntryType::Regular | EntryType::Continuous => {
                self.count(size)?;
                self.has_config |= self.config.as_ref() == Some(&inside);
                self.tree.file(&inside, mode, entry)
            }
            EntryType::Symlink => {
                let target = names.target(entry)?;
                self.links += LINK + inside.as_os_str().len() + target.as_os_str().len();
                if self.links > LINKS {
                    return Err("the archive holds too many links".to_owned());
                }
                self.tree.symlink(&inside, &target)
            }
            EntryType::Link => {
                // Hard links are relative to the root.
                let target = self::inside(&names.target(entry)?)
                    .map_err(|reason| format!("`{}` is a link, and {reason}", path.display()))?;
                match self.tree.link(&inside, &target) {
                    Ok(Some(size)) => {
                        self.count(size)?;
                        Ok(())
                    }
                    Ok(None) => {
                        let (path, target) = (path.display(), target.display());
                        return Err(format!("`{path}` is a hard link to `{target}`, which is not a file"));
                    }
                    Err(error) => Err(error),
                }
            }
            _ => return Err(format!("`{}` is neither a file, a directory nor a link", path.display())),
        };
        written.map_err(|error| {
            format!("cannot unpack `{}` of the archive: {}", inside.display(), reason(error))
        })?;
        if self.entries + self.tree.made > self.limits.entries {
            return Err(format!("the archive has more than {} entries", self.limits.entries));
        }
        Ok(())
    }

    /// Counts the bytes of a file.
    fn count(&mut self, size: u64) -> Result<(), String> {
        self.contents.bytes = self.contents.bytes.saturating_add(size);
        if self.contents.bytes > self.limits.bytes { Err(self.limits.too_large()) } else { Ok(()) }
    }
}

/// Fails unless all programs read the numbers and the format of a header alike.
fn check_header(header: &Header) -> Result<(), String> {
    let old = header.as_old();
    let is_plain = is_number(&old.size) && (old.mode == [0; 8] || is_number(&old.mode));
    let format = &header.as_bytes()[257..265];
    if is_plain && FORMATS.iter().any(|known| *known == format) {
        return Ok(());
    }
    Err("the archive cannot be read as a tar.gz: the header of an entry has an unusual form".to_owned())
}

/// Whether a field has octal digits between spaces, or a binary number of at most 8 bytes.
fn is_number(field: &[u8]) -> bool {
    if let [0x80, more @ ..] = field {
        return more.len() > 8 && more[..more.len() - 8].iter().all(|byte| *byte == 0);
    }
    let digits = field.trim_ascii_start();
    let end = digits.iter().position(|byte| !matches!(byte, b'0'..=b'7')).unwrap_or(digits.len());
    end > 0
        && field[..field.len() - digits.len()].iter().all(|byte| *byte == b' ')
        && digits[end..].iter().all(|byte| matches!(byte, b' ' | 0))
}

/// Rejects paths that are too long or too deep.
fn check_size(path: &Path) -> Result<(), String> {
    let begin = || path.display().to_string().chars().take(80).collect::<String>();
    if path.as_os_str().len() > PATH {
        return Err(format!("the path `{}…` has more than {PATH} bytes", begin()));
    }
    if path.components().count() > DEPTH {
        return Err(format!("`{}…` is below more than {DEPTH} directories", begin()));
    }
    if path.components().any(|part| part.as_os_str().len() > NAME) {
        return Err(format!("a name in `{}…` has more than {NAME} bytes", begin()));
    }
    Ok(())
}

impl Limits {
    fn too_large(self) -> String {
        format!("the archive unpacks to more than {} MiB", self.bytes >> 20)
    }
}

/// The reason of a failure of the system, without paths of this machine.
fn reason(error: io::Error) -> String {
    project::reason(&system_error(error))
}

/// Whether a name can only be that of a directory.
fn ends_like_a_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}

/// The path below the root, without `.`.
fn inside(path: &Path) -> Result<PathBuf, String> {
    let names = path.components().filter(|part| *part != Component::CurDir);
    let inside = names.map(|part| match part {
        Component::Normal(name) => Ok(name),
        _ => Err(format!("`{}` leaves the root", path.display())),
    });
    inside.collect()
}

#[cfg(test)]
mod tests;
