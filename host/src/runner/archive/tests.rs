use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::{Command, Stdio};

use EntryType::{
    Char, Directory, GNULongLink, GNULongName, GNUSparse, Link, Regular, Symlink, XGlobalHeader, XHeader,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::*;

type Builder = tar::Builder<Vec<u8>>;

/// A tar with the configuration and other entries.
fn tar(fill: impl FnOnce(&mut Builder)) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    add(&mut builder, b"agent.json", Regular, b"");
    fill(&mut builder);
    builder.into_inner().unwrap()
}

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(tar).unwrap();
    packer.finish().unwrap()
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Adds an entry with two bytes, or a link. Not by `set_path`, which refuses what is tried out here.
fn add(builder: &mut Builder, path: &[u8], kind: EntryType, target: &[u8]) {
    add_with(builder, path, kind, target, 0o644);
}

fn add_with(builder: &mut Builder, path: &[u8], kind: EntryType, target: &[u8], mode: u32) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target);
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(if kind == Regular { 2 } else { 0 });
    header.set_cksum();
    builder.append(&header, if kind == Regular { &b"{}"[..] } else { b"" }).unwrap();
}

/// Adds a record about the next entry.
fn record(builder: &mut Builder, kind: EntryType, bytes: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

/// A line of a PAX record.
fn pax(pair: &[u8]) -> Vec<u8> {
    let length = |digits: usize| pair.len() + digits + 2;
    let digits = (1..9).find(|digits| length(*digits).to_string().len() == *digits).unwrap();
    [length(digits).to_string().as_bytes(), b" ", pair, b"\n"].concat()
}

/// A comment that holds a line of a PAX record, which a reader finds that splits at each newline.
fn hidden(pair: &[u8]) -> Vec<u8> {
    pax(&[b"comment=x\n", &*pax(pair)].concat())
}

/// Unpacks a tar in a directory of its own; the result, and the tree with `root` beside `outside`.
fn unpacked(tar: &[u8]) -> (Result<Contents, String>, TempDir) {
    let tree = tempfile::tempdir().unwrap();
    let (root, outside) = (tree.path().join("root"), tree.path().join("outside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "of others").unwrap();
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o700)).unwrap();
    (unpack(&file(&packed(tar)), "agent.json", &root), tree)
}

/// Fails unless nothing beside the root was changed.
fn assert_untouched(tree: &TempDir, what: &str) {
    let outside = tree.path().join("outside");
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o7777, 0o700, "{what}");
    let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["file"], "{what}");
    let file = outside.join("file");
    assert_eq!(
        (fs::read_to_string(&file).unwrap().as_str(), fs::metadata(&file).unwrap().nlink()),
        ("of others", 1)
    );
    assert_eq!(fs::read_dir(tree.path()).unwrap().count(), 2, "{what}");
}

#[test]
fn a_tree_with_its_configuration() {
    let (contents, tree) = unpacked(&tar(|tar| {
        add_with(tar, b"./app/", Directory, b"", 0);
        add_with(tar, b"app/./run", Regular, b"", 0o4755);
        add(tar, b"app/link", Symlink, b"../other/./file");
        add(tar, b"made//by/its/name", Regular, b"");
        add(tar, b"app/hard", Link, b"made/by/its/name");
        add_with(tar, b"app", Directory, b"", 0o511);
        add(tar, b"caf\xe9", Regular, b"");
        // Without a mode.
        with_header(tar, 100, &[0; 8]);
    }));
    assert_eq!(contents, Ok(Contents { files: 7, bytes: 12 }));
    let root = tree.path().join("root");
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("app"), mode("app/run"), mode("made")], [0o711, 0o755, 0o755]);
    assert_eq!(fs::read_link(root.join("app/link")).unwrap(), Path::new("../other/./file"));
    assert_eq!(fs::metadata(root.join("app/hard")).unwrap().nlink(), 2);
}

/// What an attacker writes, and what of the reason is expected.
type Row = (&'static str, fn(&mut Builder), &'static str);

