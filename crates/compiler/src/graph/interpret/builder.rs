//! What calls of the library make: builders, their nodes and edges, and graphs of known shapes.

mod agents;

use indexmap::IndexMap;
use std::rc::Rc;

use super::Interpreter;
use crate::graph::code::Expr;
use crate::graph::value::{Arguments, Text, Value};
use crate::graph::{END, Kind, Place, START};

/// A graph under construction.
#[derive(Clone, Debug, Default)]
pub(in crate::graph) struct Draft {
    pub(in crate::graph) nodes: IndexMap<Rc<str>, Action>,
    /// Nodes of a name that was taken, or that is reserved.
    pub(in crate::graph) refused: Vec<Text>,
    /// Source, target, and whether it certainly exists.
    pub(in crate::graph) edges: Vec<(Text, Text, bool)>,
    pub(in crate::graph) branches: Vec<Branch>,
    pub(in crate::graph) interrupts: Vec<Text>,
    /// Whether something was added that is not known.
    pub(in crate::graph) is_open: bool,
    /// Whether it has the shape of an agent, which the library makes and checks itself.
    pub(in crate::graph) is_made: bool,
    pub(in crate::graph) name: Option<Rc<str>>,
    level: usize,
    pub(in crate::graph) place: Place,
}

/// A node under construction.
#[derive(Clone, Debug)]
pub(in crate::graph) struct Action {
    pub(in crate::graph) kind: Kind,
    pub(in crate::graph) place: Place,
    pub(in crate::graph) value: Value,
    /// The nodes that it declares to go to.
    pub(in crate::graph) ends: Option<Value>,
    pub(in crate::graph) tools: Vec<Text>,
}

/// Conditional edges under construction.
#[derive(Clone, Debug)]
pub(in crate::graph) struct Branch {
    pub(in crate::graph) source: Text,
    pub(in crate::graph) route: Value,
    pub(in crate::graph) map: Option<Value>,
    /// Whether the graph certainly has it.
    pub(in crate::graph) is_certain: bool,
}

impl Draft {
    fn edge(&mut self, source: &Text, target: &Text, is_certain: bool) {
        self.edges.push((source.clone(), target.clone(), is_certain));
    }
}

