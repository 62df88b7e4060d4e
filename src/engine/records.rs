//! What is remembered on this machine of the images that were built: one line for each name on each engine, in a file
//! that other files of this kind may lie beside. Nothing depends on it; where it cannot be read or written, the engine
//! builds what it might not have to.

use std::fs;
use std::path::{Path, PathBuf};

/// The file's name.
const FILE: &str = "built";

/// How many lines are kept, the newest.
const MOST: usize = 500;

/// One image and what it was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The digest of everything that went into it, in hexadecimal.
    pub(super) inputs: String,
    /// The image's id.
    pub(super) id: String,
}

/// The records of one engine.
pub(super) struct Records {
    file: PathBuf,
    host: String,
}

impl Records {
    /// The records in `directory` of the engine at `host`.
    pub(super) fn new(directory: &Path, host: &str) -> Self {
        Self { file: directory.join(FILE), host: host.to_owned() }
    }

    /// What all of `tags` have in common; nothing where they differ.
    pub(super) fn of(&self, tags: &[String]) -> Option<Record> {
        let text = fs::read_to_string(&self.file).ok()?;
        let mut records = tags.iter().map(|tag| {
            let record = text.lines().rev().find_map(|line| line.strip_suffix(&self.ending(tag)))?;
            let (inputs, id) = record.split_once(' ')?;
            Some(Record { inputs: inputs.to_owned(), id: id.to_owned() })
        });
        let first = records.next()??;
        records.all(|record| record.as_ref() == Some(&first)).then_some(first)
    }

    /// Remembers that each of `tags` names the image of `record`. Another process may do the same at the same time; then
    /// one of them is forgotten.
    pub(super) fn keep(&self, tags: &[String], record: &Record) -> std::io::Result<()> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let endings: Vec<String> = tags.iter().map(|tag| self.ending(tag)).collect();
        let is_other = |line: &&str| !endings.iter().any(|ending| line.ends_with(ending));
        let mut lines: Vec<String> = text.lines().filter(is_other).map(str::to_owned).collect();
        lines.extend(endings.iter().map(|ending| format!("{} {}{ending}", record.inputs, record.id)));
        lines.drain(..lines.len().saturating_sub(MOST));
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        // Nobody reads half a file.
        let whole = self.file.with_extension(std::process::id().to_string());
        fs::write(&whole, lines.join("\n") + "\n").and_then(|()| fs::rename(&whole, &self.file))
    }

    /// How the line of `tag` ends. No tag has a space in it.
    fn ending(&self, tag: &str) -> String {
        format!(" {tag} {}", self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(inputs: &str) -> Record {
        Record { inputs: inputs.to_owned(), id: format!("sha256:{inputs}") }
    }

    #[test]
    fn names_are_apart_by_engine_and_the_newest_counts() {
        let directory = tempfile::TempDir::new().unwrap();
        let directory = directory.path().join("made/on/demand");
        let [here, there] = ["unix:///a b", "tcp://b"].map(|host| Records::new(&directory, host));
        let [one, two] = ["one:1".to_owned(), "two".to_owned()];
        let both = [one.clone(), two.clone()];
        assert_eq!(here.of(&both), None);
        here.keep(&both, &record("first")).unwrap();
        assert_eq!((here.of(&both), there.of(&both)), (Some(record("first")), None));
        there.keep(&both, &record("other")).unwrap();
        here.keep(std::slice::from_ref(&two), &record("second")).unwrap();
        assert_eq!((here.of(&[one]), here.of(&[two])), (Some(record("first")), Some(record("second"))));
        assert_eq!((here.of(&both), there.of(&both)), (None, Some(record("other"))));
    }

    #[test]
    fn old_lines_are_forgotten() {
        let directory = tempfile::TempDir::new().unwrap();
        let records = Records::new(directory.path(), "here");
        let tags: Vec<String> = (0..MOST + 1).map(|number| number.to_string()).collect();
        records.keep(&tags, &record("all")).unwrap();
        assert_eq!((records.of(&tags[..1]), records.of(&tags[1..])), (None, Some(record("all"))));
    }

    #[test]
    fn nonsense_is_no_record() {
        let directory = tempfile::TempDir::new().unwrap();
        fs::write(directory.path().join(FILE), "nonsense\n tag here\nx tag here\n").unwrap();
        assert_eq!(Records::new(directory.path(), "here").of(&["tag".to_owned()]), None);
    }
}
