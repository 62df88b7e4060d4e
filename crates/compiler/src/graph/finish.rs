//! Builders to graphs: where the nodes and routes of a builder lead.

pub(super) mod problem;

use std::collections::HashMap;
use std::rc::Rc;

use indexmap::IndexMap;

use super::code::Function;
use super::interpret::Interpreter;
use super::interpret::builder::{Action, Branch, Draft};
use super::value::{Arguments, Closure, Text, Value};
use super::{END, Edge, Graph, Kind, Modules, Node, Place, START};
use crate::manifests::stack::with_stack;
use crate::paths;
use problem::Next;

/// Stack of the interpreter, in bytes.
const STACK: usize = 32 * 1024 * 1024;

/// How a target is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The graph declares it: `compile` checks the targets of maps and options.
    Declared,
    /// By an annotation.
    Annotated,
    /// The code names it.
    Named,
    /// A value may mean it that is not known, or a `Send`, which needs no entry in a map.
    Possible,
}

/// Where a node or a route leads to.
#[derive(Debug, Default)]
pub(super) struct Exit {
    pub(super) source: Rc<str>,
    pub(super) targets: Vec<(Text, Known)>,
    /// The function of a route.
    pub(super) route: Option<Rc<Function>>,
    /// The results that the map of a route takes, if it has one and all are known.
    pub(super) keys: Option<Vec<Rc<str>>>,
    /// Whether there may be other targets.
    pub(super) is_open: bool,
    /// Whether the graph certainly has them.
    is_certain: bool,
    /// Whether unknown code may lead anywhere.
    pub(super) may_roam: bool,
}

impl Exit {
    fn add(&mut self, targets: impl IntoIterator<Item = Text>, known: Known) {
        self.targets.extend(targets.into_iter().map(|it| (it, known)));
    }

    fn has(&self, known: Known) -> bool {
        self.targets.iter().any(|it| it.1 == known)
    }
}

/// See [`super::read`].
pub(super) fn read(modules: &dyn Modules, path: &str, name: &str) -> Option<Graph> {
    with_stack(STACK, || read_with(modules, path, name))?
}

fn read_with(modules: &dyn Modules, path: &str, name: &str) -> Option<Graph> {
    let mut interpreter = Interpreter::new(modules);
    let value = interpreter.global(path, name)?;
    let mut found = Vec::new();
    graphs(&mut interpreter, value, &mut found);
    let draft = interpreter.drafts[*found.first()?].clone();
    let is_same = |other: &Draft| {
        other.nodes.keys().eq(draft.nodes.keys())
            && other.edges.len() == draft.edges.len()
            && other.branches.len() == draft.branches.len()
    };
    let is_one = found.iter().all(|at| is_same(&interpreter.drafts[*at]));
    Some(finish(&mut interpreter, draft, is_one))
}

/// The graphs that a value is, or that it returns.
fn graphs(interpreter: &mut Interpreter<'_>, value: Value, found: &mut Vec<usize>) {
    match value {
        Value::Graph(at) | Value::Builder(at) => found.push(at),
        Value::Either(all) => all.iter().for_each(|value| graphs(interpreter, value.clone(), found)),
        Value::Function(closure) => {
            let result = interpreter.invoke(&closure, Arguments::default());
            if !matches!(result, Value::Function(_)) {
                graphs(interpreter, result, found);
            }
        }
        _ => {}
    }
}

