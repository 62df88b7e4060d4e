//! What is left out of a context, against the real client and the real engine: each of these ignore files stands in a
//! tree that BuildKit's own client sends, and what arrives must be what our archive holds.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentcli::compiler::manifests::dockerignore::Ignore;
use agentcli::context::Context;
use tempfile::TempDir;

use super::hosts;
use crate::harness::{mutations, seed};

const FILES: &[&str] = &[
    ".env",
    ".git/HEAD",
    ".git/objects/ab/cd",
    "#hash",
    "!bang",
    " space",
    "[a]",
    "a",
    "a-b",
    "a^b",
    "afile",
    "back\\slash",
    "build/lib/x.py",
    "build/x",
    "build2/x",
    "docs/README.md",
    "docs/a/b/c.md",
    "docs/a/b/d.txt",
    "docs/a/e.md",
    "dollar$(x)+{y}",
    "file",
    "foo/bar/baz",
    "foo/x",
    "node_modules/m/index.js",
    "pkg/node_modules/m/index.js",
    "src/app/__pycache__/a.pyc",
    "src/app/a.py",
    "src/app/a.pyc",
    "src/app/afile",
    "src/x7",
    "star*",
    "x7",
    "ÄÖ/ü.md",
];

const IGNORES: &[&str] = &[
    "",
    "*",
    "**",
    "**/",
    "**/**",
    "*/",
    ".",
    "/",
    "..",
    "../a",
    "/a",
    "//a",
    "./a/",
    "docs/../a",
    "# comment\n#hash\n",
    " #hash",
    "\\#hash",
    "\\!bang",
    "!bang",
    "/ space",
    "\\ space",
    "[[]a]",
    "\\[a\\]",
    "[a]",
    "[^a]",
    "[a-d]*",
    "a^b",
    "a^*",
    "^a*",
    "a?",
    "a*",
    ".*",
    "*.md",
    "**/*.md",
    "**file",
    "**/file",
    "f*/**/b?z",
    "foo/**",
    "foo/*",
    "build/**\n!build/lib",
    "build\n!build/lib/x.py",
    "docs\n!docs/a/b\ndocs/a/b/c.md",
    "docs/*\n!docs/README.md",
    "docs/**\n!docs/**/*.md",
    "foo/*\n!foo",
    "foo\n!foo\nfoo/bar",
    "*\n!src\nsrc/**/*.pyc\n**/__pycache__",
    "*\n!docs/a/b/*",
    "*\n!**/*.md\n**/node_modules",
    "**\n!src/app/a.py\n!/docs/",
    "**/node_modules\n!pkg/node_modules/m",
    "\u{feff}a\r\nfile\r\n",
    "\t a \t\n!  a\n",
    "dollar$(x)+{y}",
    "back\\\\slash",
    "star\\*",
    "?\\d",
    "x[[:digit:]]",
    "[a*b]",
    "ÄÖ",
    "Ä?/*.md",
    "*/*/a\n!src/app/a",
    "s*\n!s*/a*\n",
    ".git\n.env*\n**/*.py[cod]\n",
    // What Docker does not look at closely.
    "lib/*/\\",
    "l*[-x]\nfoo/*[]x]",
    "**/\\",
    "[.]*[",
    "l*/[a",
    "x[a-/a]",
    "a|*",
    "a|b",
    "a{2}",
    "src/x\\|y*\n*.{md,txt}",
    "?\\s*",
];

/// What is added to them at random.
const PIECES: &[&str] = &[
    "*",
    "**",
    "**/",
    "?",
    "[",
    "]",
    "[^",
    "-",
    "^",
    "\\",
    "/",
    "!",
    "\n!",
    "\n",
    "#",
    ".",
    "|",
    "{1}",
    "{",
    "}",
    "+",
    "(",
    ")",
    "$",
    "\t",
    " ",
    "\u{b}",
    "\u{85}",
    "\u{a0}",
    "\u{feff}",
    "\u{1b}",
    "é",
    "a",
    "x7",
    ".env",
    "docs",
    "\\s",
    "\\d",
    "\\b",
    "\r",
    "[[:alpha:]]",
];

