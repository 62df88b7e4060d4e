//! Builders to graphs: where the nodes and routes of a builder lead.

pub(super) mod problem;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::code::Function;
use super::interpret::Interpreter;
use super::interpret::builder::{Action, Branch, Draft};
use super::value::{Arguments, Closure, Text, Value};
use super::{END, Edge, Graph, Kind, Modules, Node, Place, START};
use crate::manifests::stack::with_stack;
use crate::paths;

/// Stack of the interpreter, in bytes.
const STACK: usize = 32 * 1024 * 1024;

/// Where a node or a route leads to.
#[derive(Debug, Default)]
pub(super) struct Exits {
    pub(super) source: Rc<str>,
    /// The targets that the graph declares. `compile` checks those of maps and options.
    pub(super) declared: Vec<Text>,
    /// Those of an annotation.
    pub(super) annotated: Vec<Text>,
    /// Those that the code names.
    pub(super) named: Vec<Text>,
    /// Those that may be meant by a value that is not known, and those of `Send`, which need no entry in a map.
    pub(super) others: Vec<Text>,
    /// The function of a route.
    pub(super) route: Option<Rc<Function>>,
    /// The results that the map of a route takes, if it has one and all are known.
    pub(super) keys: Option<Vec<Rc<str>>>,
    /// Whether there may be other targets.
    pub(super) is_open: bool,
    /// Whether the graph certainly has them.
    pub(super) is_certain: bool,
    /// Whether unknown code may lead anywhere.
    pub(super) may_roam: bool,
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
    let mut exits = Vec::new();
    for (name, action) in &draft.nodes {
        exits.push(of_node(interpreter, name, action, is_python, &draft));
    }
    for branch in &draft.branches {
        exits.push(of_branch(interpreter, branch, is_python));
    }
    let is_read = interpreter.budget > 0;
    let is_complete = is_one && is_read && !draft.is_open && exits.iter().all(|it| !it.is_open);
    let problems = if draft.is_made || draft.is_open || !is_read || !is_one {
        Vec::new()
    } else {
        problem::find(interpreter.modules, &draft, &exits, is_python)
    };
    let mut edges: BTreeMap<(Rc<str>, Rc<str>), usize> = BTreeMap::new();
    let mut all: Vec<Edge> = Vec::new();
    let is_node = |name: &str| draft.nodes.contains_key(name) || [START, END].contains(&name);
    let mut add = |source: &Rc<str>, target: &Rc<str>, conditional: bool, certain: bool| {
        if !is_node(source) || !is_node(target) {
            return;
        }
        if let Some(at) = edges.get(&(source.clone(), target.clone())) {
            all[*at].certain |= certain && is_one;
            all[*at].conditional &= conditional;
            return;
        }
        edges.insert((source.clone(), target.clone()), all.len());
        all.push(Edge {
            source: source.to_string(),
            target: target.to_string(),
            conditional,
            certain: certain && is_one,
        });
    };
    for (source, target, is_certain) in &draft.edges {
        add(&source.text, &target.text, false, *is_certain);
    }
    for exit in &exits {
        exit.declared.iter().for_each(|target| add(&exit.source, &target.text, true, exit.is_certain));
        exit.annotated
            .iter()
            .for_each(|target| add(&exit.source, &target.text, true, is_python && exit.is_certain));
        let has_map = exit.keys.is_some();
        exit.named
            .iter()
            .filter(|_| !has_map)
            .for_each(|target| add(&exit.source, &target.text, true, false));
    }
    // A run ends after a node that nothing follows. JavaScript draws that only where no edge leads to the end.
    let mut next: HashMap<&str, Vec<&str>> = HashMap::new();
    all.iter().for_each(|edge| next.entry(&edge.source).or_default().push(&edge.target));
    let mut reached = HashSet::from([START]);
    let mut open = vec![START];
    while let Some(node) = open.pop() {
        open.extend(next.get(node).into_iter().flatten().filter(|to| reached.insert(to)));
    }
    let routed: HashSet<_> = draft.branches.iter().map(|branch| &*branch.source.text).collect();
    let is_last = |exit: &&Exits| {
        let may_follow = exit.may_roam || exit.is_open || routed.contains(&*exit.source);
        !may_follow && !next.contains_key(&*exit.source) && reached.contains(&*exit.source)
    };
    let is_implied = is_python || !reached.contains(END);
    let last = exits.iter().take(draft.nodes.len()).filter(|exit| is_implied && is_last(exit));
    let ends: Vec<_> = last
        .map(|exit| Edge {
            source: exit.source.to_string(),
            target: END.to_owned(),
            conditional: false,
            certain: !draft.is_open && is_one,
        })
        .collect();
    all.extend(ends);
    let mut lines = Lines { modules: interpreter.modules, files: HashMap::new() };
    let has_end = all.iter().any(|edge| edge.target == END);
    let end =
        |id: &str, kind: Kind| Node { id: id.to_owned(), kind, tools: Vec::new(), file: None, line: None };
    let mut nodes = vec![end(START, Kind::Start)];
    nodes.extend(draft.nodes.iter().map(|(id, action)| Node {
        id: id.to_string(),
        kind: action.kind,
        tools: action.tools.iter().map(|tool| tool.text.to_string()).collect(),
        line: lines.line(&action.place),
        file: Some(action.place.file.to_string()).filter(|file| !file.is_empty()),
    }));
    nodes.extend(has_end.then(|| end(END, Kind::End)));
    Graph {
        line: lines.line(&draft.place).unwrap_or(1),
        place: draft.place,
        is_complete,
        nodes,
        edges: all,
        problems,
    }
}

