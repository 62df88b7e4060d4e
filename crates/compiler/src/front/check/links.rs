//! Symbolic links in local dependencies: are their targets part of the image?

use super::manifests::MAX_FINDINGS;
use super::{Context, entry, written};
use crate::diagnostic::{Diagnostic, Place, Rule, rule};
use crate::files::{FileKind, Files};
use crate::manifests::dockerignore::Ignore;
use crate::paths;
use crate::words::listed;

/// The rules of this check.
pub(super) const RULES: &[&Rule] = &[&DANGLING_LINK];

/// How deep directories are searched.
const MAX_DEPTH: usize = 8;

/// Directories that tools fill.
const FOREIGN: &[&str] = &["__pycache__", "node_modules", "venv"];

pub(super) fn check(context: &mut Context<'_>) {
    let mut found: Vec<(Option<usize>, String, String)> = Vec::new();
    for local in context.directories() {
        let ignore = context.files.text(&paths::join(&local.path, ".dockerignore"));
        let ignore = ignore.and_then(|text| Ignore::parse(&text).ok()).unwrap_or_default();
        let mut search = Search { context, base: &local.path, ignore, found: Vec::new() };
        search.directory(".", MAX_DEPTH);
        for (link, target) in search.found {
            if !found.iter().any(|(_, known, _)| *known == link) {
                found.push((local.index, link, target));
            }
        }
    }
    found.truncate(MAX_FINDINGS);
    for links in found.chunk_by(|(one, ..), (other, ..)| one == other) {
        let names: Vec<String> = links.iter().map(|(_, link, _)| written(link)).collect();
        let message = match links {
            [(_, _, target)] => {
                format!("`{}` is a symbolic link to `{target}`, which the image does not contain", names[0])
            }
            _ => format!(
                "{} are symbolic links to what the image does not contain",
                listed(names.iter().map(String::as_str))
            ),
        };
        context.report(Diagnostic::new(&DANGLING_LINK, Place::Value(entry(links[0].0)), message).help(
            "replace the link with its target, list the directory of the target too, or exclude the link in .dockerignore",
        ));
    }
}

struct Search<'a> {
    context: &'a Context<'a>,
    /// The local dependency.
    base: &'a str,
    ignore: Ignore,
    /// Links and their targets.
    found: Vec<(String, String)>,
}

impl Search<'_> {
    /// Searches the directory `at` of the dependency.
    fn directory(&mut self, at: &str, depth: usize) {
        let files = self.context.files;
        let place = paths::join(self.base, at);
        if files.is_file(&paths::join(&place, "pyvenv.cfg")) {
            return;
        }
        for (name, target) in files.links(&place) {
            let link = paths::join(&place, &name);
            let is_sent = is_own(&name) && !self.ignore.excludes(&paths::join(at, &name));
            let is_reported = self.context.was_refused(&link);
            if is_sent && !is_reported && self.leads_out(&place, &target) {
                self.found.push((link, target));
            }
        }
        for (name, kind) in files.list(&place) {
            let below = paths::join(at, &name);
            if kind == FileKind::Directory && depth > 0 && is_own(&name) && !self.ignore.excludes(&below) {
                self.directory(&below, depth - 1);
            }
        }
    }

    /// Whether `target`, as written in a link in `place`, lies in no local dependency.
    fn leads_out(&self, place: &str, target: &str) -> bool {
        let target = paths::shortened(&paths::join(place, target), &self.context.files.directory());
        let locals = self.context.all_locals.iter().map(|local| local.path.as_str());
        let project = self.context.config.has_javascript().then_some(".");
        target.starts_with('/') || !locals.chain(project).any(|local| paths::lies_in(&target, local))
    }
}

fn is_own(name: &str) -> bool {
    !name.starts_with('.') && !FOREIGN.contains(&name)
}

static DANGLING_LINK: Rule = rule!("dangling-link");
