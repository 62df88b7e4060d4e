//! `requirements.txt`: its logical lines, the files that it includes, and whether it needs the source.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use super::{Broken, lossy, requirement, utf8, utf16};
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// Options with a value in pip's requirements files.
const WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "-e",
    "-f",
    "-i",
    "-r",
    "--all-releases",
    "--config-setting",
    "--config-settings",
    "--constraint",
    "--editable",
    "--extra-index-url",
    "--find-links",
    "--global-option",
    "--hash",
    "--index-url",
    "--no-binary",
    "--only-binary",
    "--only-final",
    "--pypi-url",
    "--requirement",
    "--trusted-host",
    "--uploaded-prior-to",
    "--use-feature",
];

/// Options without a value in pip's requirements files.
const FLAGS: &[&str] = &["--no-index", "--pre", "--prefer-binary", "--require-hashes"];

/// Options that name a place to find packages.
const SOURCES: &[&str] = &["-f", "--find-links", "-i", "--index-url", "--pypi-url", "--extra-index-url"];

/// One requirement or option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The byte range of its logical line, without white space around it.
    pub line: Range<usize>,
    /// Its meaning.
    pub kind: Kind,
}

/// The meaning of an [`Entry`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A PEP 508 requirement or a URL, without options.
    Requirement(String),
    /// Another requirements file, which is a path or a URL.
    Include(String),
    /// A file of constraints, which is a path or a URL.
    Constraint(String),
    /// A directory on this machine, as written after `-e` or alone.
    Local(String),
    /// An archive, or a place to find packages, on this machine.
    Path,
    /// Another option that installers know.
    Known,
    /// An option that installers refuse.
    Unknown(String),
}

/// A requirements file and all files that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementsFile {
    /// Relative to the configuration's directory.
    pub path: String,
    /// This file and all included ones, in the order in which they are read.
    pub files: Vec<String>,
    /// The directories that are required.
    pub locals: Vec<LocalEntry>,
    /// Its other requirements, if there are directories. `None` if it has more than names, versions and directories.
    pub others: Option<Vec<String>>,
    /// Whether some requirements have hashes.
    pub has_hashes: bool,
    needs_source: bool,
}

/// A directory in a requirements file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEntry {
    /// As written.
    pub written: String,
    /// Relative to the configuration's directory.
    pub path: String,
    /// The extras that it is installed with.
    pub extras: Vec<String>,
}

impl RequirementsFile {
    /// Whether it needs files of the source, so that it can only be installed after that is copied.
    pub fn is_local(&self) -> bool {
        self.needs_source
    }

    fn read(directory: &str, files: &Tree) -> Option<Self> {
        let parts = parts(directory, files);
        let path = parts.first()?.path.clone();
        let entries =
            || parts.iter().flat_map(|part| part.entries.iter().flatten().map(|entry| (&part.path, entry)));
        let local = |(path, entry): (&String, &Entry)| match &entry.kind {
            Kind::Local(written) => Some(LocalEntry::new(written, path, files)),
            _ => None,
        };
        let locals: Vec<LocalEntry> = entries().filter_map(local).collect();
        let is_broken = parts.iter().any(|part| part.entries.is_err());
        let others =
            if locals.is_empty() || is_broken { None } else { others(entries().map(|(_, entry)| entry)) };
        let needs_files = is_broken || entries().any(|(_, entry)| entry.kind == Kind::Path);
        let needs_source = needs_files || (others.is_none() && !locals.is_empty());
        let has_hashes = parts.iter().any(|part| part.text.contains("--hash"));
        let files = parts.iter().map(|part| part.path.clone()).collect();
        Some(Self { path, files, locals, others, has_hashes, needs_source })
    }
}

/// One file of requirements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Relative to the configuration's directory.
    pub path: String,
    /// The content; invalid parts are replacement characters.
    pub text: String,
    /// Its entries.
    pub entries: Result<Vec<Entry>, Broken>,
    /// The paths of the files that it includes, in order.
    includes: Vec<String>,
}

impl Part {
    /// The file at `path`, which is parsed once; `None` if there is no such file.
    fn find(path: &str, files: &Tree) -> Option<Rc<Self>> {
        (*files.parsed(path, || Self::read(path, files).map(Rc::new))).clone()
    }

