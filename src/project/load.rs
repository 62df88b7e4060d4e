//! Finds a configuration and reads its text.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::disk::Unusable;
use super::rules::{FILE_NOT_FOUND, IS_A_DIRECTORY, NOT_UTF8, UNREADABLE_FILE};
use super::{Boundary, DiskFiles, reason, with_slashes};
use crate::compiler::back::emit::dockerfile::shell_word;
use crate::compiler::discover::{Found, discover};
use crate::compiler::files::Refusal;
use crate::compiler::finding::{Checked, Finding};
use crate::compiler::front::check::boundary;
use crate::compiler::front::dialect::CONFIGURATIONS as NAMES;
use crate::compiler::front::document;
use crate::compiler::front::source::Source;
use crate::compiler::tree::Tree;
use crate::compiler::words::{either, similar};
use crate::compiler::{self, Compiled, Options, Unused};
use crate::diagnostic::{Diagnostic, Place, Rule};

/// The most bytes of a configuration: real ones have some kilobytes.
pub const MAX_CONFIGURATION: u64 = 1024 * 1024;

/// Depth of the search for other configurations when the requested one does not exist.
const SEARCH_DEPTH: usize = 2;

/// Number of files and directories that are looked at for graphs when there is no configuration.
const MAX_LOOKED_AT: usize = 3_000;

/// Number of found configurations to name.
const MAX_NEAR: usize = 5;

/// A configuration and the tree around it.
#[derive(Debug)]
pub struct Project {
    /// The text of the configuration.
    pub source: Source,
    /// The tree around it.
    pub files: Tree,
    /// The configuration's path.
    pub path: PathBuf,
}

/// Why there is no [`Project`].
#[derive(Debug)]
pub struct Unreadable {
    /// The file's name, and its text as far as it can be shown.
    pub source: Source,
    /// The diagnostic.
    pub diagnostic: Diagnostic,
}

impl Unreadable {
    /// The diagnostic as the only finding.
    pub fn checked(mut self) -> Checked {
        let (document, _) = document::parse(&self.source.text);
        self.source.hide(document.secrets());
        let findings = vec![Finding::new(self.diagnostic, &document)];
        Checked { source: self.source, findings, graphs: 0 }
    }
}

/// The configuration to use when none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Default {
    /// The file's name.
    pub name: &'static str,
    /// Whether it is not the preferred name, so that the user should be told.
    pub is_second_choice: bool,
}

/// The configuration in `directory` to use when none is given.
pub fn default_config(directory: &Path) -> Default {
    let found =
        NAMES.iter().find(|name| fs::symlink_metadata(directory.join(name)).is_ok()).unwrap_or(&NAMES[0]);
    Default { name: found, is_second_choice: *found != NAMES[0] }
}

impl Project {
    /// Reads the configuration `name`, a path relative to `directory`.
    pub fn load(directory: &Path, name: &Path, boundary: Boundary<'_>) -> Result<Self, Box<Unreadable>> {
        let path = directory.join(name);
        let files = DiskFiles::within(path.parent().unwrap_or(directory), boundary);
        let content = files.read_beside(path.file_name().unwrap_or_default(), MAX_CONFIGURATION);
        let refused = |error| {
            let shown = with_slashes(name);
            let diagnostic = match error {
                Unusable::Refused(refusal) => unusable(&shown, refusal),
                Unusable::Failed(error) => refused(&path, &shown, &error),
            };
            Box::new(Unreadable { source: Source::new(shown, ""), diagnostic })
        };
        let content = content.map_err(refused)?;
        Self::decoded(name, path, files, content)
    }

    /// Compiles a configuration that was read, for a command with these `options` that does not use all of it. There is no
    /// project if it could not be read.
    pub fn compile(
        loaded: Result<Self, Box<Unreadable>>,
        options: &Options,
        unused: Unused<'_>,
    ) -> (Option<Self>, Compiled) {
        match loaded {
            Ok(mut project) => {
                let compiled = compiler::compile(project.source.clone(), &project.files, options, unused);
                project.source.clone_from(&compiled.checked.source);
                (Some(project), compiled)
            }
            Err(unreadable) => (None, Compiled::of(unreadable.checked())),
        }
    }