const NOT_A_DIRECTORY: &str = "not a directory";

/// Ways out of the root. Programs that unpack follow links that are there, and some read names where others do not.
const WAYS_OUT: &[Row] = &[
    ("a path above", |it| add(it, b"../outside/x", Regular, b""), "leaves the root"),
    ("an absolute path", |it| add(it, b"/outside/x", Regular, b""), "leaves the root"),
    ("a path that goes up later", |it| add(it, b"a/../../outside/x", Regular, b""), "leaves the root"),
    ("a path that stays below", |it| add(it, b"a/../x", Regular, b""), "leaves the root"),
    ("a hard link above", |it| add(it, b"x", Link, b"../outside/file"), "`x` is a link, and"),
    ("an absolute hard link", |it| add(it, b"x", Link, b"/etc/passwd"), "`x` is a link, and"),
    ("a directory above", |it| add_with(it, b"../outside/", Directory, b"", 0o777), "leaves the root"),
    ("the root as a link", |it| add(it, b"./", Symlink, b"../outside"), "name of a directory"),
    ("the root as a file", |it| add(it, b".", Regular, b""), "name of a directory"),
    (
        "a link, and a directory in it",
        |it| {
            add(it, b"evil", Symlink, b"../outside");
            add_with(it, b"evil/made/", Directory, b"", 0o777);
        },
        NOT_A_DIRECTORY,
    ),
    (
        "a link, and a directory of its name",
        |it| {
            add(it, b"evil", Symlink, b"../outside");
            add_with(it, b"evil/", Directory, b"", 0o777);
        },
        NOT_A_DIRECTORY,
    ),
    (
        "a link to a link, and a file in it",
        |it| {
            add(it, b"a/up", Symlink, b"../..");
            add(it, b"evil", Symlink, b"a/up/outside");
            add(it, b"evil/x", Regular, b"");
        },
        NOT_A_DIRECTORY,
    ),
    (
        "a hard link to a link, and a file in it",
        |it| {
            add(it, b"a", Symlink, b"../outside");
            add(it, b"b", Link, b"a");
            add(it, b"b/x", Regular, b"");
        },
        "which is not a file",
    ),
    (
        "a hard link through a link",
        |it| {
            add(it, b"a", Symlink, b"../outside");
            add(it, b"b", Link, b"a/file");
        },
        NOT_A_DIRECTORY,
    ),
    (
        "a file over a link",
        |it| {
            add(it, b"evil", Symlink, b"../outside/file");
            add(it, b"evil", Regular, b"");
        },
        "file exists",
    ),
    (
        "a link over a directory, and a file in it",
        |it| {
            add(it, b"a/", Directory, b"");
            add(it, b"a", Symlink, b"../outside");
            add(it, b"a/x", Regular, b"");
        },
        "file exists",
    ),
    (
        "a hard link to the directory",
        |it| {
            add(it, b"a/", Directory, b"");
            add(it, b"b", Link, b"a");
        },
        "which is not a file",
    ),
    (
        "the name of a link in another form",
        |it| {
            add(it, b"evil", Symlink, b"../outside");
            add(it, b".//evil/./x", Regular, b"");
        },
        NOT_A_DIRECTORY,
    ),
    (
        "a long name of GNU",
        |it| {
            record(it, GNULongName, &[&b"../outside/".repeat(30)[..], b"x\0"].concat());
            add(it, b"x", Regular, b"");
        },
        "leaves the root",
    ),
    (
        "a long target of GNU",
        |it| {
            record(it, GNULongLink, b"../outside/file\0");
            add(it, b"x", Link, b"agent.json");
        },
        "`x` is a link, and",
    ),
    (
        "a PAX path",
        |it| {
            record(it, XHeader, &pax(b"path=../outside/x"));
            add(it, b"x", Regular, b"");
        },
        "leaves the root",
    ),
    (
        "a PAX target of a hard link",
        |it| {
            record(it, XHeader, &pax(b"linkpath=../outside/file"));
            add(it, b"x", Link, b"agent.json");
        },
        "`x` is a link, and",
    ),
    (
        "a global PAX path",
        |it| {
            record(it, XGlobalHeader, &pax(b"path=../outside/x"));
            add(it, b"x", Regular, b"");
        },
        "not taken, `path`",
    ),
    (
        "a path of POSIX in two parts",
        |it| {
            let mut header = Header::new_ustar();
            header.as_old_mut().name[..4].copy_from_slice(b"file");
            header.as_ustar_mut().unwrap().prefix[..10].copy_from_slice(b"../outside");
            header.set_mode(0o644);
            header.set_size(0);
            header.set_cksum();
            it.append(&header, &b""[..]).unwrap();
        },
        "leaves the root",
    ),
];

