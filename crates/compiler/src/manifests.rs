//! Readers of other people's formats, each of which returns the content of a file or where it is broken; and local
//! dependencies, whose description is put together from them.

pub mod above;
pub mod dependency;
pub mod dockerfile;
pub mod dockerignore;
pub mod dotenv;
pub mod gitignore;
pub mod image_name;
pub mod import_names;
pub mod installation;
pub mod known_names;
pub mod local_requirements;
pub mod marker;
mod npm_credentials;
pub mod npm_lock;
pub mod package;
pub mod package_json;
pub mod package_manager;
pub mod package_version;
pub mod pyproject;
pub mod requirement;
pub mod requirements_txt;
pub mod requires_python;
pub mod setup_cfg;
pub mod setup_py;
pub mod source_tree;
pub(crate) mod stack;
pub mod symbols;
pub mod tracked;
pub mod tsconfig;
pub mod uv_lock;
pub mod uv_workspace;
pub mod version_file;
pub mod virtual_project;
pub mod workspace;
pub mod yaml;

use std::ops::Range;
use std::rc::Rc;

use globset::{Glob, GlobBuilder, GlobSet};

use crate::files::Files;
use crate::paths;
use crate::secrecy::urls;
use crate::tree::Tree;

/// Files that installers and container engines look for by these names.
const BY_NAME: &[&str] = &[
    ".dockerignore",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "package.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "poetry.lock",
    "pylock.toml",
    "pyproject.toml",
    "requirements.txt",
    "setup.cfg",
    "setup.py",
    "uv.lock",
    "uv.toml",
    "yarn.lock",
];

/// Whether the file at `path` is looked for by its name.
pub fn is_read_by_name(path: &str) -> bool {
    BY_NAME.contains(&paths::file_name(path))
}

/// A syntax error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// A lowercase fragment. It repeats no URL, which may hold a password.
    pub message: String,
    /// The byte range of the text.
    pub span: Range<usize>,
    /// How to fix it, as an imperative.
    pub help: Option<String>,
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its path, relative to the configuration's directory.
    pub path: String,
    /// Why.
    pub broken: Broken,
}

impl Broken {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), span, help: None }
    }
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The content of the file at `path`, which must be UTF-8, without a byte order mark; `None` if there is no such file.
pub fn text(path: &str, files: &Tree) -> Option<Result<String, Broken>> {
    Some(files.content(path)?.map_err(|why| Broken::new(0..0, why)).and_then(utf8))
}

/// What `read` makes of that content: computed once for each type.
pub fn parsed<T: 'static>(
    path: &str,
    read: impl FnOnce(&str) -> Result<T, Broken>,
    files: &Tree,
) -> Option<Result<Rc<T>, Broken>> {
    let parsed = files.parsed(path, || Some(text(path, files)?.and_then(|text| read(&text)).map(Rc::new)));
    (*parsed).clone()
}

/// The content of the file at `path` for excerpts: the span of a [`Broken`] lies in it. Passwords in URLs are masked.
pub fn excerpt(path: &str, files: &Tree) -> String {
    let text = files.bytes(path).map(|bytes| lossy(&bytes)).unwrap_or_default();
    urls::masked(&text).into_owned()
}

/// A pattern of paths, in which `*` matches `/` if it crosses directories; `None` if it is invalid.
fn glob(pattern: &str, crosses_directories: bool) -> Option<Glob> {
    GlobBuilder::new(pattern).literal_separator(!crosses_directories).build().ok()
}

/// A matcher of several patterns; `None` if they are too complex. The matcher of a single one would panic then.
fn glob_set(globs: impl IntoIterator<Item = Glob>) -> Option<GlobSet> {
    GlobSet::new(globs).ok()
}

fn utf8(bytes: Vec<u8>) -> Result<String, Broken> {
    match String::from_utf8(bytes) {
        Ok(text) if text.starts_with(BYTE_ORDER_MARK) => Ok(text[BYTE_ORDER_MARK.len()..].to_owned()),
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            let start = valid.trim_start_matches(BYTE_ORDER_MARK).len();
            Err(Broken::new(start..start + char::REPLACEMENT_CHARACTER.len_utf8(), "invalid UTF-8"))
        }
    }
}

/// UTF-16 with a byte order mark.
fn utf16(bytes: &[u8]) -> Option<String> {
    let unit = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok()
}

/// UTF-8 or UTF-16, with a replacement character for each invalid part.
fn lossy(bytes: &[u8]) -> String {
    utf16(bytes).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(bytes);
        text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).to_owned()
    })
}
