//! The mistakes in a graph: those with which `compile` raises, and those that it says nothing of.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Exit, Known};
use crate::graph::interpret::builder::Draft;
use crate::graph::value::Text;
use crate::graph::{END, Modules, Place, START};
use crate::words::similar;

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// `compile` raises.
    Invalid,
    /// Nothing leads to a node.
    Unreachable,
    /// No path leads from a node to an end.
    Endless,
    /// A route or a node leads to something that is no node.
    UnknownRoute,
    /// Nothing follows a node, in JavaScript.
    DeadEnd,
}

/// A mistake in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong: a lowercase fragment.
    pub message: String,
    /// How to fix it, as an imperative.
    pub help: String,
}

/// The mistakes in a graph that is completely known but for its routes.
pub(in crate::graph) fn find(
    modules: &dyn Modules,
    draft: &Draft,
    exits: &[Exit],
    is_python: bool,
) -> Vec<Problem> {
    let mut finder = Finder { draft, is_python, problems: Vec::new() };
    finder.structure();
    finder.routes(exits);
    let is_known = exits.iter().all(|it| !it.is_open && !it.may_roam);
    if finder.problems.is_empty() && is_known {
        let text = modules.text(&draft.place.file).unwrap_or_default();
        finder.paths(exits, text.contains("interrupt"));
    }
    let mut problems = finder.problems;
    problems.sort_by(|a, b| order(a).cmp(&order(b)));
    problems.dedup();
    problems
}

struct Finder<'a> {
    draft: &'a Draft,
    is_python: bool,
    problems: Vec<Problem>,
}