fn finish(interpreter: &mut Interpreter<'_>, draft: Draft, is_one: bool) -> Graph {
    let is_python = !paths::is_javascript(&draft.place.file);
    let nodes =
        draft.nodes.iter().map(|(name, action)| of_node(interpreter, name, action, is_python, &draft));
    let mut exits: Vec<_> = nodes.collect();
    exits.extend(draft.branches.iter().map(|branch| of_branch(interpreter, branch, is_python)));
    let is_known = is_one && interpreter.budget > 0 && !draft.is_open;
    let problems = if is_known && !draft.is_made {
        problem::find(interpreter.modules, &draft, &exits, is_python)
    } else {
        Vec::new()
    };
    // Whether a run may take another one, and whether it is certain.
    let mut edges: IndexMap<(Rc<str>, Rc<str>), (bool, bool)> = IndexMap::new();
    let is_node = |name: &str| draft.nodes.contains_key(name) || [START, END].contains(&name);
    let mut add = |source: &Rc<str>, target: &Rc<str>, conditional: bool, certain: bool| {
        if is_node(source) && is_node(target) {
            let edge = edges.entry((source.clone(), target.clone())).or_insert((conditional, false));
            *edge = (edge.0 && conditional, edge.1 || certain && is_one);
        }
    };
    draft.edges.iter().for_each(|(source, target, certain)| add(&source.text, &target.text, false, *certain));
    for exit in &exits {
        for (target, known) in &exit.targets {
            let certain = match known {
                Known::Declared => exit.is_certain,
                Known::Annotated => exit.is_certain && is_python,
                Known::Named if exit.keys.is_none() => false,
                _ => continue,
            };
            add(&exit.source, &target.text, true, certain);
        }
    }
    // A run ends after a node that nothing follows. JavaScript draws that only where no edge leads to the end.
    let mut next = Next::new();
    for (source, target) in edges.keys() {
        next.entry(source).or_default().insert(target);
    }
    let reached = problem::reached([START], &next);
    let is_routed = |name: &str| draft.branches.iter().any(|branch| *branch.source.text == *name);
    let is_last = |it: &&Exit| {
        let is_end = !it.may_roam && !it.is_open && !next.contains_key(&*it.source);
        is_end && reached.contains(&*it.source) && !is_routed(&it.source)
    };
    let is_implied = is_python || !reached.contains(END);
    let last = exits.iter().take(draft.nodes.len()).filter(|it| is_implied && is_last(it));
    let last: Vec<_> =
        last.map(|it| ((it.source.clone(), END.into()), (false, is_one && !draft.is_open))).collect();
    edges.extend(last);
    let edge = |((source, target), (conditional, certain)): (_, (bool, bool))| {
        let (source, target): (Rc<str>, Rc<str>) = (source, target);
        Edge { source: source.to_string(), target: target.to_string(), conditional, certain }
    };
    let edges: Vec<_> = edges.into_iter().map(edge).collect();
    let mut lines = Lines { modules: interpreter.modules, files: HashMap::new() };
    let end = |id: &str, kind| Node { id: id.to_owned(), kind, tools: Vec::new(), file: None, line: None };
    let mut nodes = vec![end(START, Kind::Start)];
    nodes.extend(draft.nodes.iter().map(|(id, action)| Node {
        id: id.to_string(),
        kind: action.kind,
        tools: action.tools.iter().map(|tool| tool.text.to_string()).collect(),
        line: lines.line(&action.place),
        file: Some(action.place.file.to_string()).filter(|file| !file.is_empty()),
    }));
    nodes.extend(edges.iter().any(|edge| edge.target == END).then(|| end(END, Kind::End)));
    let is_complete = is_known && exits.iter().all(|it| !it.is_open);
    let line = lines.line(&draft.place).unwrap_or(1);
    Graph { line, place: draft.place, is_complete, nodes, edges, problems }
}

/// Where a node leads to by itself: what it declares, and the commands that it may return.
fn of_node(
    interpreter: &mut Interpreter<'_>,
    name: &Rc<str>,
    action: &Action,
    is_python: bool,
    draft: &Draft,
) -> Exit {
    let mut exit = Exit { source: name.clone(), is_certain: true, ..Exit::default() };
    if let Some((declared, is_open)) = action.ends.as_ref().map(Value::texts) {
        exit.add(declared, Known::Declared);
        exit.is_open = is_open;
    }
    let function = match &action.value {
        object @ Value::Object(_) => interpreter.member(object, "__call__"),
        other => other.clone(),
    };
    let Value::Function(closure) = function else {
        exit.may_roam = match function {
            Value::Plain => false,
            Value::ToolNode(..) | Value::Graph(_) => {
                interpreter.modules.text(&draft.place.file).is_none_or(|text| text.contains("Command"))
            }
            _ => true,
        };
        return exit;
    };
    if is_python && action.ends.is_none() {
        let annotation = interpreter.annotation(&closure);
        let all =
            if let Value::Either(all) = &annotation { &***all } else { std::slice::from_ref(&annotation) };
        let command = all.iter().find(|it| matches!(it, Value::Command(_)));
        exit.add(command.map(|it| it.texts().0).unwrap_or_default(), Known::Annotated);
    }
    interpreter.is_local = true;
    interpreter.jumps.clear();
    exit.may_roam = called(interpreter, &closure).iter().any(is_unknown);
    interpreter.is_local = false;
    let is_declared = exit.has(Known::Declared) || exit.has(Known::Annotated);
    for jump in std::mem::take(&mut interpreter.jumps) {
        let (named, is_open) = jump.texts();
        exit.add(named, Known::Named);
        let is_command = matches!(jump, Value::Command(_));
        exit.is_open |= is_command && is_open && !is_declared;
        exit.may_roam |= is_open || !is_command;
    }
    exit
}

