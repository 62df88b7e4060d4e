//! The records of built images: a file in the cache directory with a line for each name on each engine. If it cannot be
//! read or written, images are built more often than necessary.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Name of the file.
const FILE: &str = "built";

/// Maximum number of lines; the oldest are dropped.
const MOST: usize = 500;

/// An image and its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Digest of its inputs, in hexadecimal.
    pub(super) inputs: String,
    /// Its ID.
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

    /// The record of `tags`, if all have the same.
    pub(super) fn find(&self, tags: &[String]) -> Option<Record> {
        let text = fs::read_to_string(&self.file).ok()?;
        let mut records = tags.iter().map(|tag| {
            let record = text.lines().rev().find_map(|line| line.strip_suffix(&self.ending(tag)))?;
            let (inputs, id) = record.split_once(' ')?;
            Some(Record { inputs: inputs.to_owned(), id: id.to_owned() })
        });
        let first = records.next()??;
        records.all(|record| record.as_ref() == Some(&first)).then_some(first)
    }

    /// Adds a record for each of `tags`. If two processes do so at the same time, one of the records is lost.
    pub(super) fn add(&self, tags: &[String], record: &Record) -> std::io::Result<()> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let endings: Vec<String> = tags.iter().map(|tag| self.ending(tag)).collect();
        let is_other = |line: &&str| !endings.iter().any(|ending| line.ends_with(ending));
        let mut lines: Vec<String> = text.lines().filter(is_other).map(str::to_owned).collect();
        lines.extend(endings.iter().map(|ending| format!("{} {}{ending}", record.inputs, record.id)));
        lines.drain(..lines.len().saturating_sub(MOST));
        replace(&self.file, (lines.join("\n") + "\n").as_bytes())
    }

    /// The end of the line of `tag`. Tags have no spaces.
    fn ending(&self, tag: &str) -> String {
        format!(" {tag} {}", self.host)
    }
}

/// Replaces a file at once; its directory is created.
pub(super) fn replace(file: &Path, contents: &[u8]) -> std::io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut whole = NamedTempFile::new_in(directory)?;
    whole.write_all(contents)?;
    // Renaming is atomic.
    whole.persist(file).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(inputs: &str) -> Record {
        Record { inputs: inputs.to_owned(), id: format!("sha256:{inputs}") }
    }

    #[test]
    fn records_are_separate_by_engine_and_the_newest_counts() {
        let directory = tempfile::TempDir::new().unwrap();
        let directory = directory.path().join("made/on/demand");
        let [here, there] = ["unix:///a b", "tcp://b"].map(|host| Records::new(&directory, host));
        let [one, two] = ["one:1".to_owned(), "two".to_owned()];
        let both = [one.clone(), two.clone()];
        assert_eq!(here.find(&both), None);
        here.add(&both, &record("first")).unwrap();
        assert_eq!((here.find(&both), there.find(&both)), (Some(record("first")), None));
        there.add(&both, &record("other")).unwrap();
        here.add(std::slice::from_ref(&two), &record("second")).unwrap();
        assert_eq!((here.find(&[one]), here.find(&[two])), (Some(record("first")), Some(record("second"))));
        assert_eq!((here.find(&both), there.find(&both)), (None, Some(record("other"))));
    }

    #[test]
    fn old_lines_are_dropped() {
        let directory = tempfile::TempDir::new().unwrap();
        let records = Records::new(directory.path(), "here");
        let tags: Vec<String> = (0..MOST + 1).map(|number| number.to_string()).collect();
        records.add(&tags, &record("all")).unwrap();
        assert_eq!((records.find(&tags[..1]), records.find(&tags[1..])), (None, Some(record("all"))));
    }

    #[test]
    fn invalid_lines_are_ignored() {
        let directory = tempfile::TempDir::new().unwrap();
        fs::write(directory.path().join(FILE), "nonsense\n tag here\nx tag here\n").unwrap();
        assert_eq!(Records::new(directory.path(), "here").find(&["tag".to_owned()]), None);
    }
}
