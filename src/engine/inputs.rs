//! The inputs of the steps before the source, as digests: what a later build compares with its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::events::StepOrigin;
use super::request::BuildRequest;
use crate::context::{self, Listing};

/// The source of a step that copies the whole context.
const EVERYTHING: &str = ".";

/// The option that changes no step.
pub(super) const LABELS: &str = "--label";

/// Maximum number of lines of a file that are compared one by one.
const MAX_LINES: usize = 2000;

/// The inputs of an image before its source is copied. It holds digests instead of contents, since files and build
/// arguments may hold secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Inputs {
    /// All steps, in order.
    pub(super) steps: Vec<StepInputs>,
    /// The files that steps before the source copy, and the configuration, by path.
    pub(super) files: BTreeMap<String, FileInput>,
    /// Digests of build arguments, by name.
    pub(super) arguments: BTreeMap<String, String>,
    /// Digests of the options that apply to all steps, by name.
    pub(super) options: BTreeMap<String, String>,
}

/// The inputs of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StepInputs {
    /// Its purpose in a few words.
    pub(super) purpose: String,
    /// Digest of the instruction.
    pub(super) instruction: String,
    /// The files that it copies.
    pub(super) files: Vec<String>,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FileInput {
    /// Digest of its mode and contents.
    pub(super) digest: String,
    /// Digests of the lines, by the name that they begin with, where such names are no secrets.
    pub(super) lines: BTreeMap<String, String>,
}

impl Inputs {
    /// The inputs of a build.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub(super) fn new(request: &BuildRequest, listing: &Listing) -> Result<Self, context::Error> {
        let mut inputs = Self::default();
        for origin in &request.steps {
            let files = inputs.read(listing, copied_before_the_source(std::slice::from_ref(origin)))?;
            inputs.steps.push(StepInputs {
                purpose: origin.purpose.clone(),
                instruction: digest(&[origin.instruction.as_bytes()]),
                files,
            });
        }
        inputs.read(listing, request.configuration.iter())?;
        let settings = &request.settings;
        let texts = |(name, value): (&String, &String)| (name.clone(), digest(&[value.as_bytes()]));
        inputs.arguments = settings.arguments.iter().map(texts).collect();
        let labels: Vec<String> =
            settings.labels.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let options = [
            ("--add-host", settings.hosts.join(",")),
            (LABELS, labels.concat()),
            ("--network", settings.network.clone().unwrap_or_default()),
            ("--platform", request.platform.clone().unwrap_or_default()),
        ];
        let given = options.into_iter().filter(|(_, value)| !value.is_empty());
        inputs.options = given.map(|(name, value)| (name.to_owned(), digest(&[value.as_bytes()]))).collect();
        Ok(inputs)
    }

    /// Reads the files at and below `sources`; returns their paths.
    fn read<'a>(
        &mut self,
        listing: &Listing,
        sources: impl Iterator<Item = &'a String>,
    ) -> Result<Vec<String>, context::Error> {
        let mut paths = Vec::new();
        for source in sources {
            for entry in listing.entries().iter().filter(|entry| entry.path.starts_with(source)) {
                let path = entry.path.to_string_lossy().into_owned();
                if !self.files.contains_key(&path) {
                    let contents = listing.contents(entry)?;
                    let mode = entry.mode.to_le_bytes();
                    let file =
                        FileInput { digest: digest(&[&mode, &contents]), lines: lines(&path, &contents) };
                    self.files.insert(path.clone(), file);
                }
                paths.push(path);
            }
        }
        Ok(paths)
    }
}

/// The paths that steps copy before the source.
pub(super) fn copied_before_the_source(steps: &[StepOrigin]) -> impl Iterator<Item = &String> + Clone {
    steps.iter().flat_map(|origin| &origin.sources).filter(|path| *path != EVERYTHING)
}

impl StepOrigin {
    /// Whether it copies the whole context.
    pub(super) fn copies_everything(&self) -> bool {
        self.sources.iter().any(|source| source == EVERYTHING)
    }
}

impl BuildRequest {
    /// The paths that steps before the source copy.
    pub fn copied(&self) -> impl Iterator<Item = &String> + Clone {
        copied_before_the_source(&self.steps)
    }
}

/// A short digest.
fn digest(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hex::encode(&hasher.finalize()[..12])
}