/// Whether a node that returns `value` may return a command that is not known.
fn is_unknown(value: &Value) -> bool {
    match value {
        Value::Plain | Value::Nothing | Value::Text(_) | Value::Map(_) | Value::Command(_) => false,
        Value::List(all) | Value::Either(all) => all.iter().any(is_unknown),
        _ => true,
    }
}

/// Calls the function of a node or route with the state.
fn called(interpreter: &mut Interpreter<'_>, closure: &Closure) -> Vec<Value> {
    let positional = vec![Value::Plain; closure.function.parameters.len()];
    interpreter.level += 1;
    let results = interpreter.returned(closure, Arguments { positional, ..Arguments::default() });
    interpreter.level -= 1;
    results
}

fn of_branch(interpreter: &mut Interpreter<'_>, branch: &Branch, is_python: bool) -> Exit {
    let (source, is_certain) = (branch.source.text.clone(), branch.is_certain);
    let mut exit = Exit { source, is_certain, is_open: true, ..Exit::default() };
    let mut annotated = Vec::new();
    match &branch.route {
        Value::Function(closure) => {
            let annotation = interpreter.annotation(closure);
            if matches!(annotation, Value::Literal(_))
                || !is_python && matches!(annotation, Value::Either(_) | Value::Text(_))
            {
                (annotated, exit.is_open) = annotation.texts();
            }
            let is_annotated = !annotated.is_empty() && !exit.is_open;
            let mut is_unknown = false;
            for result in called(interpreter, closure) {
                let (all, is_doubtful) = result.texts();
                let sent = result.sent();
                let plain = all.into_iter().filter(|it| !sent.iter().any(|sent| sent.text == it.text));
                exit.add(plain, if is_doubtful { Known::Possible } else { Known::Named });
                exit.add(sent, Known::Possible);
                is_unknown |= is_doubtful;
            }
            exit.is_open = !is_annotated && (is_unknown || exit.targets.is_empty());
            exit.route = Some(closure.function.clone());
        }
        Value::Library(name) if ["tools_condition", "toolsCondition"].contains(&&**name) => {
            let at = |text: &str| Text { text: text.into(), place: branch.source.place.clone() };
            annotated = vec![at("tools"), at(END)];
            exit.is_open = false;
        }
        _ => {}
    }
    // A route may return what a list or a map of other keys takes.
    let mut is_annotated = true;
    let mut declared = Vec::new();
    if let Some(map) = &branch.map {
        (declared, exit.is_open) = map.texts();
        exit.is_open |= !matches!(map, Value::Map(_) | Value::List(_));
        let keys = map.items().unwrap_or_default();
        exit.keys = keys.iter().map(|key| key.text().map(|it| it.text.clone())).collect();
        is_annotated = exit.is_open;
    }
    let named = std::mem::take(&mut exit.targets);
    exit.add(declared, Known::Declared);
    exit.add(annotated.into_iter().filter(|_| is_annotated), Known::Annotated);
    exit.targets.extend(named);
    exit
}

/// The lines of files.
struct Lines<'a> {
    modules: &'a dyn Modules,
    files: HashMap<Rc<str>, Vec<u32>>,
}

impl Lines<'_> {
    /// The line at which `place` starts, from 1.
    fn line(&mut self, place: &Place) -> Option<usize> {
        if !self.files.contains_key(&place.file) {
            let text = self.modules.text(&place.file)?;
            let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            let ends = ends.map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect();
            self.files.insert(place.file.clone(), ends);
        }
        let ends = self.files.get(&place.file)?;
        Some(ends.partition_point(|end| *end < place.span.start) + 1)
    }
}
