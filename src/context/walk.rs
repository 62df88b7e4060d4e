//! Lists the files of the archive.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::{Context, Entry, Error, Kind, Listing};
use crate::compiler::back::emit::heading::{HEAD, holds_values};
use crate::compiler::front::without_env::without_env_values;
use crate::compiler::manifests::dockerignore::Trail;

/// Permission bits, normalised as git does, so that an image does not depend on the umask of the checkout.
const FILE_MODE: u32 = 0o644;
const EXECUTABLE_MODE: u32 = 0o755;
const LINK_MODE: u32 = 0o777;

/// Lists the entries of `context`, sorted by path bytes, so that a directory precedes its contents.
pub(super) fn list(context: &Context) -> Result<Listing, Error> {
    let extra = context.extra.iter().map(|(path, contents)| Entry {
        path: PathBuf::from(path),
        kind: Kind::Extra(contents.clone()),
        mode: FILE_MODE,
    });
    let mut walk = Walk {
        context,
        replaced: context.extra.iter().map(|(path, _)| Path::new(path)).collect(),
        entries: extra.collect(),
    };
    walk.directory(Path::new(""), &Trail::default())?;
    let mut entries = walk.entries;
    entries.extend(directories_of_extra(context, &entries));
    entries.sort_unstable_by(|left, right| path_bytes(&left.path).cmp(path_bytes(&right.path)));
    Ok(Listing { root: context.root.clone(), entries })
}

/// The directories of the files to add that are not on disk. An engine would make them at the time of the build.
fn directories_of_extra(context: &Context, entries: &[Entry]) -> Vec<Entry> {
    let above = context.extra.iter().flat_map(|(path, _)| Path::new(path).ancestors().skip(1));
    let mut paths: BTreeSet<&Path> = above.filter(|path| !path.as_os_str().is_empty()).collect();
    entries.iter().for_each(|entry| _ = paths.remove(&*entry.path));
    let directory =
        |path: &Path| Entry { path: path.to_owned(), kind: Kind::Directory, mode: EXECUTABLE_MODE };
    paths.into_iter().map(directory).collect()
}

/// The key by which entries are sorted.
pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

struct Walk<'a> {
    context: &'a Context,
    replaced: HashSet<&'a Path>,
    entries: Vec<Entry>,
}

impl Walk<'_> {
    /// Lists the entries below `path`; returns whether there are any.
    fn directory(&mut self, path: &Path, trail: &Trail) -> Result<bool, Error> {
        let directory = self.context.root.join(path);
        let read = |source| Error::Read { path: directory.clone(), source };
        let mut found = false;
        for child in fs::read_dir(&directory).map_err(read)? {
            let child = child.map_err(read)?;
            let below = below(path, &child.file_name());
            if !self.replaced.contains(&*below) {
                found |= self.entry(below, &child, trail)?;
            }
        }
        Ok(found)
    }

    /// Lists `child` and the entries below it; returns whether there are any.
    fn entry(&mut self, path: PathBuf, child: &fs::DirEntry, trail: &Trail) -> Result<bool, Error> {
        let ignore = &self.context.ignore;
        let name = path.to_string_lossy();
        let (excluded, trail) = ignore.step(trail, &name);
        // An excluded entry is not read at all: it may be unreadable.
        let is_directory = child.file_type().is_ok_and(|kind| kind.is_dir());
        if excluded && !(is_directory && ignore.may_include_below(&name)) {
            return Ok(false);
        }
        let below = is_directory && self.directory(&path, &trail)?;
        if excluded && !below {
            return Ok(false);
        }
        let read = |source| Error::Read { path: child.path(), source };
        if self.context.configurations.iter().any(|it| *it == name) {
            let bytes = fs::read(child.path()).map_err(read)?;
            let emptied = without_env_values(&String::from_utf8_lossy(&bytes)).map(String::into_bytes);
            self.entries.push(Entry { path, kind: Kind::Extra(emptied.unwrap_or(bytes)), mode: FILE_MODE });
            return Ok(true);
        }
        let metadata = child.metadata().map_err(read)?;
        let Some(kind) = kind(child, &metadata)? else { return Ok(false) };
        if matches!(kind, Kind::File(_)) && holds_values(&head(&child.path()).map_err(read)?) {
            return Ok(false);
        }
        self.entries.push(Entry { path, mode: mode(&kind, &metadata), kind });
        Ok(true)
    }
}

/// The first bytes of a file.
fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    File::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The path of the entry `name` in `directory`, with `/` on every system, as patterns and archives have it.
fn below(directory: &Path, name: &OsStr) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    if !path.is_empty() {
        path.push("/");
    }
    path.push(name);
    path.into()
}

/// The kind of `child` in the archive; `None` for sockets, pipes and devices.
fn kind(child: &fs::DirEntry, metadata: &Metadata) -> Result<Option<Kind>, Error> {
    let kind = metadata.file_type();
    Ok(if kind.is_dir() {
        Some(Kind::Directory)
    } else if kind.is_file() {
        Some(Kind::File(metadata.len()))
    } else if kind.is_symlink() {
        let path = child.path();
        Some(Kind::Link(fs::read_link(&path).map_err(|source| Error::Read { path, source })?))
    } else {
        None
    })
}

fn mode(kind: &Kind, metadata: &Metadata) -> u32 {
    match kind {
        Kind::Directory => EXECUTABLE_MODE,
        Kind::Link(_) => LINK_MODE,
        Kind::File(_) | Kind::Extra(_) if is_executable(metadata) => EXECUTABLE_MODE,
        Kind::File(_) | Kind::Extra(_) => FILE_MODE,
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o100 != 0
}

/// On systems without permission bits, every file is executable, as with Docker.
#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    true
}