/// One of the ignore files with some pieces.
fn mutated(random: &mut fastrand::Rng) -> String {
    let mut text = IGNORES[random.usize(..IGNORES.len())].to_owned();
    for _ in 0..random.usize(1..4) {
        let places: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        text.insert_str(places[random.usize(..places.len())], PIECES[random.usize(..PIECES.len())]);
    }
    text
}

fn tree() -> TempDir {
    let dir = TempDir::new().unwrap();
    for path in FILES {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::create_dir(dir.path().join("empty")).unwrap();
    symlink("docs/a", dir.path().join("link")).unwrap();
    symlink("/nowhere", dir.path().join("src/dangling")).unwrap();
    dir
}

/// Makes `docker buildx` work: installed, or beside the test engines.
fn with_buildx(host: &str) -> TempDir {
    let config = TempDir::new().unwrap();
    let plugins = config.path().join("cli-plugins");
    fs::create_dir(&plugins).unwrap();
    let state = Path::new(host.trim_start_matches("unix://")).ancestors().nth(3).unwrap_or(Path::new("/"));
    let places = [
        state.join("new/root/usr/libexec/docker/cli-plugins/docker-buildx"),
        PathBuf::from("/usr/libexec/docker/cli-plugins/docker-buildx"),
        PathBuf::from("/usr/lib/docker/cli-plugins/docker-buildx"),
    ];
    let found =
        places.iter().find(|path| path.exists()).expect("docker-buildx is installed by tests/engine/up new");
    symlink(found, plugins.join("docker-buildx")).unwrap();
    config
}

/// What arrives on the engine when Docker's client sends `root`; nothing if it refuses.
fn arrives(host: &str, config: &Path, root: &Path) -> Option<BTreeSet<PathBuf>> {
    let output = Command::new("docker")
        .env("DOCKER_CONFIG", config)
        .args(["-H", host, "buildx", "build", "-q", "-o", "type=tar,dest=-", "-f", "-"])
        .arg(root)
        .stdin(std::fs::File::open(config.join("Dockerfile")).unwrap())
        .output()
        .unwrap();
    let mut archive = tar::Archive::new(&output.stdout[..]);
    output.status.success().then(|| {
        archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().components().collect())
            .collect()
    })
}

fn sent(root: &Path, ignore: Ignore) -> BTreeSet<PathBuf> {
    let listing = Context { root: root.to_owned(), ignore, extra: Vec::new(), configurations: Vec::new() }
        .list()
        .unwrap();
    listing.entries().iter().map(|entry| entry.path.clone()).collect()
}

#[test]
fn what_docker_sends_is_what_we_send() {
    // The client does all of it, so one engine will do.
    let host = hosts().pop().unwrap();
    let config = with_buildx(&host);
    fs::write(config.path().join("Dockerfile"), "FROM scratch\nCOPY . /\n").unwrap();
    let dir = tree();
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let texts =
        IGNORES.iter().map(|text| (*text).to_owned()).chain((0..mutations(12)).map(|_| mutated(&mut random)));
    for text in texts {
        fs::write(dir.path().join(".dockerignore"), &text).unwrap();
        let ours = Ignore::parse(&text).map(|ignore| sent(dir.path(), ignore));
        match (arrives(&host, config.path(), dir.path()), ours) {
            (Some(theirs), Ok(ours)) => assert_eq!(ours, theirs, "{host}: {text:?} (seed {seed})"),
            (None, Err(_)) => {}
            // What is refused here is not read in another way.
            (Some(_), Err(error))
                if !IGNORES.contains(&&*text) || error.reason.contains("beside wildcards") => {}
            (theirs, ours) => {
                panic!("{host}: {text:?} (seed {seed}): docker: {theirs:?}, agentcli: {ours:?}")
            }
        }
    }
}
