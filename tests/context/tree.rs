//! The archive against the tree it was made from.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use agentcli::compiler::manifests::dockerignore::Ignore;
use agentcli::context::{Context, Error};
use proptest::prelude::*;
use tempfile::TempDir;

pub(super) fn context(root: &Path, ignore: &str) -> Context {
    Context {
        root: root.to_owned(),
        ignore: Ignore::parse(ignore).unwrap(),
        extra: Vec::new(),
        configurations: Vec::new(),
    }
}

pub(super) fn archive(context: &Context) -> Vec<u8> {
    let mut bytes = Vec::new();
    context.list().unwrap().write(&mut bytes).unwrap();
    bytes
}

fn names(context: &Context) -> Vec<String> {
    let listing = context.list().unwrap();
    listing.entries().iter().map(|entry| entry.path.to_string_lossy().into_owned()).collect()
}

/// Path to kind, mode, link target and contents.
pub(super) fn unpacked(archive: &[u8]) -> BTreeMap<PathBuf, (tar::EntryType, u32, Option<PathBuf>, Vec<u8>)> {
    let mut entries = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut contents = Vec::new();
        entry.read_to_end(&mut contents).unwrap();
        let header = entry.header();
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        assert_eq!((header.username(), header.groupname()), (Ok(Some("")), Ok(Some(""))));
        assert_eq!(header.mtime().unwrap(), 315_619_200);
        let value = (
            header.entry_type(),
            header.mode().unwrap(),
            entry.link_name().unwrap().map(|target| target.into_owned()),
            contents,
        );
        assert!(entries.insert(entry.path().unwrap().into_owned(), value).is_none());
    }
    entries
}

#[test]
fn everything_a_tree_can_hold() {
    let dir = TempDir::new().unwrap();
    let root = dir.path();
    let odd = OsStr::from_bytes(b"odd \xff\nname");
    let long = "n".repeat(200);
    fs::create_dir_all(root.join("deep").join(&long)).unwrap();
    fs::write(root.join("deep").join(&long).join("file"), "long").unwrap();
    fs::write(root.join(odd), "odd").unwrap();
    fs::write(root.join("empty"), "").unwrap();
    fs::set_permissions(root.join("empty"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(root.join("deep"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(root.join("run.sh"), "#!/bin/sh").unwrap();
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::hard_link(root.join("run.sh"), root.join("same.sh")).unwrap();
    symlink("/etc/passwd", root.join("outside")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("deep", root.join("directory")).unwrap();
    symlink(Path::new("x").join("t".repeat(150)), root.join("far")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();

    let found = unpacked(&archive(&context(root, "")));
    let is = |path: &Path, kind, contents: &[u8]| {
        let entry = &found[path];
        assert_eq!((entry.0, &entry.3[..]), (kind, contents), "{}", path.display());
    };
    is(Path::new(odd), tar::EntryType::Regular, b"odd");
    is(Path::new("empty"), tar::EntryType::Regular, b"");
    is(&Path::new("deep").join(&long), tar::EntryType::Directory, b"");
    is(&Path::new("deep").join(&long).join("file"), tar::EntryType::Regular, b"long");
    is(Path::new("same.sh"), tar::EntryType::Regular, b"#!/bin/sh");
    for (path, mode) in [("empty", 0o644), ("run.sh", 0o755), ("deep", 0o755), ("outside", 0o777)] {
        assert_eq!(found[Path::new(path)].1, mode, "{path}");
    }
    assert_eq!(found[Path::new("outside")].2, Some(PathBuf::from("/etc/passwd")));
    assert_eq!(found[Path::new("dangling")].2, Some(PathBuf::from("nowhere")));
    assert_eq!(found[Path::new("directory")].2, Some(PathBuf::from("deep")));
    assert_eq!(found[Path::new("far")].2, Some(Path::new("x").join("t".repeat(150))));
    assert!(!found.contains_key(Path::new("socket")));
    assert_eq!(found.len(), 11);
}

#[test]
fn a_directory_comes_back_with_what_is_in_it() {
    let dir = TempDir::new().unwrap();
    for path in ["a/keep/x", "a/drop/x", "b/x", "a-b"] {
        fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        fs::write(dir.path().join(path), "").unwrap();
    }
    assert_eq!(names(&context(dir.path(), "a\nb\n!a/keep")), ["a", "a-b", "a/keep", "a/keep/x"]);
}

#[test]
fn an_extra_file_wins() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("Dockerfile"), "of the disk").unwrap();
    fs::write(dir.path().join("a"), "").unwrap();
    let mut context = context(dir.path(), "*\n!a");
    context.extra.push(("Dockerfile".to_owned(), b"FROM scratch".to_vec()));
    let found = unpacked(&archive(&context));
    assert_eq!(found[Path::new("Dockerfile")].3, b"FROM scratch");
    assert_eq!(found.len(), 2);
    assert_eq!(context.list().unwrap().bytes(), 12);
}

#[test]
fn the_largest_paths_are_named() {
    let dir = TempDir::new().unwrap();
    for (path, bytes) in
        [("data/models/big.bin", 900), ("data/x", 10), ("src/a", 40), ("src/b", 50), ("c", 1)]
    {
        fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
        fs::write(dir.path().join(path), vec![0; bytes]).unwrap();
    }
    let listing = context(dir.path(), "").list().unwrap();
    let largest: Vec<_> =
        listing.largest(2).into_iter().map(|(path, bytes)| (path.display().to_string(), bytes)).collect();
    assert_eq!(largest, [("data/models/big.bin".to_owned(), 900), ("src".to_owned(), 90)]);
    assert_eq!((listing.files(), listing.bytes()), (5, 1001));
}

#[test]
fn a_file_that_changes_is_an_error_that_names_it() {
    for after in [0, 20] {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("log");
        fs::write(&file, vec![0; 300_000]).unwrap();
        let listing = context(dir.path(), "").list().unwrap();
        let mut out = Changing { file: file.clone(), length: 300_000 * after / 10, done: false };
        let error = listing.write(&mut out).unwrap_err();
        assert!(matches!(&error, Error::Changed { path } if *path == file), "{error}");
        assert!(error.hint().unwrap().contains(".dockerignore"));
    }
}

/// Takes an archive, and changes a file in the midst of it.
struct Changing {
    file: PathBuf,
    length: u64,
    done: bool,
}

impl std::io::Write for Changing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.done, true) {
            fs::File::options().write(true).open(&self.file)?.set_len(self.length)?;
            // Opened before the change: the header's length is the old one only if this is the header.
            assert_eq!(bytes.len(), 512);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("gone"), "").unwrap();
    let listing = context(dir.path(), "").list().unwrap();
    fs::remove_file(dir.path().join("gone")).unwrap();
    let error = listing.write(std::io::sink()).unwrap_err();
    let path = dir.path().join("gone");
    assert_eq!(
        error.to_string(),
        format!("cannot read `{}` for the build context: it does not exist", path.display())
    );
}

#[test]
fn the_stream_is_the_archive() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("big"), vec![7; 3_000_000]).unwrap();
    let context = context(dir.path(), "");
    let mut stream = context.list().unwrap().stream();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let streamed = runtime.block_on(async {
        let mut all = Vec::new();
        while let Some(piece) = std::future::poll_fn(|task| stream.poll_next(task)).await {
            all.extend_from_slice(&piece.unwrap());
        }
        all
    });
    assert!(streamed == archive(&context));
}

