//! References to code, such as `./agent.py:graph`, and where the configuration holds them.

use std::ops::Range;

use serde_json::Value;

use crate::diagnostic::Pointer;
use crate::front::keys::{Form, Holds, KEYS, Key, Languages};
use crate::paths;

/// A reference in the configuration.
#[derive(Clone, Debug)]
pub struct Located {
    /// The row of its key.
    pub key: &'static Key,
    /// How it is written.
    pub form: Form,
    /// The languages of the files that it may name.
    pub languages: Languages,
    /// The value that the server needs there, with an article.
    pub value: &'static str,
    /// Its place.
    pub pointer: Pointer,
    /// The text.
    pub text: String,
}

/// A file that the configuration names, and that is not code.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// The row of its key.
    pub key: &'static Key,
    /// The place of its path.
    pub pointer: Pointer,
    /// The path as written.
    pub path: String,
}

/// A parsed reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A file and a name in it; the name is empty where the key takes a file alone.
    File {
        /// Normalised, relative to the configuration's directory.
        path: String,
        /// The name defined there.
        name: String,
    },
    /// An importable Python module and a name in it.
    Module {
        /// Dotted.
        module: String,
        /// The name defined there.
        name: String,
    },
}

/// A text that is not a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The mistake, as a lowercase fragment that follows the text.
    pub message: String,
    /// The bytes that are wrong.
    pub part: Range<usize>,
}

impl Located {
    /// Parses the text.
    pub fn parse(&self) -> Result<Reference, Malformed> {
        match self.form {
            Form::File => Ok(Reference::File { path: paths::normalize(&self.text), name: String::new() }),
            Form::Dotted if !is_file_path(&self.text[self.path_part()]) => parse_dotted(&self.text),
            _ => parse(&self.text),
        }
    }

    /// The bytes of the file or module.
    pub fn path_part(&self) -> Range<usize> {
        0..self.separator().unwrap_or(self.text.len())
    }

    /// The bytes of the name.
    pub fn name_part(&self) -> Range<usize> {
        let end = self.text.len();
        self.separator().map_or(end..end, |at| at + 1..end)
    }

    /// The same name in `module`, if the key takes a module.
    pub fn with_module(&self, module: &str) -> Option<String> {
        let name = &self.text[self.name_part()];
        match self.form {
            Form::Name => Some(format!("{module}:{name}")),
            Form::Dotted => Some(format!("{module}.{name}")),
            Form::Model | Form::File => None,
        }
    }

    fn separator(&self) -> Option<usize> {
        let colon = self.text.rfind(':');
        match self.form {
            Form::File => None,
            Form::Dotted if colon.is_none() && !self.text.contains(['/', '\\']) => self.text.rfind('.'),
            _ => colon,
        }
    }
}

/// Parses `<file>:<name>` or `<module>:<name>`.
pub fn parse(text: &str) -> Result<Reference, Malformed> {
    let malformed = |message: &str, part: Range<usize>| Err(Malformed { message: message.to_owned(), part });
    let Some(colon) = text.rfind(':') else {
        return malformed("names a file, but nothing in it", 0..text.len());
    };
    let (file, name) = (&text[..colon], &text[colon + 1..]);
    if file.trim().is_empty() {
        return malformed("has no file before the `:`", 0..text.len());
    }
    if name.is_empty() {
        return malformed("has no name after the `:`", colon..text.len());
    }
    if let Some(second) = file.find(':').filter(|&at| at > 1 || !file[at..].starts_with(":\\")) {
        return malformed("has more than one `:`", second..text.len());
    }
    if name.contains(['/', '\\']) {
        return malformed("has a path after the `:`", colon + 1..text.len());
    }
    if !is_name(name) {
        return malformed("has an invalid name after the `:`", colon + 1..text.len());
    }
    let name = name.to_owned();
    if is_file_path(file) {
        Ok(Reference::File { path: paths::normalize(file), name })
    } else if is_name(file) {
        Ok(Reference::Module { module: file.to_owned(), name })
    } else {
        malformed("is neither a file path nor a Python module", 0..colon)
    }
}

