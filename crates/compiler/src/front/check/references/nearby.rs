//! What a path that leads nowhere was probably meant to be.

use crate::files::Files;
use crate::front::check::Context;
use crate::manifests::dependency::MANIFESTS;
use crate::paths;
use crate::words::similar;

/// Endings of files that can be loaded, in the order in which they are tried.
const ENDINGS: &[&str] = &[".py", ".ts", ".tsx", ".js", ".mjs", ".jsx", ".mts", ".cjs", ".cts"];

/// An existing file that `path` may be a misspelling of.
pub(super) fn suggest(context: &Context<'_>, path: &str) -> Option<String> {
    let found = |path: &String| context.files.is_file(path);
    other_ending(path)
        .find(found)
        .or_else(|| other_base(context, path).find(found))
        .or_else(|| misspelt(context, path))
}

/// The directory to list in `dependencies` so that `path` lies in it: the nearest one with a manifest.
pub(super) fn home(context: &Context<'_>, path: &str) -> String {
    let inside = paths::lies_in(path, ".");
    let mut directory = paths::parent(path);
    loop {
        if MANIFESTS.iter().any(|name| context.files.is_file(&paths::join(directory, name))) {
            return directory.to_owned();
        }
        let end = directory == "." || directory == "/" || directory.split('/').all(|part| part == "..");
        if end {
            break;
        }
        directory = paths::parent(directory);
    }
    if inside { "." } else { paths::parent(path) }.to_owned()
}

/// The same file under another ending, or as a package's `__init__.py`.
fn other_ending(path: &str) -> impl Iterator<Item = String> + '_ {
    let name = paths::file_name(path);
    let stem = name.rfind('.').filter(|&at| at > 0).map_or(path, |at| &path[..path.len() - name.len() + at]);
    let packages = [path, stem].map(|stem| format!("{stem}/__init__.py"));
    let endings =
        ENDINGS.iter().flat_map(move |ending| [format!("{path}{ending}"), format!("{stem}{ending}")]);
    endings.chain(packages)
}

/// The same path in another place: in a dependency, in `src`, or without its first directories.
fn other_base<'a>(context: &'a Context<'_>, path: &'a str) -> impl Iterator<Item = String> + 'a {
    let directories = context.directories().into_iter().map(|local| local.path.clone());
    let bases = directories.chain([".".to_owned()]);
    let below =
        bases.flat_map(move |base| [paths::join(&base, path), paths::join(&base, &format!("src/{path}"))]);
    let shorter = path.match_indices('/').map(|(at, _)| path[at + 1..].to_owned());
    below.chain(shorter)
}

/// The same path with its first wrong part spelt like something that is there.
fn misspelt(context: &Context<'_>, path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let wrong = (1..=parts.len()).find(|&count| context.files.kind(&parts[..count].join("/")).is_none())?;
    let parent = match wrong {
        1 => ".".to_owned(),
        _ => parts[..wrong - 1].join("/"),
    };
    let entries = context.files.list(&parent);
    let near = similar(parts[wrong - 1], entries.iter().map(|(name, _)| name.as_str()))?;
    let mended = paths::join(&parent, &[&[near], &parts[wrong..]].concat().join("/"));
    context.files.is_file(&mended).then_some(mended)
}
