//! Checks of uploaded archives: a tar.gz of a tree with the configuration.

mod names;

use std::collections::HashMap;
use std::io::{self, Read};
use std::mem;
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, Entry, EntryType};

use agentcli::context;

use names::{Names, broken};

/// Maximum unpacked size, in bytes, against compression bombs.
const UNPACKED: u64 = 4 << 30;

/// Maximum number of entries. Each is a file, a directory or a link that has to be created and removed.
const ENTRIES: u64 = 200_000;

/// Maximum length of a path and of a name in it, in bytes, and maximum number of names in a path: what systems can remove
/// again below the directory of a build.
const PATH: usize = 2048;
const NAME: usize = 255;
const DEPTH: usize = 128;

/// Maximum memory for links, in bytes: enough for thousands.
const LINKS: usize = 1 << 20;

/// Maximum number of bytes of paths to resolve through links: enough for a million files, and a bound for links that
/// cross.
const EFFORT: u64 = 1 << 29;

/// Memory of a link besides its names, in bytes, roughly.
const LINK: usize = 128;

/// Contents of an archive.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// Number of files, without directories.
    pub(crate) files: u64,
    /// Their size in bytes.
    pub(crate) bytes: u64,
}

/// Reads the archive `file` to its end.
///
/// # Errors
///
/// The violation, as a lowercase fragment.
pub(crate) fn check(file: impl Read, config: &str) -> Result<Contents, String> {
    let mut archive = Archive::new(GzDecoder::new(file).take(UNPACKED));
    let mut tree = Tree { config: inside(Path::new(config), |_| Ok(())).ok(), ..Tree::default() };
    let mut names = Names::default();
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        if !names.read(&mut entry)? {
            tree.add(&mem::take(&mut names), &entry)?;
        }
    }
    let mut rest = archive.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(broken)?;
    if rest.limit() == 0 {
        return Err(format!("the archive unpacks to more than {} GiB", UNPACKED >> 30));
    }
    tree.check_links()?;
    if !tree.has_config {
        return Err(format!("the archive does not hold the configuration, `{config}`"));
    }
    Ok(tree.contents)
}

/// The unpacked tree.
struct Tree {
    /// Path of the configuration; `None` if it is outside.
    config: Option<PathBuf>,
    has_config: bool,
    contents: Contents,
    /// Number of entries, directories included.
    entries: u64,
    /// Symbolic links and their targets.
    links: HashMap<PathBuf, PathBuf>,
    /// Their memory in bytes, roughly.
    held: usize,
    /// Bytes of paths that may still be resolved.
    effort: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            config: None,
            has_config: false,
            contents: Contents::default(),
            entries: 0,
            links: HashMap::new(),
            held: 0,
            effort: EFFORT,
        }
    }
}

impl Tree {
    fn add<R: Read>(&mut self, names: &Names, entry: &Entry<'_, R>) -> Result<(), String> {
        self.entries += 1;
        if self.entries > ENTRIES {
            return Err(format!("the archive has more than {ENTRIES} entries"));
        }
        let path = names.path(entry);
        let inside = self.inside(&path)?;
        check_size(&inside)?;
        let kind = entry.header().entry_type();
        if kind != EntryType::Directory && inside.as_os_str().is_empty() {
            return Err(format!("`{}` is the root, and no directory", path.display()));
        }
        match kind {
            EntryType::Regular | EntryType::Continuous => {
                self.has_config |= self.config.as_ref() == Some(&inside);
                self.contents.files += 1;
                self.contents.bytes += entry.size();
            }
            EntryType::Symlink => {
                self.contents.files += 1;
                return self.link(inside, names.target(entry));
            }
            EntryType::Link => {
                self.contents.files += 1;
                // Hard links are relative to the root. One to a symbolic link would move that link.
                let target = names.target(entry);
                self.inside(&target)
                    .map_err(|reason| format!("`{}` is a link, and {reason}", path.display()))?;
            }
            EntryType::Directory => {}
            _ => return Err(format!("`{}` is neither a file, a directory nor a link", path.display())),
        }
        Ok(())
    }

    fn link(&mut self, path: PathBuf, target: PathBuf) -> Result<(), String> {
        self.held += LINK + path.as_os_str().len() + target.as_os_str().len();
        if self.held > LINKS {
            return Err("the archive holds too many links".to_owned());
        }
        self.links.insert(path, target);
        Ok(())
    }