    /// The configuration `name`, a path relative to `directory`, as if the file had this content.
    pub fn with_content(directory: &Path, name: &Path, content: Vec<u8>) -> Result<Self, Box<Unreadable>> {
        let path = directory.join(name);
        let files = DiskFiles::new(path.parent().unwrap_or(directory));
        if content.len() as u64 > MAX_CONFIGURATION {
            let shown = with_slashes(name);
            let diagnostic = unusable(&shown, Refusal::TooLarge(MAX_CONFIGURATION));
            return Err(Box::new(Unreadable { source: Source::new(shown, ""), diagnostic }));
        }
        Self::decoded(name, path, files, content)
    }

    fn decoded(
        name: &Path,
        path: PathBuf,
        files: DiskFiles,
        content: Vec<u8>,
    ) -> Result<Self, Box<Unreadable>> {
        let shown = with_slashes(name);
        match decode(content).map_err(|error| *error) {
            Ok(text) => {
                let own = path.file_name().unwrap_or_default().to_string_lossy();
                let files = Tree::new(files).with(&own, text.as_bytes());
                Ok(Self { source: Source::new(shown, text), files, path })
            }
            Err((text, diagnostic)) => {
                Err(Box::new(Unreadable { source: Source::new(shown, text), diagnostic }))
            }
        }
    }
}

fn finding(rule: &'static Rule, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(rule, Place::File, message)
}

/// The finding about a configuration that is there and that is not read.
fn unusable(shown: &str, refusal: Refusal) -> Diagnostic {
    let refused = boundary::diagnostic(Place::File, shown, refusal);
    match refusal {
        Refusal::Outside => {
            refused.help("pass a configuration in a project: not a link out of it, nor a file in `/`")
        }
        Refusal::Special => refused.help("pass the path of a file, or `-` to check the text on stdin"),
        Refusal::TooLarge(_) | Refusal::TooMuch(_) | Refusal::TooManyItems(_) => refused,
    }
}

fn refused(path: &Path, shown: &str, error: &io::Error) -> Diagnostic {
    match error.kind() {
        io::ErrorKind::NotFound => not_found(path, shown),
        // Windows denies the permission to read a directory.
        _ if path.is_dir() => {
            let found =
                finding(&IS_A_DIRECTORY, format!("`{shown}` is a directory, not a configuration file"));
            let inside = NAMES.iter().find(|name| path.join(name).is_file());
            let inside = inside.map(|name| Path::new(shown).join(name));
            match inside {
                Some(inside) => found.help(format!("pass the file in it: `{}`", with_slashes(&inside))),
                None => found.help("pass the path of a file; there is no `agent.json` in this directory"),
            }
        }
        kind => {
            let found = finding(&UNREADABLE_FILE, format!("cannot read `{shown}`: {}", reason(error)));
            match kind {
                io::ErrorKind::PermissionDenied => found.help("grant your user read permission"),
                _ => found,
            }
        }
    }
}

fn not_found(path: &Path, shown: &str) -> Diagnostic {
    if let Ok(target) = fs::read_link(path) {
        let message = format!("`{shown}` is a symbolic link to `{}`, which does not exist", target.display());
        return finding(&FILE_NOT_FOUND, message).help("point the link at the configuration");
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let missing = Path::new(shown).parent().unwrap_or(Path::new("."));
        let message = format!("`{shown}` does not exist: there is no directory `{}`", missing.display());
        return finding(&FILE_NOT_FOUND, message)
            .help("check the path; relative paths start at the current directory");
    }
    let found = finding(&FILE_NOT_FOUND, format!("`{shown}` does not exist"));
    let beside = |name: &str| with_slashes(&Path::new(shown).with_file_name(name));
    let near: Vec<String> = near(directory, shown).iter().map(|name| beside(name)).collect();
    match near.as_slice() {
        [] => found.help(how_to_write(directory, shown)),
        [one] => found.help(format!("did you mean `{one}`?")),
        several => found.help(format!("did you mean {}?", either(several.iter().map(String::as_str)))),
    }
}

