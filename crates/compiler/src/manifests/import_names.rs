//! The names under which packages are imported: those of the standard library, of the server, and of well-known
//! distributions. `data/import-names.txt` has them, with their sources.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::manifests::requirement::normalized_name;
use crate::manifests::symbols::Import;

const DATA: &str = include_str!("../../data/import-names.txt");

/// The words of each section; those of `distributions` are modules.
static SECTIONS: LazyLock<HashMap<&str, HashSet<&str>>> = LazyLock::new(|| {
    let sections = DATA.split("\n[").skip(1).filter_map(|section| section.split_once("]\n"));
    let lines = |text: &'static str| text.lines().filter(|line| !line.starts_with('#'));
    let words =
        |line: &'static str| line.split_once(':').map_or(line, |(module, _)| module).split_whitespace();
    sections.map(|(name, text)| (name, lines(text).flat_map(words).collect())).collect()
});

/// Whether the image has the module without any requirement.
pub fn is_provided(module: &str) -> bool {
    module.starts_with('_') || has("standard", module) || has("server", module)
}

/// Whether Node.js has the module `name` itself.
pub fn is_of_node(name: &str) -> bool {
    has("node", name)
}

/// Whether packages of npm often bring the package `name`.
pub fn is_often_brought(name: &str) -> bool {
    has("brought", name)
}

/// The normalised names of the distributions of which one is needed to import `module`, if they are known.
pub fn distributions(module: &str) -> Option<Vec<String>> {
    if has("distributions", module) {
        let names = DATA.lines().find_map(|line| line.strip_prefix(module)?.strip_prefix(": "));
        return names.map(|names| names.split(' ').map(str::to_owned).collect());
    }
    has("namesakes", module).then(|| vec![normalized_name(module)])
}

/// The same for an integration of the library, and for a module that hardly any distribution brings, if all are known.
pub fn integration(module: &str, all_known: bool) -> Option<Vec<String>> {
    let is_integration = module.starts_with("langchain_") && !has("shared", module);
    distributions(module).filter(|_| is_integration || all_known && has("rare", module))
}

/// The part of a package of the image that an import takes something from, if the part is a distribution of its own.
pub fn part(import: &Import) -> Option<String> {
    import.loaded().into_iter().find(|module| module.contains('.') && has("distributions", module))
}

/// Whether a distribution that is not in [alone] brings no integration of the library either, by its name.
pub fn is_unrelated(distribution: &str) -> bool {
    let is_of = |word: &str, part: &str| word.starts_with(part) || word.ends_with(part);
    !distribution.split('-').any(|word| SECTIONS["bringing"].iter().any(|part| is_of(word, part)))
}

/// Whether a distribution, with extras or without, brings no integration with it.
pub fn brings_no_integration(distribution: &str, has_extras: bool) -> bool {
    has("alone", distribution) && !(has_extras && ["langchain", "rich"].contains(&distribution))
}

/// The distribution of `dotenv`, if one that brings no integration, with extras or without, may bring it.
pub fn brought_dotenv(distribution: &str, has_extras: bool) -> Option<&'static str> {
    (has_extras || has("with-dotenv", distribution)).then_some("python-dotenv")
}

fn has(section: &str, name: &str) -> bool {
    SECTIONS[section].contains(name)
}