/// The digests of the lines of a manifest, by the names that they begin with; none for other files, whose lines may begin
/// with anything.
fn lines(path: &str, contents: &[u8]) -> BTreeMap<String, String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let Some(text) = std::str::from_utf8(contents).ok().filter(|text| text.lines().count() <= MAX_LINES)
    else {
        return BTreeMap::new();
    };
    let lines = text.lines().map(str::trim);
    let named: Vec<(&str, &str)> = if file.ends_with(".json") {
        lines.filter_map(|line| Some((key(line)?, line.trim_end_matches(',')))).collect()
    } else if file == "pyproject.toml" {
        of_toml(lines)
    } else if file == "setup.cfg" || (file.ends_with(".txt") && path.contains("requirements")) {
        lines.filter_map(|line| Some((name(line)?, line))).collect()
    } else {
        Vec::new()
    };
    let mut all: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for (name, line) in named {
        all.entry(name.to_owned()).or_default().push(line.as_bytes());
    }
    all.into_iter().map(|(name, lines)| (name, digest(&lines))).collect()
}

/// The keys of a table, and the items of its lists if they are requirements.
fn of_toml<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut has_requirements = false;
    for line in lines {
        let is_item = line.starts_with(['"', '\'']);
        if let Some(table) = line.strip_prefix('[').filter(|table| !table.starts_with(['"', '\''])) {
            has_requirements = ["project]", "build-system]"].iter().any(|known| table.starts_with(known))
                || table.contains("dependenc");
        }
        let (outside, items) = line.split_once('[').filter(|_| !is_item).unwrap_or(("", line));
        let key = name(line);
        let is_list = is_item || !outside.is_empty() || key.is_none();
        if let Some(key) = key.filter(|_| line.contains('=')) {
            found.push((key, if is_list { outside } else { line }));
        }
        if is_list && has_requirements {
            let strings = items.split(['"', '\'']).skip(1).step_by(2);
            found.extend(strings.filter_map(|item| Some((name(item)?, item))));
        }
    }
    found
}

/// `name` of `"name": …`
fn key(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix('"')?.split_once('"')?;
    rest.trim_start().starts_with(':').then_some(name)
}

/// The name of a requirement or a key at the beginning of a line.
fn name(line: &str) -> Option<&str> {
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c))).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    // A URL, or a URL of a repository.
    (is_name && !rest.starts_with([':', '+', '/'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> Vec<String> {
        lines(path, text.as_bytes()).into_keys().collect()
    }

    #[test]
    fn lines_of_manifests_have_names() {
        let manifest = "[project]\nname = \"x\"\nkeywords = [\"one\"]\ndependencies = [\n  \"httpx>=1\",\n  \
                        'a.b-c_d[e] ; python_version < \"4\"',\n]\n[tool.x]\nlist = [\"token\"]\n";
        let found = names("a/pyproject.toml", manifest);
        assert_eq!(found, ["a.b-c_d", "dependencies", "httpx", "keywords", "list", "name", "one"]);
        let urls =
            "httpx==1 \\\n  --hash=sha256:0\n-r b.txt\nhttps://user:token@host/x\ngit+https://t@h/x\n# no\n";
        assert_eq!(names("requirements.txt", urls), ["httpx"]);
        let json =
            "{\n  \"dependencies\": {\n    \"@a/b\": \"1\"\n  },\n  \"list\": [\n    \"token\"\n  ]\n}\n";
        assert_eq!(names("package.json", json), ["@a/b", "dependencies", "list"]);
        assert_eq!(names("pip.conf", "token\n"), [""; 0]);
    }

    /// A list on one line tells as much as one on several.
    #[test]
    fn another_item_of_a_list_changes_no_key() {
        let of = |list: &str| {
            lines(
                "pyproject.toml",
                format!("[project]\nversion = \"1\"\ndependencies = [{list}]\n").as_bytes(),
            )
        };
        let (one, two) = (of("\"httpx\""), of("\"httpx\", \"rich>=1\""));
        let added: Vec<&String> = two.keys().filter(|name| !one.contains_key(*name)).collect();
        assert_eq!(added, ["rich"]);
        assert!(one.iter().all(|(name, line)| two[name] == *line));
        assert_eq!(of("\n  \"httpx\",\n"), one);
    }
}