/// Archives that programs read differently.
const AMBIGUOUS: &[Row] = &[
    (
        "two names",
        |it| {
            record(it, XHeader, &pax(b"path=a").repeat(2));
            add(it, b"x", Regular, b"");
        },
        "another name",
    ),
    (
        "a name of GNU and one of PAX",
        |it| {
            record(it, GNULongName, b"a\0");
            record(it, XHeader, &pax(b"path=b"));
            add(it, b"x", Regular, b"");
        },
        "another name",
    ),
    (
        "a size of PAX",
        |it| {
            record(it, XHeader, &pax(b"size=0"));
            add(it, b"x", Regular, b"");
        },
        "not taken, `size`",
    ),
    (
        "a sparse file of PAX",
        |it| {
            record(it, XHeader, &[pax(b"GNU.sparse.major=1"), pax(b"GNU.sparse.name=../outside/x")].concat());
            add(it, b"x", Regular, b"");
        },
        "not taken, `GNU.sparse.major`",
    ),
    ("a sparse file of GNU", |it| add(it, b"x", GNUSparse, b""), "neither a file"),
    ("a device", |it| add(it, b"x", Char, b""), "neither a file"),
    (
        "a length with a sign",
        |it| {
            record(it, XHeader, b"+10 path=x\n");
            add(it, b"x", Regular, b"");
        },
        "is broken",
    ),
    (
        "a length beyond the record",
        |it| {
            record(it, XHeader, b"99 path=x\n");
            add(it, b"x", Regular, b"");
        },
        "is broken",
    ),
    (
        "a zero byte in a key of PAX",
        |it| {
            record(it, XHeader, &[pax(b"p\0th=a"), pax(b"path=a")].concat());
            add(it, b"x", Regular, b"");
        },
        "is broken",
    ),
    (
        "a zero byte in a name of PAX",
        |it| {
            record(it, XHeader, &pax(b"path=a\0/../x"));
            add(it, b"x", Regular, b"");
        },
        "zero byte",
    ),
    (
        "a zero byte in a name of GNU",
        |it| {
            record(it, GNULongName, b"a\0/../x\0");
            add(it, b"x", Regular, b"");
        },
        "zero byte",
    ),
    (
        "a long name of GNU without an end",
        |it| {
            record(it, GNULongName, b"ab");
            add(it, b"x", Regular, b"");
        },
        "has no end",
    ),
    (
        "no name",
        |it| {
            record(it, XHeader, &pax(b"path="));
            add(it, b"x", Regular, b"");
        },
        "has no name",
    ),
    ("a file with the name of a directory", |it| add(it, b"x/", Regular, b""), "name of a directory"),
    (
        "a link with the name of a directory",
        |it| add(it, b"x/.", Symlink, b"agent.json"),
        "name of a directory",
    ),
    ("a file twice", |it| add(it, b"agent.json", Regular, b""), "file exists"),
    ("a record at the end", |it| record(it, XHeader, &pax(b"path=x")), "that it does not have"),
    (
        "a directory with contents",
        |it| {
            let mut header = Header::new_gnu();
            header.set_path("x").unwrap();
            header.set_entry_type(Directory);
            header.set_mode(0o755);
            header.set_size(2);
            header.set_cksum();
            it.append(&header, &b"{}"[..]).unwrap();
        },
        "has contents",
    ),
    ("a size with a sign", |it| with_header(it, 124, b"+0000000002\0"), "unusual form"),
    ("a size with other letters", |it| with_header(it, 124, b"00000000029\0"), "not a number"),
    ("a size with a tab", |it| with_header(it, 124, b"\t0000000002\0"), "unusual form"),
    (
        "a binary size beyond 8 bytes",
        |it| with_header(it, 124, b"\x80\x01\0\0\0\0\0\0\0\0\0\x02"),
        "unusual form",
    ),
    (
        "a negative size",
        |it| with_header(it, 124, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        "tar.gz",
    ),
    ("another version of the format", |it| with_header(it, 257, b"ustar\x0001"), "unusual form"),
    ("another format", |it| with_header(it, 257, b"tar\0\0\0\0\0"), "unusual form"),
];

/// Adds a file with other bytes at a place in its header.
fn with_header(builder: &mut Builder, at: usize, bytes: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_path("x").unwrap();
    header.set_mode(0o644);
    header.set_size(2);
    header.as_mut_bytes()[at..at + bytes.len()].copy_from_slice(bytes);
    header.set_cksum();
    builder.append(&header, &b"{}"[..]).unwrap();
}

#[test]
fn nothing_is_written_outside_of_the_root() {
    for (what, fill, expected) in WAYS_OUT.iter().chain(AMBIGUOUS) {
        let (result, tree) = unpacked(&tar(fill));
        let reason = result.expect_err(what);
        assert!(reason.contains(expected), "{what}: {reason}");
        assert!(!reason.contains(tree.path().to_str().unwrap()), "{what}: {reason}");
        assert_untouched(&tree, what);
    }
}

/// Names that only another reader finds: they do not count.
#[test]
fn a_comment_with_a_newline_is_a_comment() {
    let target = |name: &[u8]| [b"linkpath=../outside".as_slice(), name].concat();
    let (contents, tree) = unpacked(&tar(|it| {
        record(it, XHeader, &hidden(&target(b"")));
        add(it, b"evil", Symlink, b"agent.json");
        record(it, XHeader, &hidden(b"path=evil/"));
        add_with(it, b"harmless/", Directory, b"", 0o777);
        record(it, XHeader, &hidden(b"path=evil/made/by/tenant/"));
        add_with(it, b"harmless/", Directory, b"", 0o777);
        record(it, XHeader, &[b"10 x\n".repeat(0), hidden(&target(b"/file")), hidden(b"size=9")].concat());
        add(it, b"hard", Link, b"agent.json");
        record(it, XGlobalHeader, &hidden(b"path=evil/x"));
        add(it, b"file", Regular, b"");
    }));
    assert_eq!(contents.map(|contents| contents.files), Ok(4));
    let root = tree.path().join("root");
    assert_eq!(fs::read_link(root.join("evil")).unwrap(), Path::new("agent.json"));
    assert!(root.join("harmless").is_dir() && root.join("file").is_file());
    assert_untouched(&tree, "hidden names");
}

/// The archive that ended the service: links that make deeper trees than any path of it.
#[test]
fn links_make_no_deeper_trees() {
    let deep = b"a/".repeat(60);
    let (result, tree) = unpacked(&tar(|it| {
        record(it, XHeader, &pax(&[b"path=", &*deep].concat()));
        add(it, b"d/", Directory, b"");
        record(it, XHeader, &pax(&[b"linkpath=", &*deep].concat()));
        add(it, b"l", Symlink, b"x");
        record(it, XHeader, &pax(&[b"path=l/", &*deep].concat()));
        add(it, b"d/", Directory, b"");
    }));
    let reason = result.unwrap_err();
    assert!(reason.ends_with(NOT_A_DIRECTORY), "{reason}");
    assert_untouched(&tree, "deep");
}

/// Limits that few entries reach.
const FEW: Limits = Limits { bytes: 2 << 20, entries: 2000 };

#[test]
fn bounds_hold_for_what_is_written() {
    let parts = |name: &str, count: usize| vec![name; count].join("/");
    let long = |it: &mut Builder, name: String| {
        record(it, XHeader, &pax(format!("path={name}").as_bytes()));
        add(it, b"x", Regular, b"");
    };
    let one = |name: String| tar(|it| long(it, name));
    for (tar, expected) in [
        (one(parts("d", DEPTH + 1)), "is below more than 128 directories"),
        (one(parts(&"n".repeat(200), 11)), "has more than 2048 bytes"),
        (one("n".repeat(NAME + 1)), "has more than 255 bytes"),
        (
            tar(|it| {
                for index in 0..=LINKS / (LINK + 20) {
                    add(it, format!("link-{index:05}").as_bytes(), Symlink, b"agent.json");
                }
            }),
            "too many links",
        ),
        // Few entries that need many directories.
        (
            tar(|it| {
                for index in 0..=FEW.entries / DEPTH as u64 {
                    long(it, format!("{index}/{}", parts("d", DEPTH - 1)));
                }
            }),
            "the archive has more than 2000 entries",
        ),
        // A file with many names is packed once for each of them.
        (
            tar(|it| {
                let mut header = Header::new_gnu();
                header.set_path("large").unwrap();
                header.set_mode(0o644);
                header.set_size(64 << 10);
                header.set_cksum();
                it.append(&header, io::repeat(0).take(64 << 10)).unwrap();
                for index in 0..64 {
                    add(it, format!("{index}").as_bytes(), Link, b"large");
                }
            }),
            "unpacks to more than 2 MiB",
        ),
        (tar(|it| record(it, GNULongName, &[b'x'; (64 << 10) + 1])), "more than 64 KiB"),
        (tar(|it| record(it, XGlobalHeader, &pax(&[b'='; 64 << 10]))), "more than 64 KiB"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let limits = if expected.contains("links") { LIMITS } else { FEW };
        let reason = unpack_within(limits, &file(&packed(&tar)), "agent.json", root.path()).unwrap_err();
        assert!(reason.contains(expected) && reason.len() < 300, "{expected}: {reason}");
    }
    assert!(unpacked(&one(parts("d", DEPTH))).0.is_ok());
}

#[test]
fn what_is_no_archive() {
    let root = || tempfile::tempdir().unwrap();
    let whole = packed(&tar(|_| ()));
    let more = |bytes: &[u8]| [&*whole, bytes].concat();
    let tar = tar(|_| ());
    let after = packed(&[&*tar, b"x"].concat());
    let foreign = unpack(&file(&whole), "app/agent.json", root().path()).unwrap_err();
    assert!(foreign.contains("does not hold the configuration, `app/agent.json`"), "{foreign}");
    for (bytes, expected) in [
        (b"not an archive".to_vec(), "tar.gz"),
        (whole[..whole.len() - 9].to_vec(), "tar.gz"),
        (more(b"more"), "tar.gz"),
        (after, "goes on after its end"),
        // A second archive in the archive, and one behind it.
        (packed(&[&*tar, &*tar].concat()), "goes on after its end"),
        (more(&whole), "goes on after its end"),
        (packed(&[]), "does not hold the configuration"),
    ] {
        let reason = unpack(&file(&bytes), "agent.json", root().path()).unwrap_err();
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
    // In two parts, as some programs pack in parallel.
    let halves = [packed(&tar[..700]), packed(&tar[700..])].concat();
    assert!(unpack(&file(&halves), "agent.json", root().path()).is_ok());
}

/// What is in a tree: what kind each is, and what it holds.
fn listing(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let text = if kind.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                waiting.push(path.clone());
                "directory".to_owned()
            } else {
                format!("file of {} names: {:?}", kind.nlink(), fs::read(&path).unwrap())
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), text);
        }
    }
    found
}