/// How to get a configuration: with `init`, if the graphs of the project are found.
fn how_to_write(directory: &Path, shown: &str) -> String {
    let path = Path::new(shown);
    let is_usual = path.file_name().is_some_and(|name| NAMES.iter().any(|usual| name == *usual));
    let found = if is_usual {
        discover(&Tree::new(DiskFiles::new(directory)), MAX_LOOKED_AT)
    } else {
        Found::default()
    };
    let below = |part: &str| match with_slashes(&path.with_file_name(part)) {
        part if part.is_empty() => String::new(),
        part => format!(" {}", shell_word(&part)),
    };
    match (found.graphs.as_slice(), found.projects.as_slice()) {
        ([], []) => "create it, or pass another file with `--config`; a minimal one is\n\
             `{\"dependencies\": [\".\"], \"graphs\": {\"agent\": \"./agent.py:graph\"}}`"
            .to_owned(),
        ([], projects) => {
            let commands =
                projects.iter().take(MAX_NEAR).map(|project| format!("agentcli init{}", below(project)));
            let commands: Vec<String> = commands.collect();
            format!("write one with {}", either(commands.iter().map(String::as_str)))
        }
        ([first, rest @ ..], _) => {
            let more = match rest.len() {
                0 => String::new(),
                1 => " and 1 more graph".to_owned(),
                rest => format!(" and {rest} more graphs"),
            };
            format!("`agentcli init{}` writes one for `{}`{more}", below(""), first.shown())
        }
    }
}

/// Configurations that `shown` may have been meant to name: one in `directory` with a similar or a default name, or else
/// those in directories below it.
fn near(directory: &Path, shown: &str) -> Vec<String> {
    let names = names_in(directory);
    let wanted = Path::new(shown).file_name().unwrap_or_default().to_string_lossy();
    let json = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.ends_with(".json") && directory.join(name).is_file());
    if let Some(close) = similar(&wanted, json) {
        return vec![close.to_owned()];
    }
    let mut found = Vec::new();
    usual_names(directory, Path::new(""), &mut found);
    found
}

/// Collects configurations with a default name in `below` or, if it has none, up to two levels deeper, as in
/// `apps/one/agent.json`.
fn usual_names(directory: &Path, below: &Path, found: &mut Vec<String>) {
    let here = directory.join(below);
    if let Some(usual) = NAMES.iter().find(|name| here.join(name).is_file()) {
        found.push(with_slashes(&below.join(usual)));
    } else if below.components().count() < SEARCH_DEPTH {
        for name in names_in(&here).iter().filter(|name| !name.starts_with('.') && *name != "node_modules") {
            if found.len() < MAX_NEAR && here.join(name).is_dir() {
                usual_names(directory, &below.join(name), found);
            }
        }
    }
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Decodes `bytes`, or returns the text as far as it can be shown and a diagnostic.
fn decode(bytes: Vec<u8>) -> Result<String, Box<(String, Diagnostic)>> {
    if let Some(encoding) = wide_encoding(&bytes) {
        let found = finding(&NOT_UTF8, format!("the file is encoded as {encoding}, not UTF-8"));
        let diagnostic = found.help("save it as UTF-8 without a byte order mark");
        return Err(Box::new((String::new(), diagnostic)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let byte = error.as_bytes()[at];
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let position = Source::new("", text.as_str()).position(at);
        let message = format!(
            "the file is not valid UTF-8: byte 0x{byte:02X} at line {}, column {}",
            position.line, position.column
        );
        let place = Place::Span(at..at + '\u{fffd}'.len_utf8());
        Box::new((text, Diagnostic::new(&NOT_UTF8, place, message).help(latin1_help(byte))))
    })
}

/// UTF-16 or UTF-32, detected by a byte order mark or by zero bytes around the first character.
fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] => Some("UTF-16 (little-endian)"),
        [0xfe, 0xff, ..] => Some("UTF-16 (big-endian)"),
        [1..=255, 0, 1..=255, 0, ..] => Some("UTF-16 (little-endian)"),
        [0, 1..=255, 0, 1..=255, ..] => Some("UTF-16 (big-endian)"),
        _ => None,
    }
}

fn latin1_help(byte: u8) -> String {
    let save = "save it as UTF-8";
    match char::from(byte) {
        letter if letter.is_alphabetic() => {
            format!("{save}; in Windows-1252 or Latin-1, this byte is `{letter}`")
        }
        _ => save.to_owned(),
    }
}
