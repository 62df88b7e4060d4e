//! References of the form `<file path>:<name>`, and every place of the configuration that holds one.

use std::ops::Range;

use crate::compiler::front::config::Config;
use crate::compiler::paths;
use crate::diagnostic::Pointer;

/// What a reference is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `auth.path`
    Auth,
    /// `checkpointer.path`
    Checkpointer,
    /// `store.index.embed`, where it names a function
    Embed,
    /// `encryption.path`
    Encryption,
    /// `graphs.*`
    Graph,
    /// `http.app`
    HttpApp,
    /// `priority.path`
    Priority,
    /// `store.path`
    Store,
    /// `ui.*`: a file without a name
    Ui,
}

/// One reference of the configuration.
#[derive(Clone, Debug)]
pub struct Located {
    /// What it is for.
    pub role: Role,
    /// Where it stands.
    pub pointer: Pointer,
    /// What is written there.
    pub text: String,
}

/// A reference taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A file, normalised, and a name in it.
    File {
        /// Relative to the configuration's directory.
        path: String,
        /// What is defined there.
        name: String,
    },
    /// An importable Python module and a name in it.
    Module {
        /// Dotted.
        module: String,
        /// What is defined there.
        name: String,
    },
}

/// Why a text is not a reference: what is wrong, and which bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// A lowercase fragment.
    pub message: String,
    /// The part that is wrong.
    pub part: Range<usize>,
}

/// Takes `text` apart.
pub fn parse(text: &str) -> Result<Reference, Malformed> {
    let malformed = |message: &str, part: Range<usize>| Err(Malformed { message: message.to_owned(), part });
    let Some(colon) = text.rfind(':') else {
        return malformed("names a file, but not what is defined in it", 0..text.len());
    };
    let (file, name) = (&text[..colon], &text[colon + 1..]);
    if file.trim().is_empty() {
        return malformed("names no file", 0..text.len());
    }
    if name.is_empty() {
        return malformed("has no name after the `:`", colon..text.len());
    }
    if let Some(second) = file.find(':').filter(|&at| at > 1 || !file[at..].starts_with(":\\")) {
        return malformed("has more than one `:`", second..text.len());
    }
    if name.contains(['/', '\\']) {
        return malformed("has a path where the name belongs", colon + 1..text.len());
    }
    if !is_name(name) {
        return malformed("has a name that no file can define", colon + 1..text.len());
    }
    let name = name.to_owned();
    if is_file_path(file) {
        Ok(Reference::File { path: paths::normalize(file), name })
    } else if file.split('.').all(is_identifier) {
        Ok(Reference::Module { module: file.to_owned(), name })
    } else {
        malformed("is neither a file path nor a Python module", 0..colon)
    }
}

/// Whether the part before the `:` means a file rather than an importable module.
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

/// Whether an `embed` value names a function in a file, rather than a provider's model.
pub fn is_embed_function(embed: &str) -> bool {
    let file = embed.rsplit_once(':').map_or(embed, |(file, _)| file);
    // A model's name may have slashes and colons too: `ollama:hub/model:latest`.
    is_file_path(file) && !file.contains(':')
}

/// Every reference of `config`, in the order of the schema.
pub fn all(config: &Config) -> Vec<Located> {
    let mut found = Vec::new();
    let mut add = |role, pointer: Pointer, text: Option<&String>| {
        found.extend(text.map(|text| Located { role, pointer, text: text.clone() }));
    };
    let graphs = Pointer::root().join("graphs");
    for (id, graph) in config.graphs.iter().flatten() {
        let at = graphs.join(id);
        add(Role::Graph, if graph.is_object { at.join("path") } else { at }, Some(&graph.path));
    }
    let at = Pointer::parse;
    add(Role::Auth, at("/auth/path"), config.auth.as_ref().and_then(|it| it.path.as_ref()));
    let store = config.store.as_ref();
    let embed = store.and_then(|it| it.index.as_ref()?.embed.as_ref()).filter(|it| is_embed_function(it));
    add(Role::Embed, at("/store/index/embed"), embed);
    add(Role::Store, at("/store/path"), store.and_then(|it| it.path.as_ref()));
    for (name, file) in config.ui.iter().flatten() {
        add(Role::Ui, at("/ui").join(name), Some(file));
    }
    add(
        Role::Checkpointer,
        at("/checkpointer/path"),
        config.checkpointer.as_ref().and_then(|it| it.path.as_ref()),
    );
    add(Role::HttpApp, at("/http/app"), config.http.as_ref().and_then(|it| it.app.as_ref()));
    add(Role::Encryption, at("/encryption/path"), config.encryption.as_ref().and_then(|it| it.path.as_ref()));
    add(Role::Priority, at("/priority/path"), config.priority.as_ref().and_then(|it| it.path.as_ref()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits() {
        let file = |path: &str, name: &str| Ok(Reference::File { path: path.into(), name: name.into() });
        assert_eq!(parse("./src/a.py:graph"), file("src/a.py", "graph"));
        assert_eq!(parse("a.ts:default"), file("a.ts", "default"));
        assert_eq!(parse("../x/a.py:make.graph"), file("../x/a.py", "make.graph"));
        assert_eq!(
            parse("agent.graphs:app"),
            Ok(Reference::Module { module: "agent.graphs".into(), name: "app".into() })
        );
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
    }
}