impl Finder<'_> {
    fn report(&mut self, kind: ProblemKind, at: &Text, message: String, help: String) {
        self.problems.push(Problem { place: at.place.clone(), kind, message, help });
    }

    /// Handlers of errors are added with their nodes.
    fn is_node(&self, name: &str) -> bool {
        self.draft.nodes.contains_key(name) || name.starts_with("__error_handler__")
    }

    fn unknown(&mut self, kind: ProblemKind, target: &Text, what: &str) {
        let name = shown(&target.text);
        let help = match target.text.to_ascii_lowercase().trim_matches('_') {
            "end" => "did you mean `END`?".to_owned(),
            "start" => "did you mean `START`?".to_owned(),
            _ => match similar(&target.text, self.draft.nodes.keys().map(|it| &**it)) {
                Some(near) => format!("did you mean `{}`?", shown(near)),
                None => format!("add a node `{name}`, or name one that the graph has"),
            },
        };
        self.report(kind, target, format!("{what} `{name}`, which is no node of the graph"), help);
    }

    /// Everything that `compile` raises for.
    fn structure(&mut self) {
        let draft = self.draft;
        for name in &draft.refused {
            let shown = shown(&name.text);
            let (message, help) = if [START, END].contains(&&*name.text) {
                (format!("a node has the reserved name `{shown}`"), "give it another name")
            } else {
                (format!("there are two nodes `{shown}`"), "remove one, or give it another name")
            };
            self.report(ProblemKind::Invalid, name, message, help.to_owned());
        }
        let sources: Vec<_> = draft
            .edges
            .iter()
            .map(|edge| &edge.0)
            .chain(draft.branches.iter().map(|it| &it.source))
            .collect();
        let source = |it| (it, END, "an edge starts at", "`END`", "start it at a node");
        let target = |it| (it, START, "an edge leads to", "`START`", "lead it to a node");
        let interrupt = |it| (it, "", "an interrupt is set at", "", "");
        let targets = draft.edges.iter().map(|edge| target(&edge.1));
        let interrupts = draft.interrupts.iter().map(interrupt);
        for (at, wrong, what, name, help) in
            sources.iter().copied().map(source).chain(targets).chain(interrupts)
        {
            if *at.text == *wrong {
                self.report(ProblemKind::Invalid, at, format!("{what} {name}"), help.to_owned());
            } else if !self.is_node(&at.text) && (wrong.is_empty() || ![START, END].contains(&&*at.text)) {
                self.unknown(ProblemKind::Invalid, at, what);
            }
        }
        if self.is_python && !sources.iter().any(|it| &*it.text == START) {
            let at = Text { text: START.into(), place: draft.place.clone() };
            let help = "add an edge from `START` to the first node".to_owned();
            self.report(ProblemKind::Invalid, &at, "the graph has no entry point".to_owned(), help);
        }
    }

    /// Targets of routes and nodes. `compile` checks those that are declared.
    fn routes(&mut self, exits: &[Exit]) {
        // A route that several nodes share may return what only some of their maps have.
        let takes = |exit: &Exit, name: &str| {
            let is_same = |it: &&Exit| match (&it.route, &exit.route) {
                (Some(one), Some(other)) => Rc::ptr_eq(one, other),
                _ => false,
            };
            exits
                .iter()
                .filter(is_same)
                .any(|it| it.keys.as_ref().is_none_or(|keys| keys.iter().any(|key| **key == *name)))
        };
        for (exit, target, known) in
            exits.iter().flat_map(|exit| exit.targets.iter().map(move |it| (exit, &it.0, it.1)))
        {
            let is_node = &*target.text == END || self.is_node(&target.text);
            match (known, &exit.keys) {
                (Known::Declared, _) if !is_node => {
                    self.unknown(ProblemKind::Invalid, target, "a conditional edge leads to");
                }
                (Known::Annotated | Known::Named, Some(keys)) if !takes(exit, &target.text) => {
                    let message =
                        format!("the route returns `{}`, which is not in its map", shown(&target.text));
                    let help = match similar(&target.text, keys.iter().map(|it| &**it)) {
                        Some(near) => format!("did you mean `{}`?", shown(near)),
                        None => "add it to the map".to_owned(),
                    };
                    self.report(ProblemKind::UnknownRoute, target, message, help);
                }
                (Known::Annotated | Known::Named, None) if !is_node => {
                    self.unknown(ProblemKind::UnknownRoute, target, "a route leads to");
                }
                _ => {}
            }
        }
    }

    /// Nodes that no path reaches, nodes from which no path leads to an end, and nodes that nothing follows.
    fn paths(&mut self, exits: &[Exit], may_interrupt: bool) {
        let mut next = Next::new();
        for (source, target, _) in &self.draft.edges {
            next.entry(&source.text).or_default().insert(&target.text);
        }
        for exit in exits {
            let targets = exit.targets.iter().filter(|it| it.1 != Known::Named || exit.keys.is_none());
            next.entry(&exit.source).or_default().extend(targets.map(|it| &*it.0.text));
        }
        let is_last = |name: &str| next.get(name).is_none_or(BTreeSet::is_empty);
        let mut before = Next::new();
        for (source, targets) in &next {
            for target in targets {
                before.entry(target).or_default().insert(source);
            }
        }
        let reached = reached([START], &next);
        let ends = self.draft.nodes.keys().map(|name| &**name).filter(|name| is_last(name));
        let leaving = self::reached(ends.chain([END]), &before);
        // Where ends are implied everywhere, one more is meant so.
        let has_end = before.contains_key(END);
        let mut is_endless = false;
        for (name, action) in &self.draft.nodes {
            let at = Text { text: name.clone(), place: action.place.clone() };
            let shown = shown(name);
            if !reached.contains(&**name) {
                let message = format!("nothing leads to the node `{shown}`");
                let help = "add an edge to it, or remove it".to_owned();
                self.report(ProblemKind::Unreachable, &at, message, help);
                continue;
            }
            if is_last(name) && has_end && !self.is_python {
                let message = format!("nothing follows the node `{shown}`");
                let help = "add an edge from it, such as one to `END`".to_owned();
                self.report(ProblemKind::DeadEnd, &at, message, help);
            }
            // One for all: nodes before a cycle cannot leave it, either.
            if !leaving.contains(&**name) && !may_interrupt && !is_endless && self.draft.interrupts.is_empty()
            {
                is_endless = true;
                let message = format!("no path from the node `{shown}` leads to an end");
                let help = "add a conditional edge to `END`, or to a node outside of the cycle".to_owned();
                self.report(ProblemKind::Endless, &at, message, help);
            }
        }
    }
}

/// Nodes, and those that follow them.
pub(super) type Next<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The nodes on paths from `start`.
pub(super) fn reached<'a>(start: impl IntoIterator<Item = &'a str>, next: &Next<'a>) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&str> = start.into_iter().collect();
    while let Some(node) = open.pop() {
        if all.insert(node) {
            open.extend(next.get(node).into_iter().flatten());
        }
    }
    all
}

fn order(problem: &Problem) -> (&str, u32, ProblemKind, &str) {
    (&problem.place.file, problem.place.span.start, problem.kind, &problem.message)
}

/// A name in a message.
fn shown(name: &str) -> String {
    name.escape_debug().to_string()
}
