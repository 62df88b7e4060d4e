//! A `requirements.txt`: which files belong to it, and whether it needs the source.

use crate::compiler::files::Files;
use crate::compiler::paths;

/// Includes deeper than this are a circle.
const MAX_DEPTH: usize = 8;

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
    let Some(text) = files.text(path) else { return };
    if found.files.iter().any(|known| known == path) || depth > MAX_DEPTH {
        return;
    }
    found.files.push(path.to_owned());
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
        if let Some(other) = included(line) {
            include(&paths::join(&paths::parent(path), other), depth + 1, files, found);
        } else if is_path(line) {
            found.needs_source = true;
        }
    }
}

fn included(line: &str) -> Option<&str> {
    ["-r", "--requirement", "-c", "--constraint"].iter().find_map(|option| {
        let rest = line.strip_prefix(option)?;
        let value =
            rest.strip_prefix('=').or_else(|| rest.starts_with(char::is_whitespace).then_some(rest))?;
        Some(value.trim()).filter(|value| !value.contains("://"))
    })
}

fn is_path(line: &str) -> bool {
    let value = ["-e", "--editable"].iter().find_map(|option| line.strip_prefix(option)).unwrap_or(line);
    let value = value.trim_start_matches(['=', ' ', '\t']);
    let value = value.split_once(" @ ").map_or(value, |(_, url)| url.trim());
    value.starts_with(['.', '/'])
        || value.starts_with("file:")
        || value.ends_with(".whl") && !value.contains("://")
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
        assert_eq!(read("-r req/base.txt\nlangchain>=0.3").files, ["requirements.txt", "req/base.txt"]);
        assert!(!read("-r req/base.txt").is_local());
        for line in ["-e .", ".", "./lib", "--editable=./x", "x @ file:///y", "wheels/x.whl"] {
            assert!(read(line).is_local(), "{line}");
        }
        for line in
            ["x @ https://host/x.whl", "# ./x", "--index-url https://host/simple", "-e git+https://host/x"]
        {
            assert!(!read(line).is_local(), "{line}");
        }
    }
}
