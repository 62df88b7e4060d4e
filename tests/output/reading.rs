//! The compiler reads every file and directory of a project at most once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use agentcli::compiler::back::lower::lower;
use agentcli::compiler::files::{Entry, FileKind, Files, Refusal};
use agentcli::compiler::tree::Tree;
use agentcli::compiler::{Options, analyze};
use agentcli::project::DiskFiles;

use super::goldens::{cases, config_of};
use crate::harness::{copy_changed, fixtures};

type Reads = Rc<RefCell<BTreeMap<String, usize>>>;

/// A project on disk that counts how often each file and directory is read.
struct Counted {
    files: DiskFiles,
    reads: Reads,
}

impl Counted {
    fn count(&self, what: &str, path: &str) {
        *self.reads.borrow_mut().entry(format!("{what} {path}")).or_default() += 1;
    }
}

impl Files for Counted {
    fn kind(&self, path: &str) -> Option<FileKind> {
        self.count("kind", path);
        self.files.kind(path)
    }

    fn bytes(&self, path: &str) -> Result<Vec<u8>, String> {
        self.count("content", path);
        self.files.bytes(path)
    }

    fn content(&self, path: &str) -> Option<Result<Vec<u8>, String>> {
        self.count("content", path);
        self.files.content(path).inspect(|_| self.count("opened", path))
    }

    fn refusal(&self, path: &str) -> Option<Refusal> {
        self.files.refusal(path)
    }

    fn refused(&self) -> Vec<(String, Refusal)> {
        self.files.refused()
    }

    fn entries(&self, path: &str) -> Option<Rc<[Entry]>> {
        self.count("entries", path);
        self.files.entries(path).inspect(|_| self.count("opened", path))
    }

    fn link(&self, path: &str) -> Option<(String, String)> {
        self.count("link", path);
        self.files.link(path)
    }

    fn head(&self, path: &str, limit: usize) -> Vec<u8> {
        self.files.head(path, limit)
    }

    fn settle(&self, extent: &dyn Fn() -> Vec<String>) -> bool {
        self.files.settle(extent)
    }

    fn directory(&self) -> Vec<String> {
        self.files.directory()
    }
}

/// Compiles the configuration `config`. Returns what was read, how often.
fn reads(config: &Path) -> Option<BTreeMap<String, usize>> {
    let text = fs::read_to_string(config).ok()?;
    let reads = Reads::default();
    let files = DiskFiles::new(config.parent().unwrap());
    let tree = Tree::new(Counted { files, reads: Rc::clone(&reads) });
    let analysis = analyze("agent.json", &text, &tree);
    if analysis.is_usable() {
        lower(&analysis.config, &tree, "agent.json", &Options::default());
    }
    Some(reads.take())
}

#[test]
fn compiling_reads_every_file_and_directory_at_most_once_and_nothing_in_directories_that_do_not_exist() {
    let invalid = fs::read_dir(fixtures("invalid")).unwrap().map(|entry| entry.unwrap().path());
    let mut total = 0;
    for case in cases().into_iter().chain(invalid) {
        let config = case.join(config_of(&case));
        let Some(reads) = reads(&config) else { continue };
        total += reads.len();
        let repeated: Vec<_> = reads.iter().filter(|(_, count)| **count > 1).collect();
        assert!(repeated.is_empty(), "{}: {repeated:#?}", case.display());
        let lies_in_nothing = |read: &&String| {
            let (what, path) = read.split_once(' ').unwrap();
            what != "link" && config.with_file_name(path).parent().is_some_and(|parent| !parent.exists())
        };
        let pointless: Vec<_> = reads.keys().filter(lies_in_nothing).collect();
        assert!(pointless.is_empty(), "{}: {pointless:#?}", case.display());
    }
    assert!(total > 500, "only {total} reads were counted");
}

#[test]
fn searching_for_the_boundary_of_a_project_without_a_repository_opens_nothing_twice() {
    let scratch = tempfile::tempdir().unwrap();
    let mut above = 0;
    for case in cases() {
        let copy = scratch.path().join(case.file_name().unwrap());
        copy_changed(&case, &copy, &|bytes| bytes);
        let Some(reads) = reads(&copy.join(config_of(&case))) else { continue };
        let opened = reads.iter().filter(|(read, _)| read.starts_with("opened "));
        let repeated: Vec<_> = opened.filter(|(_, count)| **count > 1).collect();
        assert!(repeated.is_empty(), "{}: {repeated:#?}", case.display());
        above += usize::from(reads.keys().any(|read| read.contains(" ../")));
    }
    assert!(above >= 20, "only {above} projects looked above their directory");
}
