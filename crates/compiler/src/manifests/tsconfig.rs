//! A `tsconfig.json`: the other names that it gives to modules.

use std::rc::Rc;

use serde_json::Value;

use super::yaml;
use crate::files::Files;
use crate::paths;
use crate::tree::Tree;

/// The names of the file, the first of which counts.
const NAMES: &[&str] = &["tsconfig.json", "jsconfig.json"];

/// The most files that extend one another.
const MAX_EXTENDED: usize = 8;

/// The names that the files of a project give.
#[derive(Debug, Default, PartialEq)]
pub struct Aliases {
    /// The directory in which all modules are looked for, beside the packages.
    pub base: Option<String>,
    /// Whether there may be others: a file that this one extends is not known, or it cannot be read.
    pub is_open: bool,
    /// Patterns of names, with those of the files. A `*` stands for the same part in both.
    patterns: Vec<(String, Vec<String>)>,
}

impl Aliases {
    /// The paths that `module` may mean, without their endings, by the pattern with the longest start. Empty without one.
    pub fn targets(&self, module: &str) -> Vec<String> {
        let matching = self.patterns.iter().filter_map(|(pattern, files)| {
            let (start, end) = pattern.split_once('*').unwrap_or((pattern, ""));
            let part = module.strip_prefix(start)?.strip_suffix(end)?;
            (pattern.contains('*') || part.is_empty()).then_some((start.len(), part, files))
        });
        let best = matching.max_by_key(|(length, ..)| *length);
        let (part, files) = best.map_or(("", [].as_slice()), |(_, part, files)| (part, files));
        files.iter().map(|file| paths::normalize(&file.replacen('*', part, 1))).collect()
    }

    /// Whether any name may be an alias.
    pub fn may_have_any(&self) -> bool {
        self.is_open || self.patterns.iter().any(|(pattern, _)| pattern == "*")
    }
}

/// Reads those of `directory`, if it has such a file.
pub fn find(directory: &str, files: &Tree) -> Option<Rc<Aliases>> {
    let mut paths = NAMES.iter().map(|name| paths::join(directory, name));
    let path = paths.find(|path| files.is_file(path))?;
    let open = || Aliases { is_open: true, ..Aliases::default() };
    Some(files.parsed(&path, || aliases(&path, files, MAX_EXTENDED).unwrap_or_else(open)))
}

fn aliases(path: &str, files: &Tree, left: usize) -> Option<Aliases> {
    let settings = yaml::read(&without_comments(&files.text(path)?)).ok()?;
    let directory = paths::parent(path);
    let mut aliases = match &settings["extends"] {
        // A package has no paths of this project.
        Value::String(base) if base.starts_with('.') => {
            let base = paths::normalize(&paths::join(directory, base));
            let base = if base.ends_with(".json") { base } else { format!("{base}.json") };
            self::aliases(&base, files, left.checked_sub(1)?)?
        }
        Value::Array(_) => return None,
        _ => Aliases::default(),
    };
    let options = &settings["compilerOptions"];
    let base = options["baseUrl"].as_str().map(|base| paths::normalize(&paths::join(directory, base)));
    aliases.base = base.or(aliases.base);
    if let Some(patterns) = options["paths"].as_object() {
        let around = aliases.base.as_deref().unwrap_or(directory);
        let texts = |files: &Value| {
            files
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let absolute = |files: &Value| texts(files).iter().map(|file| paths::join(around, file)).collect();
        aliases.patterns =
            patterns.iter().map(|(pattern, files)| (pattern.clone(), absolute(files))).collect();
    }
    Some(aliases)
}

/// `text` without `//` and `/* */`, and with spaces for tabs, which YAML does not take.
fn without_comments(text: &str) -> String {
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut kept = String::new();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            _ => c.len_utf8(),
        };
        kept.push_str(if c == '\t' { " " } else { &rest[..length] });
        rest = &rest[length..];
    }
    kept
}

/// Number of bytes of the string that `text` starts with.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_commas_are_read() {
        let text = "\u{feff}{\n\t// \"a\": 1\n\t\"x\": \"http://a/*b*/\\\"\", /* 2\n */ \"y\": [\"z\",],\n}";
        let value = yaml::read(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"x": "http://a/*b*/\"", "y": ["z"]}));
    }

    #[test]
    fn the_longest_pattern_counts() {
        let pattern = |pattern: &str, file: &str| (pattern.to_owned(), vec![file.to_owned()]);
        let patterns =
            vec![pattern("@/*", "./src/*"), pattern("@/lib/*", "./lib/*"), pattern("own", "./own/index")];
        let aliases = Aliases { patterns, ..Aliases::default() };
        assert_eq!(aliases.targets("@/a/b"), ["src/a/b"]);
        assert_eq!(aliases.targets("@/lib/b"), ["lib/b"]);
        assert_eq!(aliases.targets("own"), ["own/index"]);
        assert!(aliases.targets("owner").is_empty() && aliases.targets("@other/x").is_empty());
    }
}
