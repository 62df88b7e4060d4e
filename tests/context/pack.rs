//! The compressed archive of a context.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use agentcli::context::{Error, Packed};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::tree::{archive, context, make, tree};

const ROOM: u64 = 1 << 30;

fn pack(root: &Path, limit: u64) -> Result<Packed, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(context(root, "").list()?.pack(limit))
}

fn bytes(packed: &Packed) -> Vec<u8> {
    let (mut all, mut start) = (Vec::new(), [0; 8]);
    // Readers do not disturb each other.
    let mut reader = packed.reader();
    reader.read_exact(&mut start).unwrap();
    packed.reader().read_to_end(&mut all).unwrap();
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).unwrap();
    assert!(all[..8] == start && all[8..] == rest);
    assert_eq!(all.len() as u64, packed.bytes());
    all
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

#[test]
fn it_is_the_archive_that_an_engine_gets() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("big"), (0..400_000).flat_map(|n: u32| n.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    fs::create_dir(dir.path().join("src")).unwrap();
    symlink("../big", dir.path().join("src/link")).unwrap();
    let packed = bytes(&pack(dir.path(), ROOM).unwrap());
    assert!(packed.len() > 300_000);
    assert!(unpacked(&packed) == archive(&context(dir.path(), "")));
    // Neither a name, nor a time, nor a system is in the header.
    assert_eq!(packed[..4], [0x1f, 0x8b, 8, 0]);
    assert_eq!((&packed[4..8], packed[9]), (&[0; 4][..], 255));
}

#[test]
fn what_is_too_large_is_an_error_that_says_why() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("models")).unwrap();
    let mut number = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 56) as u8
    })
    .take(3_000_000)
    .collect();
    fs::write(dir.path().join("models/big.bin"), noise).unwrap();
    let error = pack(dir.path(), 2 * 1_048_576).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the build context is too large: packed, it exceeds 2 MB; the largest paths are `models/big.bin` (3000 kB)"
    );
    assert!(error.hint().unwrap().contains(".dockerignore"));
    assert!(pack(dir.path(), 3 * 1_048_576).is_ok());
}

#[test]
fn links_that_lead_out_are_refused() {
    for (links, leads_out) in [
        (&[("link", "/etc/passwd")][..], true),
        (&[("link", "..")], true),
        (&[("a/link", "../..")], true),
        (&[("a/link", "../../x/../..")], true),
        // Each leads inside by its letters, and out by the other.
        (&[("a/b/up", "../.."), ("a/b/link", "up/../x")], true),
        (&[("a/b/up", "../.."), ("link", "a/b/up/..")], true),
        (&[("link", "."), ("a/link", ".."), ("a/b/link", "../../a/b")], false),
        (&[("link", "nowhere"), ("a/link", "../nowhere/..")], false),
        (&[("one", "two"), ("two", "one")], false),
    ] {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        for (path, target) in links {
            symlink(target, dir.path().join(path)).unwrap();
        }
        match pack(dir.path(), ROOM) {
            Ok(_) => assert!(!leads_out, "{links:?}"),
            Err(Error::Outside { .. }) => assert!(leads_out, "{links:?}"),
            Err(error) => panic!("{links:?}: {error}"),
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
        match (pack(one.path(), ROOM), pack(two.path(), ROOM)) {
            (Ok(one), Ok(two)) => prop_assert!(bytes(&one) == bytes(&two)),
            (Err(Error::Outside { .. }), Err(Error::Outside { .. })) => {}
            _ => prop_assert!(false),
        }
    }

    /// Nothing that is packed leads out of where it is unpacked: not an entry's name, not what a link resolves to.
    #[test]
    fn nothing_leads_out(tree in tree(), links in proptest::collection::vec(("[a-c](/[a-c]){0,2}", "(\\.\\./|[a-c]/|/){0,3}[a-c.]"), 0..6)) {
        let (from, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        make(from.path(), &tree);
        for link in from.path().read_dir().unwrap().map(Result::unwrap).filter(|it| it.path().is_symlink()) {
            fs::remove_file(link.path()).unwrap();
        }
        for (path, target) in links {
            let path = from.path().join(path);
            let parent = path.parent().unwrap();
            if fs::create_dir_all(parent).is_ok() && parent.canonicalize().unwrap().starts_with(from.path()) {
                symlink(target, path).ok();
            }
        }
        let Ok(packed) = pack(from.path(), ROOM) else { return Ok(()) };
        let inner = to.path().join("inner");
        fs::create_dir(&inner).unwrap();
        tar::Archive::new(&unpacked(&bytes(&packed))[..]).unpack(&inner).unwrap();
        for entry in context(from.path(), "").list().unwrap().entries() {
            if let Ok(real) = inner.join(&entry.path).canonicalize() {
                prop_assert!(real.starts_with(inner.canonicalize().unwrap()), "{}", entry.path.display());
            }
        }
    }
}