impl Interpreter<'_> {
    /// A method of a value.
    pub(in crate::graph) fn method(
        &mut self,
        value: Value,
        name: &str,
        arguments: Arguments,
        place: Place,
    ) -> Value {
        match (&value, name) {
            (Value::Builder(at), _) => self.build(*at, name, &arguments, place),
            (
                Value::Graph(_) | Value::Function(_),
                "with_config" | "withConfig" | "with_retry" | "withRetry" | "bind",
            ) => value,
            (Value::Map(_), "get") if value.entry("get").is_none() => {
                let key = arguments.positional.first().and_then(Value::text);
                key.and_then(|key| value.entry(&key.text)).cloned().unwrap_or(Value::Unknown)
            }
            (Value::Map(_), "items" | "keys" | "values") if value.entry(name).is_none() => {
                entries(name, &value)
            }
            (Value::List(items), "map") => {
                let function = arguments.positional.first().cloned().unwrap_or(Value::Unknown);
                let call = |item: &Value| {
                    let positional = vec![item.clone()];
                    self.call(&function, Arguments { positional, ..Arguments::default() }, place.clone())
                };
                Value::List(Rc::new(items.iter().map(call).collect()))
            }
            // `states.map((state) => new Send("node", state))`
            (Value::Plain | Value::Unknown, "map" | "flatMap") => match arguments.positional.first() {
                Some(Value::Function(it)) => {
                    let positional = vec![Value::Plain, Value::Plain];
                    self.invoke(&it.clone(), Arguments { positional, ..Arguments::default() })
                }
                _ => Value::Unknown,
            },
            _ => {
                let method = self.member(&value, name);
                self.call(&method, arguments, place)
            }
        }
    }

    fn draft(&mut self, place: Place) -> usize {
        self.drafts.push(Draft { level: self.level, place, ..Draft::default() });
        self.drafts.len() - 1
    }

    fn build(&mut self, at: usize, name: &str, arguments: &Arguments, place: Place) -> Value {
        let is_certain = self.level <= self.drafts[at].level;
        let changes = name.starts_with("add") || name.starts_with("set");
        self.drafts[at].is_open |= changes && (!is_certain || arguments.is_open);
        let get = |index: usize, name: &str, other: &str| {
            let named = arguments.option(name).or_else(|| arguments.option(other));
            named.or_else(|| arguments.positional.get(index)).cloned().unwrap_or(Value::Nothing)
        };
        let start = Value::Text(Text { text: START.into(), place: place.clone() });
        let end = Value::Text(Text { text: END.into(), place: place.clone() });
        match name {
            "add_node" | "addNode" => match arguments.get(0, "node") {
                Some(Value::Map(all)) => {
                    all.iter().for_each(|(name, action)| self.add(at, Some(name), action, arguments))
                }
                Some(Value::List(all)) => all.iter().for_each(|item| self.add_item(at, item)),
                Some(name @ Value::Text(_)) => {
                    self.add(at, Some(name), &get(1, "action", "action"), arguments)
                }
                Some(action) if arguments.positional.len() < 2 => self.add(at, None, action, arguments),
                _ => self.drafts[at].is_open = true,
            },
            "add_sequence" | "addSequence" => {
                let list = get(0, "nodes", "nodes");
                let items = match &list {
                    Value::Map(all) => Some(
                        all.iter()
                            .map(|(key, it)| Value::List(Rc::new(vec![key.clone(), it.clone()])))
                            .collect(),
                    ),
                    other => other.items(),
                };
                let before = self.drafts[at].nodes.len();
                self.drafts[at].is_open |= items.is_none();
                items.unwrap_or_default().iter().for_each(|item| self.add_item(at, item));
                let draft = &mut self.drafts[at];
                let added: Vec<_> = draft
                    .nodes
                    .iter()
                    .skip(before)
                    .map(|(name, it)| Text { text: name.clone(), place: it.place.clone() })
                    .collect();
                added.windows(2).for_each(|pair| draft.edge(&pair[0], &pair[1], is_certain));
            }
            "add_edge" | "addEdge" => {
                self.link(at, &get(0, "start_key", "startKey"), &get(1, "end_key", "endKey"), is_certain)
            }
            "set_entry_point" | "setEntryPoint" => self.link(at, &start, &get(0, "key", "key"), is_certain),
            "set_finish_point" | "setFinishPoint" => self.link(at, &get(0, "key", "key"), &end, is_certain),
            "add_conditional_edges" | "addConditionalEdges" => {
                let map = Some(get(2, "path_map", "pathMap")).filter(|map| !matches!(map, Value::Nothing));
                self.branch(at, &get(0, "source", "source"), get(1, "path", "path"), map);
                let then = arguments.option("then").or_else(|| arguments.positional.get(3));
                self.drafts[at].is_open |= then.is_some();
            }
            "set_conditional_entry_point" | "setConditionalEntryPoint" => {
                let map = Some(get(1, "path_map", "pathMap")).filter(|map| !matches!(map, Value::Nothing));
                self.branch(at, &start, get(0, "path", "path"), map);
            }
            "compile" => {
                let mut compiled = self.drafts[at].clone();
                compiled.name = arguments.option("name").and_then(Value::text).map(|it| it.text.clone());
                for option in ["interrupt_before", "interruptBefore", "interrupt_after", "interruptAfter"] {
                    let (texts, _) = arguments.option(option).map(Value::texts).unwrap_or_default();
                    compiled.interrupts.extend(texts.into_iter().filter(|it| &*it.text != "*"));
                }
                self.drafts.push(compiled);
                return Value::Graph(self.drafts.len() - 1);
            }
            _ => self.drafts[at].is_open |= changes && name != "set_node_defaults",
        }
        Value::Builder(at)
    }

    /// An item of a list of nodes: a name with its action and options, or the action alone.
    fn add_item(&mut self, at: usize, item: &Value) {
        match item {
            Value::List(parts) if parts.len() > 1 => {
                let positional = parts[1..].to_vec();
                self.add(at, Some(&parts[0]), &parts[1], &Arguments { positional, ..Arguments::default() });
            }
            action => self.add(at, None, action, &Arguments::default()),
        }
    }

    fn add(&mut self, at: usize, name: Option<&Value>, action: &Value, arguments: &Arguments) {
        let named = match (name, action) {
            (Some(name), _) => name.text().cloned(),
            (None, Value::Function(_)) => self.member(action, "__name__").text().cloned(),
            (None, Value::ToolNode(_, own)) => own
                .clone()
                .or_else(|| Some(Text { text: "tools".into(), place: self.drafts[at].place.clone() })),
            (None, Value::Graph(graph)) => {
                let Draft { name, place, .. } = &self.drafts[*graph];
                Some(Text { text: name.clone().unwrap_or_else(|| "LangGraph".into()), place: place.clone() })
            }
            _ => None,
        };
        let kind = match action {
            Value::Graph(_) => Kind::Subgraph,
            Value::ToolNode(..) => Kind::Tool,
            _ => Kind::Node,
        };
        let tools = if let Value::ToolNode(tools, _) = action { tools.to_vec() } else { Vec::new() };
        let ends = arguments.option("destinations").or_else(|| arguments.option("ends"));
        let ends = ends.filter(|it| !matches!(it, Value::Nothing)).map(|ends| match ends {
            // Of a map, the names are its keys.
            Value::Map(all) => Value::List(Rc::new(all.iter().map(|(key, _)| key.clone()).collect())),
            other => other.clone(),
        });
        let draft = &mut self.drafts[at];
        let Some(name) = named else {
            draft.is_open = true;
            return;
        };
        let is_reserved = [START, END].contains(&&*name.text);
        if is_reserved || draft.nodes.contains_key(&name.text) {
            draft.refused.push(name);
            return;
        }
        let value = action.clone();
        draft.nodes.insert(name.text, Action { kind, place: name.place, value, ends, tools });
    }

    fn link(&mut self, at: usize, source: &Value, target: &Value, is_certain: bool) {
        let ((sources, no_source), (targets, no_target)) = (source.texts(), target.texts());
        let is_choice = |value: &Value| matches!(value, Value::Either(_));
        let is_sure = is_certain && !is_choice(source) && !is_choice(target);
        let draft = &mut self.drafts[at];
        draft.is_open |= no_source || no_target || sources.is_empty() || targets.is_empty() || !is_sure;
        for source in &sources {
            targets.iter().for_each(|target| draft.edge(source, target, is_sure));
        }
    }

    fn branch(&mut self, at: usize, source: &Value, route: Value, map: Option<Value>) {
        let Draft { branches, is_open, level, is_made, .. } = &mut self.drafts[at];
        let is_certain = self.level <= *level && !(*is_made && *is_open);
        match source.text() {
            Some(source) => branches.push(Branch { source: source.clone(), route, map, is_certain }),
            None => self.drafts[at].is_open = true,
        }
    }

    /// A function with decorators.
    pub(in crate::graph) fn decorated(&mut self, value: Value, decorators: &[Expr], scope: usize) -> Value {
        let Value::Function(closure) = &value else { return value };
        for decorator in decorators {
            let (name, arguments) = self.decorator(decorator, scope);
            if let Some(hook) = self.hook(&name, decorator, closure) {
                return hook;
            }
            match &*name {
                "entrypoint" => {
                    let name = self.member(&value, "__name__");
                    return self.functional(name.text(), &value);
                }
                "tool" => {
                    let own = arguments.positional.first().and_then(Value::text).map(|it| it.text.clone());
                    let text = own.unwrap_or_else(|| (&*closure.function.name).into());
                    let place = self.place(&closure.function.span, closure.scope);
                    return Value::Tool(Text { text, place });
                }
                _ => {}
            }
        }
        value
    }

    /// A graph of the functional API: the function is its only node.
    fn functional(&mut self, name: Option<&Text>, action: &Value) -> Value {
        let Some(name) = name else { return Value::Unknown };
        let at = self.draft(name.place.clone());
        self.drafts[at].is_made = true;
        self.add(at, Some(&Value::Text(name.clone())), action, &Arguments::default());
        let end = |text: &str| Text { text: text.into(), place: name.place.clone() };
        self.drafts[at].edge(&end(START), name, true);
        self.drafts[at].edge(name, &end(END), true);
        Value::Graph(at)
    }

    /// A call of something of a library.
    pub(in crate::graph) fn library(&mut self, name: &str, arguments: &Arguments, place: Place) -> Value {
        let first = arguments.positional.first().cloned().unwrap_or(Value::Unknown);
        match name {
            "StateGraph" | "MessageGraph" | "Graph" => Value::Builder(self.draft(place)),
            "Send" => {
                Value::Command(Rc::new(vec![arguments.get(0, "node").cloned().unwrap_or(Value::Unknown)]))
            }
            "Command" if arguments.option("graph").is_some() => Value::Plain,
            "Command" => {
                let command = match arguments.option("goto") {
                    Some(goto) => Value::Command(Rc::new(vec![goto.clone()])),
                    None => Value::Plain,
                };
                self.jumps.push(command.clone());
                command
            }
            "ToolNode" => {
                let own = arguments.option("name").and_then(Value::text).cloned();
                Value::ToolNode(Rc::new(self.tools(arguments.get(0, "tools"))), own)
            }
            "tool" => match arguments.option("name").and_then(Value::text) {
                Some(name) => Value::Tool(name.clone()),
                None => Value::Plain,
            },
            "entrypoint" => {
                let named = first.text().or_else(|| first.entry("name")?.text()).cloned();
                let action = arguments.positional.get(1).cloned().unwrap_or(Value::Unknown);
                self.functional(named.as_ref(), &action)
            }
            "partial" | "RunnableLambda" | "from" | "list" | "tuple" | "set" | "sorted" | "str" | "Array"
            | "task" => first,
            "dict" => {
                let text = |name: &str| Value::Text(Text { text: name.into(), place: place.clone() });
                Value::Map(Rc::new(
                    arguments.named.iter().map(|(name, value)| (text(name), value.clone())).collect(),
                ))
            }
            "entries" | "keys" | "values" => entries(name, &first),
            "enumerate" => match first.items() {
                Some(items) => Value::List(Rc::new(
                    items.into_iter().map(|it| Value::List(Rc::new(vec![Value::Plain, it]))).collect(),
                )),
                None => Value::Unknown,
            },
            "len" | "isinstance" | "print" | "int" | "getattr" | "interrupt" => Value::Plain,
            _ => {
                self.give_away(arguments);
                let middleware = agents::known(name, arguments).map(Value::Middleware);
                middleware.or_else(|| self.agent(name, arguments, &place)).unwrap_or(Value::Unknown)
            }
        }
    }
}

/// The list that `items`, `keys` or `values` of a map are.
fn entries(name: &str, map: &Value) -> Value {
    let Value::Map(all) = map else { return Value::Unknown };
    let entry = |(key, value): &(Value, Value)| match name {
        "keys" => key.clone(),
        "values" => value.clone(),
        _ => Value::List(Rc::new(vec![key.clone(), value.clone()])),
    };
    Value::List(Rc::new(all.iter().map(entry).collect()))
}