#[test]
fn ten_thousand_files() {
    let dir = TempDir::new().unwrap();
    for n in 0..10_000 {
        let parent = dir.path().join(format!("package{}", n % 100));
        fs::create_dir_all(&parent).unwrap();
        fs::write(parent.join(format!("module{n}.py")), vec![b'#'; 4100]).unwrap();
    }
    let context = context(dir.path(), ".git\n**/__pycache__\n**/*.py[cod]\n.env*\n**/node_modules\n");
    let start = std::time::Instant::now();
    let listing = context.list().unwrap();
    let listed = start.elapsed();
    listing.write(std::io::sink()).unwrap();
    let written = start.elapsed();
    assert_eq!(listing.files(), 10_000);
    // The budget is 0.3 s in a release build; this one is neither, nor alone on the machine.
    assert!(written.as_secs() < 10, "{listed:?} to list, {written:?} in all");
}

/// A small tree: directories, files and links under a few names.
pub(super) fn tree() -> impl Strategy<Value = BTreeMap<String, u8>> {
    let part = prop_oneof!["[a-c]", "[a-c]-", "\\.[a-c]", "[ é]x"];
    let path = proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    proptest::collection::btree_map(path, any::<u8>(), 0..12)
}

/// Makes the tree in `root`; paths that would run through a file are left out. A number says what is made.
pub(super) fn make(root: &Path, tree: &BTreeMap<String, u8>) {
    for (path, what) in tree {
        let path = root.join(path);
        if path.parent().is_some_and(|parent| fs::create_dir_all(parent).is_ok()) && !path.exists() {
            match what % 4 {
                0 => _ = fs::create_dir(&path),
                1 => _ = symlink("../../..", &path),
                _ => _ = fs::write(&path, vec![*what; usize::from(*what)]),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn equal_trees_give_equal_bytes(tree in tree()) {
        let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        make(one.path(), &tree);
        make(two.path(), &tree);
        let first = archive(&context(one.path(), "**/c\n!a/c"));
        prop_assert!(first == archive(&context(two.path(), "**/c\n!a/c")));
    }

    #[test]
    fn unpacking_gives_the_tree_back(tree in tree()) {
        let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        make(from.path(), &tree);
        let first = archive(&context(from.path(), ""));
        for path in unpacked(&first).keys() {
            let inside = path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            prop_assert!(inside && !from.path().join(path.parent().unwrap()).is_symlink());
        }
        tar::Archive::new(&first[..]).unpack(to.path()).unwrap();
        prop_assert!(archive(&context(to.path(), "")) == first);
    }
}
