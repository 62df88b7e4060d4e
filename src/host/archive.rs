//! Whether an uploaded archive is what it should be: a tar.gz of a tree that has the configuration.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

/// More than a source tree unpacks to, in bytes: what is larger is a trap.
const UNPACKED: u64 = 4 << 30;

/// What an archive holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// How many files, directories not counted.
    pub(super) files: u64,
    /// Their size in bytes.
    pub(super) bytes: u64,
}

/// Reads the archive in `file` to its end.
///
/// # Errors
///
/// What is wrong with it, as a lowercase fragment.
pub(super) fn check(file: File, config: &str) -> Result<Contents, String> {
    let broken = |error: io::Error| format!("the archive cannot be read as a tar.gz: {error}");
    let mut archive = Archive::new(GzDecoder::new(file).take(UNPACKED));
    let mut contents = Contents::default();
    let wanted = resolve(Path::new(""), Path::new(config));
    let mut has_config = false;
    for entry in archive.entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        let inside =
            resolve(Path::new(""), &path).ok_or_else(|| format!("`{}` leaves the root", path.display()))?;
        let kind = entry.header().entry_type();
        if let Some(target) = entry.link_name().map_err(broken)? {
            // The target of a hard link is counted from the root.
            let from =
                if kind == EntryType::Symlink { inside.parent().unwrap_or(&inside) } else { Path::new("") };
            resolve(from, &target).ok_or_else(|| {
                format!("`{}` points out of the root, to `{}`", path.display(), target.display())
            })?;
        }
        match kind {
            EntryType::Regular | EntryType::Continuous => {
                has_config |= wanted.as_ref() == Some(&inside);
                contents.files += 1;
                contents.bytes += entry.size();
            }
            EntryType::Symlink | EntryType::Link => contents.files += 1,
            EntryType::Directory | EntryType::XGlobalHeader => {}
            _ => return Err(format!("`{}` is neither a file, a directory nor a link", path.display())),
        }
    }
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(broken)?;
    if rest.limit() == 0 {
        return Err(format!("the archive unpacks to more than {} GiB", UNPACKED >> 30));
    }
    if !has_config {
        return Err(format!("the archive does not hold the configuration, `{config}`"));
    }
    Ok(contents)
}

/// The path below the root, without `.` and `..`; nothing where it leaves the root.
fn resolve(from: &Path, path: &Path) -> Option<PathBuf> {
    let mut inside = from.to_owned();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(inside)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn archive(fill: impl FnOnce(&mut tar::Builder<GzEncoder<File>>)) -> File {
        let file = tempfile::tempfile().unwrap();
        let mut builder = tar::Builder::new(GzEncoder::new(file.try_clone().unwrap(), Compression::fast()));
        fill(&mut builder);
        builder.into_inner().unwrap().finish().unwrap();
        let mut file = file;
        file.rewind().unwrap();
        file
    }

    fn add(builder: &mut tar::Builder<GzEncoder<File>>, path: &str, kind: EntryType, target: &str) {
        let mut header = tar::Header::new_gnu();
        // Not `set_path`, which refuses what is tried out here.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_size(if kind == EntryType::Regular { 2 } else { 0 });
        header.set_cksum();
        builder.append(&header, if kind == EntryType::Regular { &b"{}"[..] } else { b"" }).unwrap();
    }

    #[test]
    fn a_tree_with_its_configuration() {
        let file = archive(|tree| {
            add(tree, "app/", EntryType::Directory, "");
            add(tree, "./app/agent.json", EntryType::Regular, "");
            add(tree, "app/link", EntryType::Symlink, "../other/./file");
        });
        assert_eq!(check(file, "app/agent.json"), Ok(Contents { files: 2, bytes: 2 }));
    }

    #[test]
    fn what_leaves_the_root() {
        for (path, kind, target) in [
            ("../agent.json", EntryType::Regular, ""),
            ("/agent.json", EntryType::Regular, ""),
            ("a/../../b", EntryType::Regular, ""),
            ("a/link", EntryType::Symlink, "../../etc"),
            ("link", EntryType::Symlink, "/etc/passwd"),
            ("a/hard", EntryType::Link, "../passwd"),
        ] {
            let file = archive(|tree| {
                add(tree, "agent.json", EntryType::Regular, "");
                add(tree, path, kind, target);
            });
            let reason = check(file, "agent.json").unwrap_err();
            assert!(reason.contains("the root"), "{path}: {reason}");
        }
    }

    #[test]
    fn what_is_no_archive() {
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"not an archive").unwrap();
        text.rewind().unwrap();
        assert!(check(text, "agent.json").unwrap_err().contains("tar.gz"));
        let whole = archive(|tree| add(tree, "agent.json", EntryType::Regular, ""));
        whole.set_len(whole.metadata().unwrap().len() - 9).unwrap();
        assert!(check(whole, "agent.json").unwrap_err().contains("tar.gz"));
        let empty = archive(|_| {});
        assert!(check(empty, "agent.json").unwrap_err().contains("agent.json"));
        let device = archive(|tree| add(tree, "null", EntryType::Char, ""));
        assert!(check(device, "agent.json").unwrap_err().contains("neither"));
    }
}