/// Parses `<module>.<name>`.
fn parse_dotted(text: &str) -> Result<Reference, Malformed> {
    let malformed = |message: &str, part: Range<usize>| Err(Malformed { message: message.to_owned(), part });
    if let Some(colon) = text.find(':') {
        return malformed("has a `:` after a module", colon..colon + 1);
    }
    match text.rsplit_once('.').filter(|_| is_name(text)) {
        Some((module, name)) => Ok(Reference::Module { module: module.to_owned(), name: name.to_owned() }),
        None => malformed("is neither a file path nor a dotted name", 0..text.len()),
    }
}

/// Whether the part before the `:` is a file rather than an importable module.
fn is_file_path(file: &str) -> bool {
    file.contains(['/', '\\']) || file.ends_with(".py") || paths::is_javascript(file)
}

fn is_name(name: &str) -> bool {
    name.split('.').all(is_identifier)
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// Whether a value of `embed` names a function in a file, rather than a provider's model.
pub fn is_embed_function(embed: &str) -> bool {
    let file = embed.rsplit_once(':').map_or(embed, |(file, _)| file);
    // Names of models may contain slashes and colons: `ollama:hub/model:latest`.
    is_file_path(file) && !file.contains(':')
}

/// All references of the configuration, in the order of the table of keys.
pub fn all(config: &Value) -> Vec<Located> {
    let mut found = Vec::new();
    for key in KEYS {
        let Holds::Reference(form, languages, value) = key.holds else { continue };
        let texts = texts(key, config);
        let texts = texts.filter(|(_, text)| form != Form::Model || is_embed_function(text));
        found.extend(texts.map(|(pointer, text)| Located { key, form, languages, value, pointer, text }));
    }
    found
}

/// All files that the configuration names and that are not code, in the order of the table of keys.
pub fn files(config: &Value) -> impl Iterator<Item = NamedFile> {
    let keys = KEYS.iter().filter(|key| matches!(key.holds, Holds::Environment | Holds::File));
    keys.flat_map(|key| texts(key, config).map(|(pointer, path)| NamedFile { key, pointer, path }))
}

/// The texts at the places of `key`.
fn texts(key: &Key, config: &Value) -> impl Iterator<Item = (Pointer, String)> {
    let mut found = Vec::new();
    collect(Pointer::root(), config, key.parts(), &mut found);
    found.into_iter()
}

/// Adds the texts below `value`, which is at `at`, that these parts of a row's pointer match.
fn collect(
    at: Pointer,
    value: &Value,
    mut parts: impl Iterator<Item = &'static str> + Clone,
    found: &mut Vec<(Pointer, String)>,
) {
    match parts.next() {
        None => found.extend(value.as_str().map(|text| (at, text.to_owned()))),
        Some("*") => {
            for (key, value) in value.as_object().into_iter().flatten() {
                collect(at.join(key), value, parts.clone(), found);
            }
        }
        Some(part) => {
            if let Some(value) = value.get(part) {
                collect(at.join(part), value, parts, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        let file = |path: &str, name: &str| Ok(Reference::File { path: path.into(), name: name.into() });
        let module =
            |module: &str, name: &str| Ok(Reference::Module { module: module.into(), name: name.into() });
        assert_eq!(parse("./src/a.py:graph"), file("src/a.py", "graph"));
        assert_eq!(parse("a.ts:default"), file("a.ts", "default"));
        assert_eq!(parse("../x/a.py:make.graph"), file("../x/a.py", "make.graph"));
        assert_eq!(parse("agent.graphs:app"), module("agent.graphs", "app"));
        assert_eq!(parse_dotted("agent.store.make"), module("agent.store", "make"));
    }

    #[test]
    fn malformed() {
        for (text, part) in [
            ("./a.py", "./a.py"),
            ("./a.py:", ":"),
            (":x", ":x"),
            ("./a.py:b:c", ":b:c"),
            ("./a.py:1 bad", "1 bad"),
            ("a b:c", "a b"),
        ] {
            assert_eq!(&text[parse(text).unwrap_err().part], part, "{text}");
        }
        for (text, part) in [("pkg.mod:make", ":"), ("make", "make"), ("a b.c", "a b.c")] {
            assert_eq!(&text[parse_dotted(text).unwrap_err().part], part, "{text}");
        }
    }
}