/// Where a node leads to by itself: what it declares, and the commands that it may return.
fn of_node(
    interpreter: &mut Interpreter<'_>,
    name: &Rc<str>,
    action: &Action,
    is_python: bool,
    draft: &Draft,
) -> Exits {
    let mut exits = Exits { source: name.clone(), is_certain: true, ..Exits::default() };
    let declared = action.ends.as_ref().map(Value::texts);
    let is_declared = declared.is_some();
    (exits.declared, exits.is_open) = declared.unwrap_or_default();
    let action = match &action.value {
        object @ Value::Object(_) => interpreter.member(object, "__call__"),
        other => other.clone(),
    };
    let Value::Function(closure) = action else {
        exits.may_roam = match action {
            Value::Plain => false,
            Value::ToolNode(..) | Value::Graph(_) => {
                interpreter.modules.text(&draft.place.file).is_none_or(|text| text.contains("Command"))
            }
            _ => true,
        };
        return exits;
    };
    if is_python && !is_declared {
        exits.annotated = match interpreter.annotation(&closure) {
            Value::Command(names) => Value::Command(names).texts().0,
            Value::Either(all) => {
                let command = all.iter().find(|it| matches!(it, Value::Command(_)));
                command.map(|it| it.texts().0).unwrap_or_default()
            }
            _ => Vec::new(),
        };
    }
    interpreter.is_local = true;
    interpreter.jumps.clear();
    let results = called(interpreter, &closure);
    interpreter.is_local = false;
    exits.may_roam = results.iter().any(is_unknown);
    for jump in std::mem::take(&mut interpreter.jumps) {
        let (named, is_open) = jump.texts();
        exits.named.extend(named);
        match jump {
            Value::Command(_) => {
                exits.is_open |= is_open && exits.declared.is_empty() && exits.annotated.is_empty()
            }
            _ => exits.may_roam = true,
        }
        exits.may_roam |= is_open;
    }
    exits
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

fn of_branch(interpreter: &mut Interpreter<'_>, branch: &Branch, is_python: bool) -> Exits {
    let mut exits =
        Exits { source: branch.source.text.clone(), is_certain: branch.is_certain, ..Exits::default() };
    let place = branch.source.place.clone();
    let (mut annotated, mut is_open) = (Vec::new(), true);
    match &branch.route {
        Value::Function(closure) => {
            match interpreter.annotation(closure) {
                literal @ Value::Literal(_) => (annotated, is_open) = literal.texts(),
                either @ (Value::Either(_) | Value::Text(_)) if !is_python => {
                    (annotated, is_open) = either.texts()
                }
                _ => {}
            }
            let is_annotated = !annotated.is_empty() && !is_open;
            let mut is_unknown = false;
            for result in called(interpreter, closure) {
                let (all, is_doubtful) = result.texts();
                let sent = result.sent();
                let plain = all.into_iter().filter(|it| !sent.iter().any(|sent| sent.text == it.text));
                if is_doubtful {
                    exits.others.extend(plain)
                } else {
                    exits.named.extend(plain)
                }
                exits.others.extend(sent);
                is_unknown |= is_doubtful;
            }
            let is_silent = exits.named.is_empty() && exits.others.is_empty();
            is_open = !is_annotated && (is_unknown || is_silent);
            exits.route = Some(closure.function.clone());
        }
        Value::Library(name) if ["tools_condition", "toolsCondition"].contains(&&**name) => {
            annotated = ["tools", END].map(|it| Text { text: it.into(), place: place.clone() }).to_vec();
            is_open = false;
        }
        _ => {}
    }
    match &branch.map {
        Some(map) => {
            let (declared, is_map_open) = map.texts();
            exits.declared = declared;
            exits.is_open = is_map_open || !matches!(map, Value::Map(_) | Value::List(_));
            let keys = map.items().unwrap_or_default();
            exits.keys = keys.iter().map(|key| key.text().map(|it| it.text.clone())).collect();
            // A route may return what a list or a map of other keys takes.
            exits.annotated = if exits.is_open { annotated } else { Vec::new() };
        }
        None => (exits.annotated, exits.is_open) = (annotated, is_open),
    }
    exits
}

/// The lines of files.
pub(super) struct Lines<'a> {
    pub(super) modules: &'a dyn Modules,
    pub(super) files: HashMap<Rc<str>, Vec<u32>>,
}

impl Lines<'_> {
    /// The line at which `place` starts, from 1.
    pub(super) fn line(&mut self, place: &Place) -> Option<usize> {
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