    /// The path below the root, without `.` and `..`. It must not pass through an earlier link, which programs that unpack the
    /// archive would follow.
    fn inside(&mut self, path: &Path) -> Result<PathBuf, String> {
        inside(path, |inside| {
            if self.links.is_empty() {
                return Ok(());
            }
            let effort = self.effort.checked_sub(inside.as_os_str().len() as u64);
            self.effort = effort.ok_or_else(too_crossed)?;
            if self.links.contains_key(inside) {
                Err(format!("`{}` goes through the link `{}`", path.display(), inside.display()))
            } else {
                Ok(())
            }
        })
    }

    /// Rejects links that lead out of the root, directly or through others.
    fn check_links(&mut self) -> Result<(), String> {
        let links = self.links.iter().map(|(path, target)| (&**path, &**target)).collect();
        for (path, target) in &self.links {
            if context::leaves(path, &links, &mut self.effort).ok_or_else(too_crossed)? {
                return Err(format!(
                    "`{}` points out of the root, to `{}`",
                    path.display(),
                    target.display()
                ));
            }
        }
        Ok(())
    }
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

fn too_crossed() -> String {
    "it takes too long to follow the links of the archive".to_owned()
}

/// The path below the root, without `.` and `..`, where `check` finds nothing wrong with any part of the way.
fn inside(path: &Path, mut check: impl FnMut(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!("`{}` leaves the root", path.display()));
            }
        }
        check(&inside)?;
    }
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
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
    fn what_leaves_the_root_through_links() {
        use EntryType::{Link, Regular, Symlink};
        for (entries, expected) in [
            (&[("a/b/c/up", Symlink, "../../.."), ("out", Symlink, "a/b/c/up/..")][..], "out of the root"),
            // The link that the other one goes through comes later.
            (&[("out", Symlink, "a/b/c/up/.."), ("a/b/c/up", Symlink, "../../..")], "out of the root"),
            (&[("dir", Symlink, "other"), ("dir/evil", Regular, "")], "goes through the link `dir`"),
            (&[("dir", Symlink, "other"), ("dir/../evil", Regular, "")], "goes through the link `dir`"),
            (&[("file", Symlink, "other"), ("file", Regular, "")], "goes through the link `file`"),
            (&[("a/up", Symlink, "../b"), ("up", Link, "a/up")], "goes through the link `a/up`"),
            (&[(".", Symlink, "other")], "is the root"),
        ] {
            let file = archive(|tree| {
                add(tree, "agent.json", Regular, "");
                entries.iter().for_each(|(path, kind, target)| add(tree, path, *kind, target));
            });
            let reason = check(file, "agent.json").unwrap_err();
            assert!(reason.contains(expected), "{entries:?}: {reason}");
        }
        let harmless = archive(|tree| {
            add(tree, "agent.json", Regular, "");
            add(tree, "a/b/up", Symlink, "../..");
            add(tree, "same", Symlink, "a/b/up/agent.json");
            add(tree, "loop", Symlink, "loop");
            add(tree, "hard", Link, "agent.json");
        });
        assert_eq!(check(harmless, "agent.json"), Ok(Contents { files: 5, bytes: 2 }));
    }

    #[test]
    fn links_have_a_bound() {
        let file = archive(|tree| {
            for index in 0..LINKS / LINK {
                add(tree, &format!("link-{index}"), EntryType::Symlink, "agent.json");
            }
        });
        assert!(check(file, "agent.json").unwrap_err().contains("too many links"));
    }

    #[test]
    fn entries_have_a_bound_that_is_found_early() {
        /// Counts what is read.
        struct Counted(File, std::rc::Rc<std::cell::Cell<usize>>);
        impl Read for Counted {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = self.0.read(buffer)?;
                self.1.set(self.1.get() + length);
                Ok(length)
            }
        }
        let file = archive(|tree| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(EntryType::Directory);
            header.set_size(0);
            header.set_path("d").unwrap();
            header.set_cksum();
            for _ in 0..1_000_000 {
                tree.append(&header, &b""[..]).unwrap();
            }
        });
        let size = usize::try_from(file.metadata().unwrap().len()).unwrap();
        let read = std::rc::Rc::default();
        let reason = check(Counted(file, std::rc::Rc::clone(&read)), "agent.json").unwrap_err();
        assert_eq!(reason, "the archive has more than 200000 entries");
        assert!(read.get() < size / 2, "{} of {size} bytes", read.get());
    }

    #[test]
    fn paths_have_bounds() {
        let header = || {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            header
        };
        let parts = |name: &str, count: usize| vec![name; count].join("/");
        for (path, expected) in [
            (parts("d", DEPTH + 1), "is below more than 128 directories"),
            (parts(&"n".repeat(200), 11), "has more than 2048 bytes"),
            ("n".repeat(NAME + 1), "has more than 255 bytes"),
        ] {
            let file = archive(|tree| tree.append_data(&mut header(), &path, &b""[..]).unwrap());
            let reason = check(file, "agent.json").unwrap_err();
            assert!(reason.contains(expected) && reason.len() < 300, "{reason}");
        }
        let fits = parts("d", DEPTH - 1) + "/agent.json";
        let file = archive(|tree| tree.append_data(&mut header(), &fits, &b""[..]).unwrap());
        assert!(check(file, &fits).is_ok());
    }

    #[test]
    fn to_follow_links_has_a_bound() {
        let deep = "a/".repeat(1000);
        let header = |kind| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_size(0);
            header
        };
        // Each leads through the next one, and then down.
        let crossing = archive(|tree| {
            add(tree, "agent.json", EntryType::Regular, "");
            for index in 0..300 {
                let target = format!("link-{}/../{deep}", index + 1);
                tree.append_link(&mut header(EntryType::Symlink), format!("link-{index}"), target).unwrap();
            }
        });
        let long = archive(|tree| {
            add(tree, "agent.json", EntryType::Regular, "");
            add(tree, "link", EntryType::Symlink, "agent.json");
            let long = format!("{}/", "n".repeat(14)).repeat(DEPTH - 1);
            for index in 0..6000 {
                let path = format!("{long}{index}");
                tree.append_data(&mut header(EntryType::Regular), path, &b""[..]).unwrap();
            }
        });
        for (what, file) in [("crossing", crossing), ("long", long)] {
            let reason = check(file, "agent.json").unwrap_err();
            assert!(reason.contains("takes too long to follow"), "{what}: {reason}");
        }
    }

    /// A record and its bytes, before a file.
    fn record(kind: EntryType, bytes: &[u8]) -> File {
        archive(|tree| {
            let mut header = tar::Header::new_gnu();
            header.set_path("././@LongLink").unwrap();
            header.set_entry_type(kind);
            header.set_size(bytes.len() as u64);
            header.set_cksum();
            tree.append(&header, bytes).unwrap();
            add(tree, "agent.json", EntryType::Regular, "");
        })
    }

    #[test]
    fn names_that_a_header_has_no_room_for() {
        use EntryType::{GNULongLink, GNULongName, XGlobalHeader, XHeader};
        let long = format!("{}agent.json", "long/".repeat(100));
        let pax = |pair: &str| format!("{} {pair}\n", pair.len() + 5);
        for (kind, bytes, config) in [
            (GNULongName, format!("{long}\0"), &*long),
            (XHeader, pax(&format!("path={long}")), &long),
            (XHeader, pax(&format!("comment={}\n5 x", "x".repeat(100))), "agent.json"),
            (XGlobalHeader, pax(&format!("comment={}", "x".repeat(100))), "agent.json"),
        ] {
            assert_eq!(check(record(kind, bytes.as_bytes()), config), Ok(Contents { files: 1, bytes: 2 }));
        }
        let out = format!("path={}x", "../".repeat(100));
        for (kind, bytes, expected) in [
            (GNULongName, out["path=".len()..].to_owned(), "leaves the root"),
            (XHeader, pax(&out), "leaves the root"),
            (XHeader, pax(&out).repeat(2), "another name"),
            (XHeader, format!("10 size=0\n{}", pax(&out)), "not taken, `size`"),
            (XGlobalHeader, pax(&out), "not taken, `path`"),
            (XHeader, "99 path=x\n".to_owned(), "is broken"),
            (GNULongName, "x".repeat((64 << 10) + 1), "more than 64 KiB"),
            (GNULongLink, "x".repeat((64 << 10) + 1), "more than 64 KiB"),
            (XHeader, pax(&format!("comment={}", "x".repeat(64 << 10))), "more than 64 KiB"),
            (XGlobalHeader, "x".repeat((64 << 10) + 1), "more than 64 KiB"),
        ] {
            let reason = check(record(kind, bytes.as_bytes()), "agent.json").unwrap_err();
            assert!(reason.contains(expected), "{expected}: {reason}");
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