    fn read(path: &str, files: &Tree) -> Option<Self> {
        // Installers read UTF-16, too, which PowerShell writes.
        let (text, broken) = match files.content(path)? {
            Ok(bytes) => (lossy(&bytes), utf16(&bytes).map_or_else(|| utf8(bytes).err(), |_| None)),
            Err(why) => (String::new(), Some(Broken::new(0..0, why))),
        };
        let entries = broken.map_or_else(|| Ok(read(&text)), Err);
        let mut seen = BTreeSet::new();
        let includes = entries.iter().flatten().filter_map(|entry| included(path, entry));
        let includes = includes.filter(|path| seen.insert(path.clone())).collect();
        Some(Self { path: path.to_owned(), text, entries, includes })
    }
}

/// The requirements file of a directory, if it has one, which is read once.
pub fn find(directory: &str, files: &Tree) -> Option<Rc<RequirementsFile>> {
    (*files.parsed(directory, || RequirementsFile::read(directory, files).map(Rc::new))).clone()
}

/// The requirements that are no directories, if all others are names with versions. Included files are among `entries`.
fn others<'e>(mut entries: impl Iterator<Item = &'e Entry>) -> Option<Vec<String>> {
    entries.try_fold(Vec::new(), |mut found, entry| {
        match &entry.kind {
            Kind::Requirement(text) => found.push(text.clone()),
            Kind::Local(_) => {}
            Kind::Include(path) if !path.contains(':') => {}
            _ => return None,
        }
        Some(found)
    })
}

impl LocalEntry {
    /// Reads an entry of the file at `path`: `../x[extra]`, `x[extra] @ file:../x` or `file:../x#egg=x`.
    fn new(written: &str, path: &str, files: &Tree) -> Self {
        let text = written.split(';').next().unwrap_or_default().split('#').next().unwrap_or_default().trim();
        let (name, place) =
            text.split_once('@').filter(|(name, _)| !name.contains(['/', '\\', ':'])).unwrap_or(("", text));
        let (place, list) = match place.trim().strip_suffix(']').and_then(|place| place.rsplit_once('[')) {
            Some(split) => split,
            None => (place.trim(), ""),
        };
        let place = place.strip_prefix("file:").unwrap_or(place);
        let place = place.strip_prefix("//").unwrap_or(place);
        let mut extras: Vec<String> =
            list.split(',').map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
        extras.extend(requirement::extras(name));
        // Installers take paths relative to their working directory, which is mostly that of the file.
        let beside = paths::join(paths::parent(path), place);
        let place = if files.kind(&beside).is_some() { beside } else { paths::normalize(place) };
        let own = if place.starts_with('/') { files.own(&place) } else { None };
        let path = own.unwrap_or_else(|| paths::shortened(&place, &files.directory()));
        Self { written: written.to_owned(), path, extras }
    }
}

/// The requirements file of a directory and all existing files that it includes, in the order in which they are read.
pub fn parts(directory: &str, files: &Tree) -> Vec<Rc<Part>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![paths::join(directory, "requirements.txt")];
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let Some(part) = Part::find(&path, files) else { continue };
        open.extend(part.includes.iter().rev().cloned());
        found.push(part);
    }
    found
}

/// The options that installers know in requirements files.
pub fn options() -> impl Iterator<Item = &'static str> {
    WITH_VALUE.iter().chain(FLAGS).copied()
}

/// The path of the file that `entry` of the file at `path` includes, unless that is a URL.
pub fn included(path: &str, entry: &Entry) -> Option<String> {
    let (Kind::Include(other) | Kind::Constraint(other)) = &entry.kind else { return None };
    (!other.contains(':')).then(|| paths::join(paths::parent(path), other))
}

/// Reads the content of a requirements file.
pub fn read(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (line, content) in logical_lines(text) {
        let is_option =
            |at: &usize| content[..*at].is_empty() || content[..*at].ends_with(char::is_whitespace);
        let options = content.match_indices('-').map(|(at, _)| at).find(is_option).unwrap_or(content.len());
        let (requirement, options) = content.split_at(options);
        let requirement = requirement.trim();
        let mut add = |kind| entries.push(Entry { line: line.clone(), kind });
        if !requirement.is_empty() {
            add(match requirement {
                it if !is_path(it) => Kind::Requirement(it.to_owned()),
                it if is_archive(it.split(';').next().unwrap_or_default().trim()) => Kind::Path,
                it => Kind::Local(it.to_owned()),
            });
        }
        parse_options(&words(options)).into_iter().for_each(add);
    }
    entries
}