/// Every archive that is accepted is the same tree for GNU tar. AGENTCLI_TEST_MUTATIONS is the number of mutated ones.
#[test]
fn accepted_archives_are_the_same_for_gnu_tar() {
    let version = Command::new("tar").arg("--version").output().map(|it| it.stdout).unwrap_or_default();
    assert!(version.starts_with(b"tar (GNU tar)"), "GNU tar is needed");
    let is_long = std::env::var_os("AGENTCLI_TEST_LONG").is_some();
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("AGENTCLI_TEST_MUTATIONS").unwrap_or(if is_long { 4000 } else { 400 });
    let mut random = fastrand::Rng::with_seed(number("PROPTEST_RNG_SEED").unwrap_or(61));
    let rows = WAYS_OUT.iter().chain(AMBIGUOUS);
    let mut seeds: Vec<Vec<u8>> = rows.map(|(_, fill, _)| tar(fill)).collect();
    seeds.push(tar(|it| {
        record(it, XHeader, &[pax(b"path=long"), pax(b"mtime=1.5"), hidden(b"path=b")].concat());
        add(it, b"x", Regular, b"");
        record(it, GNULongLink, b"long\0");
        add(it, b"hard", Link, b"x");
        add(it, b"link", Symlink, b"long");
        add(it, b"d/e/", Directory, b"");
    }));
    let mut accepted = 0;
    for at in 0..count {
        // The last one is accepted as it is.
        let seed = if random.bool() { seeds.len() - 1 } else { random.usize(..seeds.len()) };
        let mut tar = seeds[seed].clone();
        mutate(&mut tar, &mut random);
        let (ours, tree) = unpacked(&tar);
        assert_untouched(&tree, &format!("{at}"));
        if ours.is_err() {
            continue;
        }
        accepted += 1;
        let theirs = tempfile::tempdir().unwrap();
        let mut child = Command::new("tar")
            .args(["-xf", "-", "-C"])
            .arg(theirs.path())
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // It may end before it has read the zeros after the end.
        child.stdin.take().unwrap().write_all(&tar).ok();
        child.wait().unwrap();
        let (ours, theirs) = (listing(&tree.path().join("root")), listing(theirs.path()));
        if ours != theirs {
            let kept = std::env::temp_dir().join("agentcli-differing.tar");
            fs::write(&kept, &tar).unwrap();
            panic!("{at}, kept as {}: {ours:#?} is not {theirs:#?}", kept.display());
        }
    }
    assert!(accepted > count / 20, "{accepted} of {count}");
}

