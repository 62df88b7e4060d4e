//! The graphs that the configuration names, read from their source: see [`graph`](crate::graph).

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::{Context, modules};
use crate::diagnostic::{Diagnostic, Place, Pointer, Related, Rule, rule};
use crate::files::Files;
use crate::front::config::Config;
use crate::front::document::Document;
use crate::front::reference::{Located, Reference};
use crate::graph::{self, Graph, Modules, ProblemKind};
use crate::paths;
use crate::tree::Tree;

/// All rules of this check.
pub(super) const RULES: &[&Rule] =
    &[&DEAD_END_NODE, &ENDLESS_CYCLE, &INVALID_GRAPH, &UNKNOWN_ROUTE, &UNREACHABLE_NODE];

/// Endings of the files that a specifier of JavaScript may mean. One with an ending of its own may mean TypeScript.
const ENDINGS: &[&str] = &["", ".ts", ".tsx", ".js", ".mjs", "/index.ts", "/index.tsx", "/index.js"];

pub(super) fn check(context: &mut Context<'_>) {
    let mut reported = BTreeSet::new();
    for located in context.references.clone().iter().filter(|it| is_graph(it)) {
        let project = Project { context, texts: RefCell::default() };
        let Some(found) = project.read(located) else { continue };
        let diagnostics: Vec<_> = found
            .problems
            .iter()
            .filter_map(|problem| {
                let rule = match problem.kind {
                    ProblemKind::Invalid => &INVALID_GRAPH,
                    ProblemKind::Unreachable => &UNREACHABLE_NODE,
                    ProblemKind::Endless => &ENDLESS_CYCLE,
                    ProblemKind::UnknownRoute => &UNKNOWN_ROUTE,
                    ProblemKind::DeadEnd => &DEAD_END_NODE,
                };
                let span = problem.place.span.start as usize..problem.place.span.end as usize;
                let text = project.text(&problem.place.file)?;
                let related = Related::new(&problem.place.file, &text, span, "here");
                // Two names may lead to one graph.
                let key = (problem.place.file.clone(), problem.place.span.start, problem.message.clone());
                let message = format!("in the graph `{}`, {}", id(located), problem.message);
                let place = Place::Value(located.pointer.clone());
                reported
                    .insert(key)
                    .then(|| Diagnostic::new(rule, place, message).help(&*problem.help).mistake(related))
            })
            .collect();
        diagnostics.into_iter().for_each(|diagnostic| context.report(diagnostic));
    }
}

/// The graphs of the configuration by name, with their files and the names there; `None` if the source shows no graph.
pub fn graphs(document: &Document, config: &Config, files: &Tree) -> Vec<(String, Located, Option<Graph>)> {
    let removed = BTreeSet::new();
    let context = Context::new(document, config, files, &removed);
    let project = Project { context: &context, texts: RefCell::default() };
    let located = context.references.iter().filter(|it| is_graph(it));
    located.map(|it| (id(it), it.clone(), project.read(it))).collect()
}

fn is_graph(located: &Located) -> bool {
    located.pointer.is_within(&Pointer::parse("/graphs"))
}

/// The name of the graph.
fn id(located: &Located) -> String {
    located.pointer.keys().nth(1).unwrap_or_default()
}

/// The modules of the project.
struct Project<'a, 'c> {
    context: &'a Context<'c>,
    texts: RefCell<HashMap<String, Option<Rc<str>>>>,
}

impl Project<'_, '_> {
    fn read(&self, located: &Located) -> Option<Graph> {
        match located.parse().ok()? {
            Reference::File { path, name } => graph::read(self, &path, &name),
            Reference::Module { module, name } => {
                graph::read(self, &modules::resolve(self.context, &module)?, &name)
            }
        }
    }
}

impl Modules for Project<'_, '_> {
    fn resolve(&self, from: &str, level: usize, module: &str) -> Option<String> {
        let files = self.context.files;
        if paths::is_javascript(from) {
            let inner = module.strip_prefix("@/");
            let base = inner.map_or_else(|| paths::parent(from).to_owned(), |_| "src".to_owned());
            let path = paths::join(&base, inner.unwrap_or(module));
            let stem = [".js", ".mjs"].iter().find_map(|ending| path.strip_suffix(ending)).map(str::to_owned);
            let is_local = inner.is_some() || module.starts_with('.');
            let all = [Some(path), stem].into_iter().flatten().filter(|_| is_local);
            let mut all = all.flat_map(|path| ENDINGS.iter().map(move |ending| format!("{path}{ending}")));
            return all.find(|path| files.is_file(path));
        }
        if level == 0 {
            let first = module.split('.').next().unwrap_or_default();
            return modules::resolve(self.context, module).filter(|_| modules::may_have(self.context, first));
        }
        let package = paths::join(paths::parent(from), &"../".repeat(level - 1));
        modules::files_of(&package, module).into_iter().find(|path| files.is_file(path))
    }

    fn text(&self, path: &str) -> Option<Rc<str>> {
        let mut texts = self.texts.borrow_mut();
        let read = || Some(self.context.files.text(path)?.trim_start_matches('\u{feff}').into());
        texts.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

static INVALID_GRAPH: Rule = rule!("invalid-graph");

static UNREACHABLE_NODE: Rule = rule!("unreachable-node");

static ENDLESS_CYCLE: Rule = rule!("endless-cycle");

static UNKNOWN_ROUTE: Rule = rule!("unknown-route");

static DEAD_END_NODE: Rule = rule!("dead-end-node");
