//! A `requirements.txt`: which files belong to it, and whether it needs the source.

use crate::compiler::files::Files;
use crate::compiler::paths;

/// Includes deeper than this are a circle.
const MAX_DEPTH: usize = 8;

/// Options that name another file of requirements.
const INCLUDES: &[&str] = &["-r", "--requirement", "-c", "--constraint"];

/// Options that name a package, or where packages are found.
const SOURCES: &[&str] =
    &["-e", "--editable", "-f", "--find-links", "-i", "--index-url", "--extra-index-url"];

/// One requirements file and what it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementsFile {
    /// Relative to the configuration's directory.
    pub path: String,
    /// It and every file that it includes, in the order in which they are read.
    pub files: Vec<String>,
    needs_source: bool,
}

impl RequirementsFile {
    /// Whether it names packages by path, so that it can only be installed once the source is there.
    pub fn is_local(&self) -> bool {
        self.needs_source
    }
}

/// The requirements file of a directory, where it has one.
pub fn read(directory: &str, files: &dyn Files) -> Option<RequirementsFile> {
    let path = paths::join(directory, "requirements.txt");
    if !files.is_file(&path) {
        return None;
    }
    let mut found = RequirementsFile { path: path.clone(), files: Vec::new(), needs_source: false };
    include(&path, 0, files, &mut found);
    Some(found)
}

fn include(path: &str, depth: usize, files: &dyn Files, found: &mut RequirementsFile) {
    let is_known = found.files.iter().any(|known| known == path);
    if is_known || depth > MAX_DEPTH || !files.is_file(path) {
        return;
    }
    found.files.push(path.to_owned());
    let Some(text) = files.text(path) else {
        // Installers read more encodings than this does.
        found.needs_source = true;
        return;
    };
    for line in logical_lines(text.trim_start_matches('\u{feff}')) {
        if line.starts_with('-') {
            let words = words(&line);
            found.needs_source |= values(&words, SOURCES).any(is_own);
            for other in values(&words, INCLUDES).filter(|value| !value.contains("://")) {
                include(&paths::join(&paths::parent(path), other), depth + 1, files, found);
            }
        } else {
            found.needs_source |= is_path(&line);
        }
    }
}

/// What installers read as one line: without its comment, and with what it goes on with behind a `\`.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let is_comment = line.trim_start().starts_with('#');
        match line.strip_suffix('\\').filter(|_| !is_comment) {
            Some(start) => open.push_str(start),
            None => {
                // A comment ends what goes on, too.
                open.push_str(if is_comment { " " } else { "" });
                lines.push(uncommented(&format!("{open}{line}")).to_owned());
                open.clear();
            }
        }
    }
    lines.push(uncommented(&open).to_owned());
    lines.retain(|line| !line.is_empty());
    lines
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

/// What is given for `options`: in the next word, behind `=`, or, for a short one, right behind it.
fn values<'a>(words: &'a [String], options: &'a [&str]) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(move |(at, word)| {
        options.iter().find_map(|option| match word.strip_prefix(option)? {
            "" => words.get(at + 1).map(String::as_str),
            rest if option.starts_with("--") => rest.strip_prefix('='),
            rest => Some(rest.strip_prefix('=').unwrap_or(rest)),
        })
    })
}

/// Whether a requirement is a path, which the name of a package is not.
fn is_path(requirement: &str) -> bool {
    let words = requirement.split_whitespace().take_while(|word| !word.starts_with('-'));
    let requirement = words.collect::<Vec<_>>().join(" ");
    // Behind a `;` stand conditions, whose strings may hold anything.
    let source = requirement.split(';').next().unwrap_or_default();
    let (name, address) = source.split_once('@').unwrap_or(("", source));
    let source = if name.contains(['/', '\\', ':']) { source } else { address.trim() };
    let is_named = source.starts_with('.') || source.contains(['/', '\\']);
    is_own(source) && (is_named || source.starts_with("file:") || is_archive(source))
}

fn is_archive(source: &str) -> bool {
    [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2"].iter().any(|ending| source.ends_with(ending))
}

/// Whether an address, or what stands for one, lies on this machine.
fn is_own(source: &str) -> bool {
    let address = source.split_once('@').map_or(source, |(_, address)| address.trim());
    let is_anywhere = source.starts_with('$') || source.contains("://");
    [source, address].iter().any(|it| it.starts_with("file:")) || !is_anywhere
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::files::MemoryFiles;

    #[test]
    fn includes_are_followed_and_paths_are_seen() {
        let tree = |main| {
            MemoryFiles::new([
                ("requirements.txt", main),
                ("req/base.txt", "-r ../requirements.txt\nhttpx\n"),
            ])
        };
        let read = |main| read(".", &tree(main)).unwrap();
        for line in [
            "-r req/base.txt\nlangchain>=0.3",
            "-r req/base.txt  # the base",
            "-c req/base.txt\t# x",
            "-r \"req/base.txt\"",
            "-r 'req'/base.txt",
            "-r req/b\\ase.txt",
            "-rreq/base.txt",
            "-r=req/base.txt",
            "--requirement=req/base.txt",
            "--requirement req/base.txt",
            "--constraint='req/base.txt'",
            "--no-index -r req/base.txt",
            "-r \\\n  req/base.txt",
            "# a comment \\\n-r req/base.txt",
            "\u{feff}  -r req/base.txt",
            "-r req/base.txt \\",
        ] {
            let found = read(line);
            assert_eq!(found.files, ["requirements.txt", "req/base.txt"], "{line}");
            assert!(!found.is_local(), "{line}");
        }
        for line in [
            "# -r req/base.txt",
            "-r https://host/req/base.txt",
            "--requirements-of req/base.txt",
            "x # -r req/base.txt",
            "x \\\n# -r req/base.txt",
            "-r",
        ] {
            assert_eq!(read(line).files, ["requirements.txt"], "{line}");
        }
    }

    #[test]
    fn paths_are_told_from_packages() {
        let is_local = |main| {
            let files = MemoryFiles::new([("requirements.txt", main)]);
            read(".", &files).unwrap().is_local()
        };
        for line in [
            "-e .",
            ".",
            "./lib",
            "..",
            "/srv/lib",
            "--editable=./x",
            "-e libs/shared",
            "-e libs",
            "-elibs/shared",
            "--editable libs/shared  # ours",
            "-e \"my libs/shared[x]\"",
            "libs/shared",
            "libs/shared[x] ; python_version > '3'",
            "libs\\shared",
            "x @ file:///y",
            "x@file:///y",
            "x @ ./y",
            "-e file:///y",
            "wheels/x.whl",
            "x-1.0.tar.gz",
            "x.whl --hash=sha256:00",
            "-f wheels",
            "--find-links=./wheels",
            "--no-index --find-links wheels",
            "--find-links \\\n wheels",
            "--extra-index-url ./simple",
        ] {
            assert!(is_local(line), "{line}");
        }
        for line in [
            "x @ https://host/x.whl",
            "x@https://host/x.whl",
            "x[y] @ git+ssh://git@host/x.git@main",
            "https://host/x.whl",
            "# ./x",
            "x  # see ./x",
            "x; platform_release == 'a/b'",
            "x==1 --config-settings=a=b/c",
            "--index-url https://user@host/simple",
            "-i https://host/simple",
            "--index-url ${INDEX}",
            "-f https://host/wheels",
            "-e git+https://host/x",
            "-e git+ssh://git@host/x#egg=x",
            "--pre",
            "x",
        ] {
            assert!(!is_local(line), "{line}");
        }
    }
}