/// The lines that installers see, with their byte ranges: without comments, and with the next line after a `\`.
fn logical_lines(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let mut lines = Vec::new();
    let mut open = String::new();
    let mut start = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        let line = line.trim_end_matches(['\n', '\r']);
        let is_comment = line.trim_start().starts_with('#');
        match line.strip_suffix('\\').filter(|_| !is_comment) {
            Some(continued) => open.push_str(continued),
            None => {
                // A comment ends a continued line.
                open.push_str(if is_comment { " " } else { "" });
                lines.push((start..end, open + line));
                open = String::new();
                start = end;
            }
        }
    }
    lines.push((start..end, open));
    let content = move |(range, line): (Range<usize>, String)| {
        let range = trimmed(text, range);
        let content = uncommented(&line);
        (!content.is_empty()).then(|| (range, content.to_owned()))
    };
    lines.into_iter().filter_map(content)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start().len();
    start..start + part.trim().len()
}

fn uncommented(line: &str) -> &str {
    let mut marks = line.match_indices('#').map(|(at, _)| &line[..at]);
    let start = marks.find(|before| before.is_empty() || before.ends_with(char::is_whitespace));
    start.unwrap_or(line).trim()
}

/// The words of a line of options, which are quoted as in a shell.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' if quote.is_none() => quote = Some(letter),
            _ if quote == Some(letter) => quote = None,
            _ if quote.is_none() && letter.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            '\\' if quote != Some('\'') => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
        word.get_or_insert_default();
    }
    words.extend(word);
    words
}

fn parse_options(words: &[String]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (option, attached) = split_option(word);
        let is_abbreviated = |known: &&str| option.len() > 2 && known.starts_with(option);
        if WITH_VALUE.contains(&option) {
            let value = attached.or_else(|| words.next()).unwrap_or_default();
            kinds.push(match option {
                _ if value.is_empty() => Kind::Known,
                "-r" | "--requirement" => Kind::Include(value.to_owned()),
                "-c" | "--constraint" => Kind::Constraint(value.to_owned()),
                "-e" | "--editable" if is_own(value) => Kind::Local(value.to_owned()),
                _ if SOURCES.contains(&option) && is_own(value) => Kind::Path,
                _ => Kind::Known,
            });
        } else if FLAGS.contains(&option) || WITH_VALUE.iter().chain(FLAGS).any(is_abbreviated) {
            kinds.push(Kind::Known);
        } else if word.starts_with('-') {
            kinds.push(Kind::Unknown(option.to_owned()));
        }
    }
    kinds
}

/// An option and the value attached to it: after a `=`, or directly after a short option.
fn split_option(word: &str) -> (&str, Option<&str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
    }
    let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
    let (option, value) = word.split_at(end);
    (option, Some(value.strip_prefix('=').unwrap_or(value)).filter(|value| !value.is_empty()))
}

/// Whether a requirement is a path, which the name of a package is not.
fn is_path(requirement: &str) -> bool {
    // The strings in a condition may contain anything.
    let source = requirement.split(';').next().unwrap_or_default().trim();
    let (name, address) = source.split_once('@').unwrap_or(("", source));
    let source = if name.contains(['/', '\\', ':']) { source } else { address.trim() };
    let is_named = source.starts_with('.') || source.contains(['/', '\\']);
    is_own(source) && (is_named || source.starts_with("file:") || is_archive(source))
}

/// Whether a path or URL is a wheel or a source archive, by its ending.
pub fn is_archive(source: &str) -> bool {
    [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2"].iter().any(|ending| source.ends_with(ending))
}

/// Whether an address is on this machine.
fn is_own(source: &str) -> bool {
    let address = source.split_once('@').map_or(source, |(_, address)| address.trim());
    let is_anywhere = source.starts_with('$') || source.contains("://");
    [source, address].iter().any(|it| it.starts_with("file:")) || !is_anywhere
}

#[cfg(test)]
mod tests;
