//! The user's tree: what is seen of it, and how files are written to it.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};

use agentcli::compiler::files::{FileKind, Files, Refusal};
use agentcli::compiler::tree::Tree;
use agentcli::project::{Boundary, DiskFiles, write_atomically};

use crate::harness::TestEnv;

#[test]
fn the_disk_is_seen_as_the_compiler_wants_it() {
    let tree = TestEnv::empty().file("src/b.py", "x = 1\n").file("src/a/c.txt", "").file("bad", b"\xff");
    let files = DiskFiles::within(tree.path("src"), Boundary::Directory(&tree.path("")));
    assert_eq!(files.list("."), [("a".to_owned(), FileKind::Directory), ("b.py".to_owned(), FileKind::File)]);
    assert_eq!(files.kind("a"), Some(FileKind::Directory));
    assert_eq!(files.kind("../bad"), Some(FileKind::File));
    assert_eq!(files.kind("nothing"), None);
    assert_eq!(files.kind("nul\0l"), None);
    assert_eq!(files.read("b.py").unwrap(), "x = 1\n");
    assert_eq!(files.read("../bad").unwrap_err(), "it is not valid UTF-8");
    assert_eq!(files.read("nothing").unwrap_err(), "no such file or directory");
    assert_eq!(files.read("a").unwrap_err(), "it is a directory");
    assert!(files.list("nothing").is_empty());
    assert_eq!(files.directory().last().unwrap(), "src");
}

#[cfg(unix)]
#[test]
fn linked_files_are_listed_and_linked_directories_are_not() {
    let tree = TestEnv::empty().file("src/real/x", "").file("src/file", "");
    symlink("file", tree.path("src/to-file")).unwrap();
    symlink("..", tree.path("src/to-parent")).unwrap();
    symlink("nowhere", tree.path("src/to-nowhere")).unwrap();
    let files = DiskFiles::within(tree.path("src"), Boundary::Directory(&tree.path("")));
    let names: Vec<String> = files.list(".").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["file", "real", "to-file"]);
    assert_eq!(files.kind("to-parent"), Some(FileKind::Directory));
    assert_eq!(files.linked_directories("."), ["to-parent"]);
}

/// Entries of a directory that was read answer for the disk, but not where it refuses them.
#[cfg(unix)]
#[test]
fn the_tree_refuses_what_the_disk_refuses() {
    let place = TestEnv::empty().file("outside/x", "").file("project/src/a.py", "").file("project/b.py", "");
    symlink("../../outside", place.path("project/src/leads-out")).unwrap();
    symlink("../b.py", place.path("project/src/stays-in")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.path("project/src/socket")).unwrap();
    fs::File::create(place.path("project/src/large")).unwrap().set_len(9 << 20).unwrap();
    let project = place.path("project");
    let tree = Tree::new(DiskFiles::within(place.path("project/src"), Boundary::Directory(&project)));
    assert_eq!(tree.list(".").len(), 3, "the entries are read");
    for (path, refusal) in [
        ("a.py", None),
        (".", None),
        ("..", None),
        ("../b.py", None),
        ("../src/a.py", None),
        ("stays-in", None),
        ("absent", None),
        ("large", None),
        ("leads-out", Some(Refusal::Outside)),
        ("leads-out/x", Some(Refusal::Outside)),
        ("../../outside", Some(Refusal::Outside)),
        ("socket", Some(Refusal::Special)),
    ] {
        assert_eq!(tree.refusal(path), refusal, "{path}");
    }
    assert_eq!(tree.content("large"), None);
    for path in ["large", "../src/large"] {
        assert_eq!(tree.refusal(path), Some(Refusal::TooLarge(8 << 20)), "{path} was read");
    }
}

#[cfg(unix)]
#[test]
fn the_directory_is_the_real_one() {
    let tree = TestEnv::empty().file("deep/er/x", "");
    symlink("deep/er", tree.path("link")).unwrap();
    let parts = DiskFiles::new(tree.path("link")).directory();
    assert_eq!(parts[parts.len() - 2..], ["deep", "er"]);
}

#[test]
fn a_file_is_replaced_whole() {
    let tree = TestEnv::empty().file("old", "old");
    write_atomically(&tree.path("new"), b"new").unwrap();
    write_atomically(&tree.path("old"), b"new").unwrap();
    assert_eq!(fs::read(tree.path("new")).unwrap(), b"new");
    assert_eq!(fs::read(tree.path("old")).unwrap(), b"new");
    assert_eq!(fs::read_dir(tree.path("")).unwrap().count(), 2, "nothing else is left behind");
}

/// A process that was killed left its temporary file, and this one has its ID.
#[test]
fn the_temporary_file_of_another_process_is_in_no_ones_way() {
    let left = format!(".new.{}.tmp", std::process::id());
    let tree = TestEnv::empty().file(&left, "another's");
    write_atomically(&tree.path("new"), b"new").unwrap();
    write_atomically(&tree.path("directory/new"), b"new").unwrap_err();
    assert_eq!(fs::read(tree.path(&left)).unwrap(), b"another's");
    assert_eq!(fs::read(tree.path("new")).unwrap(), b"new");
    #[cfg(unix)]
    {
        fs::write(tree.path("usual"), "").unwrap();
        let mode = |path: &str| fs::metadata(tree.path(path)).unwrap().permissions().mode();
        assert_eq!(mode("new"), mode("usual"), "a new file has the permissions of any other");
    }
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode_and_the_links_to_it() {
    let tree = TestEnv::empty().file("a/script", "old");
    fs::set_permissions(tree.path("a/script"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("a/script", tree.path("link")).unwrap();
    symlink("a/absent", tree.path("dangling")).unwrap();
    write_atomically(&tree.path("link"), b"new").unwrap();
    write_atomically(&tree.path("dangling"), b"made").unwrap();
    assert_eq!(fs::read(tree.path("a/script")).unwrap(), b"new");
    assert_eq!(fs::metadata(tree.path("a/script")).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(fs::symlink_metadata(tree.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read(tree.path("a/absent")).unwrap(), b"made");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_that_leads_out_and_a_pipe_stays_one() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let tree = TestEnv::empty().file("outside", "old").file("project/x", "");
    symlink("../outside", tree.path("project/link")).unwrap();
    symlink("link", tree.path("project/chain")).unwrap();
    for path in ["project/link", "project/chain"] {
        let error = write_atomically(&tree.path(path), b"new").unwrap_err();
        assert!(error.to_string().ends_with("`: it is a symbolic link out of its directory"), "{error}");
    }
    assert_eq!(fs::read(tree.path("outside")).unwrap(), b"old");

    let pipe = tree.path("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(write_atomically(&pipe, b"lost").is_err(), "nobody reads it");
    let large = vec![7; 1 << 20];
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&pipe).unwrap());
        while write_atomically(&pipe, &large).is_err() {
            assert!(!reader.is_finished());
        }
        reader.join().unwrap()
    });
    assert_eq!(read, large);
    assert!(!fs::symlink_metadata(&pipe).unwrap().is_file());
}

#[test]
fn what_cannot_be_written_says_why() {
    let tree = TestEnv::empty().file("directory/x", "");
    let error = write_atomically(&tree.path("nowhere/x"), b"").unwrap_err();
    assert!(error.to_string().ends_with("/nowhere/x`: no such file or directory"), "{error}");
    assert_eq!(error.hint().unwrap(), "create the directory first");
    let error = write_atomically(&tree.path("directory"), b"").unwrap_err();
    assert!(error.to_string().ends_with("`: it is a directory"), "{error}");
}