/// Changes some bytes, mostly in headers and records, whose checksums are made right again.
fn mutate(tar: &mut Vec<u8>, random: &mut fastrand::Rng) {
    const LETTERS: &[u8] = b"\0 \n/.=+-019x\x80\xff\t\\uLKgxS57";
    for _ in 0..random.usize(..4) {
        let block = random.usize(..tar.len() / 512) * 512;
        match random.u8(..8) {
            // A field of a header.
            0..=4 => {
                let (start, length) = random
                    .choice([(0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155)])
                    .unwrap();
                let at = block + start + random.usize(..length.min(16));
                tar[at] = LETTERS[random.usize(..LETTERS.len())];
            }
            5 => tar[block + random.usize(..32)] = random.u8(..),
            // Blocks are left out, repeated or exchanged.
            6 if tar.len() > 1024 => drop(tar.drain(block..block + 512)),
            _ => {
                let copy = tar[block..block + 512].to_vec();
                let to = random.usize(..tar.len() / 512) * 512;
                tar.splice(to..to, copy);
            }
        }
    }
    if random.u8(..10) == 0 {
        return;
    }
    for block in tar.chunks_exact_mut(512).filter(|block| block.iter().any(|byte| *byte != 0)) {
        let is_header = matches!(block[156], b'0'..=b'7' | b'L' | b'K' | b'x' | b'g' | b'S' | 0)
            && block[148..156] != [0; 8];
        if is_header {
            let mut header = Header::new_old();
            header.as_mut_bytes().copy_from_slice(block);
            header.set_cksum();
            block.copy_from_slice(header.as_bytes());
        }
    }
}
