//! Graphs of known shapes: agents, supervisors and swarms.

use std::rc::Rc;

use super::Branch;
use crate::graph::code::Expr;
use crate::graph::interpret::{BASE, Interpreter};
use crate::graph::value::{Arguments, Closure, Middleware, Text, Value};
use crate::graph::{END, Place, START};

/// The hooks of middleware that are nodes, in the order in which they run.
const HOOKS: [&str; 4] = ["before_agent", "before_model", "after_model", "after_agent"];

/// Middleware of `langchain` 1.5 and `deepagents` 0.7: its hooks with where they may jump, whether it brings tools or wraps
/// their calls, and whether it wraps calls of the model.
const MIDDLEWARE: &[(&str, &str)] = &[
    ("AnthropicPromptCachingMiddleware", "wraps"),
    ("AsyncSubAgentMiddleware", "tools wraps before_agent before_model after_model:model"),
    ("AutoModeMiddleware", "tools"),
    ("ContextEditingMiddleware", "wraps"),
    ("FilesystemFileSearchMiddleware", "tools"),
    ("FilesystemMiddleware", "tools wraps"),
    ("HumanInTheLoopMiddleware", "tools after_model"),
    ("LLMToolEmulator", "tools"),
    ("LLMToolSelectorMiddleware", "wraps"),
    ("MemoryMiddleware", "wraps before_agent"),
    ("ModelCallLimitMiddleware", "before_model:end after_model"),
    ("ModelFallbackMiddleware", "wraps"),
    ("ModelRefusalMiddleware", "wraps"),
    ("ModelRetryMiddleware", "wraps"),
    ("ModelRouterMiddleware", "wraps before_agent"),
    ("PIIMiddleware", "before_model:end after_model"),
    ("PatchToolCallsMiddleware", "before_agent"),
    ("ProviderToolSearchMiddleware", "wraps"),
    ("RubricMiddleware", "before_agent after_agent:model"),
    ("ShellToolMiddleware", "tools before_agent after_agent"),
    ("SkillsMiddleware", "tools wraps before_agent before_model"),
    ("SubAgentMiddleware", "tools wraps"),
    ("SummarizationMiddleware", "before_model"),
    ("TodoListMiddleware", "tools wraps after_model"),
    ("ToolCallLimitMiddleware", "after_model:end"),
    ("ToolErrorMiddleware", "tools"),
    ("ToolRetryMiddleware", "tools"),
    ("UnsupportedContentMiddleware", "wraps"),
    ("_ParentNotifierMiddleware", "wraps after_agent"),
];

/// The middleware of deep agents, and the option that adds it.
const DEEP: &[(&str, &str)] = &[
    ("", "FilesystemMiddleware"),
    ("", "_ParentNotifierMiddleware"),
    ("", "PatchToolCallsMiddleware"),
    ("skills", "SkillsMiddleware"),
    ("memory", "MemoryMiddleware"),
    ("interrupt_on", "HumanInTheLoopMiddleware"),
];

/// Number of those that are always there.
const ALWAYS: usize = 3;

/// What calling the class `name` of a library gives, if that is middleware.
pub(super) fn known(name: &str, arguments: &Arguments) -> Option<Rc<Middleware>> {
    let (name, words) = MIDDLEWARE.iter().find(|(it, _)| *it == name)?;
    let mut found = Middleware::default();
    let label = match *name {
        "PIIMiddleware" => Some(arguments.get(0, "pii_type")?),
        "ToolCallLimitMiddleware" => arguments.option("tool_name"),
        _ => None,
    };
    found.name = match label {
        Some(label) => format!("{name}[{}]", label.text()?.text).into(),
        None => (*name).into(),
    };
    for word in words.split(' ') {
        let (word, jump) = word.split_once(':').unwrap_or((word, ""));
        match word {
            "tools" => found.has_tools = true,
            "wraps" => found.wraps = true,
            "" => {}
            hook => found.hooks.push((hook, Some(jump).filter(|it| !it.is_empty()).into_iter().collect())),
        }
    }
    Some(Rc::new(found))
}

impl Interpreter<'_> {
    /// The names of tools that are known.
    pub(super) fn tools(&mut self, tools: Option<&Value>) -> Vec<Text> {
        let items = tools.and_then(Value::items).unwrap_or_default();
        let name = |item: &Value| match item {
            Value::Tool(name) => Some(name.clone()),
            Value::Function(_) => self.member(item, "__name__").text().cloned(),
            _ => None,
        };
        items.iter().filter_map(name).collect()
    }

    /// A graph of a known shape.
    pub(super) fn agent(&mut self, name: &str, arguments: &Arguments, place: &Place) -> Option<Value> {
        let at = |text: &str| Text { text: text.into(), place: place.clone() };
        let (model, unknown): (&str, &[&str]) = match name {
            "create_agent" | "create_deep_agent" => ("model", &[]),
            "createAgent" => ("model_request", &["middleware"]),
            "createDeepAgent" => ("model_request", &["model", "tools"]),
            "create_react_agent" => ("agent", &["pre_model_hook", "post_model_hook", "response_format"]),
            "createReactAgent" => ("agent", &["preModelHook", "postModelHook", "responseFormat"]),
            "create_supervisor" | "createSupervisor" | "create_swarm" | "createSwarm" => {
                return Some(self.team(name, arguments, place));
            }
            _ => return None,
        };
        let is_given = |name: &&str| match arguments.option(name) {
            Some(Value::Nothing) | None => false,
            Some(value) => value.items().is_none_or(|items| !items.is_empty()),
        };
        let is_deep = name.contains("eep");
        // Releases before those with middleware take the tools first.
        let is_old = is_deep && arguments.positional.first().is_some_and(|it| it.items().is_some());
        let mut is_open = arguments.is_open || is_old || unknown.iter().any(is_given);
        let mut middleware = Vec::new();
        if name.contains("_deep") {
            middleware.extend(DEEP.iter().filter(|(option, _)| option.is_empty() || is_given(option)));
        }
        let known = |(_, name): &(&str, &str)| known(name, &Arguments::default());
        let mut middleware: Vec<_> = middleware.into_iter().filter_map(known).collect();
        if model == "model" && is_given(&"middleware") {
            let own = arguments.option("middleware").and_then(Value::items);
            is_open |= own.is_none();
            // It runs after that which is always there.
            let at = middleware.len().min(ALWAYS);
            for value in own.unwrap_or_default().iter().rev() {
                match self.middleware(value) {
                    Some(it) => middleware.insert(at, it),
                    None => is_open = true,
                }
            }
        }
        let tools = arguments.option("tools").or_else(|| arguments.positional.get(1));
        let has_tools = tools
            .is_some_and(|it| !matches!(it, Value::Nothing) && it.items().is_none_or(|it| !it.is_empty()));
        let is_sure = is_deep || middleware.iter().any(|it| it.has_tools);
        is_open |= has_tools && !is_sure && tools.is_some_and(|it| it.items().is_none());
        let has_tools = has_tools || is_sure;
        let uses = self.tools(tools);
        let graph = self.draft(place.clone());
        self.add(graph, Some(&Value::Text(at(model))), &Value::Plain, &Arguments::default());
        if has_tools {
            self.add(graph, None, &Value::ToolNode(Rc::new(uses), None), &Arguments::default());
        }
        for (middleware, hook) in middleware.iter().flat_map(|it| it.hooks.iter().map(move |hook| (it, hook)))
        {
            let node = at(&format!("{}.{}", middleware.name, hook.0));
            self.add(graph, Some(&Value::Text(node)), &Value::Plain, &Arguments::default());
        }
        let hooks = HOOKS.map(|hook| {
            let all = middleware.iter().flat_map(|it| it.hooks.iter().map(move |hook| (&it.name, hook)));
            let named = all.filter(|(_, (name, _))| *name == hook);
            named.map(|(name, (hook, jumps))| (format!("{name}.{hook}"), &**jumps)).collect::<Vec<_>>()
        });
        let [before_agent, before_model, mut after_model, mut after_agent] = hooks;
        after_model.reverse();
        after_agent.reverse();
        let first =
            |nodes: &[(String, &[&str])], other: &str| nodes.first().map_or(other, |it| &it.0).to_owned();
        let again = first(&before_model, model);
        let leave = after_model.last().map_or(model, |it| &it.0).to_owned();
        let exit = first(&after_agent, END);
        let has_format = model != "agent" && (is_given(&"response_format") || is_given(&"responseFormat"));
        // Source, targets, whether a run may take another edge, and whether the edge is certain.
        let mut edges = vec![(START.to_owned(), vec![first(&before_agent, &again)], false, true)];
        // The last hook after the model decides where to go, unless there is nothing to choose.
        let has_choice = has_tools || has_format;
        let own = after_model.len() - usize::from(has_choice && !after_model.is_empty());
        let own = (&after_model[..own], if has_choice { &*leave } else { &*exit });
        let chains = [(&*before_agent, &*again), (&before_model, model), own, (&after_agent, END)];
        for (nodes, last) in chains {
            for (at, (node, jumps)) in nodes.iter().enumerate() {
                let mut targets = vec![nodes.get(at + 1).map_or(last, |it| &it.0).to_owned()];
                targets.extend(jumps.iter().filter(|it| **it != "model" || *node != again).map(|jump| {
                    match *jump {
                        "end" => exit.clone(),
                        "model" => again.clone(),
                        other => other.to_owned(),
                    }
                }));
                edges.push((node.clone(), targets, !jumps.is_empty(), true));
            }
        }
        if !after_model.is_empty() {
            edges.push((model.to_owned(), vec![first(&after_model, model)], false, true));
        }
        if has_tools {
            edges.push((leave.clone(), vec!["tools".to_owned(), exit.clone()], true, true));
            edges.push(("tools".to_owned(), vec![again.clone()], model != "agent", true));
            let ends = if has_format { vec![exit] } else { Vec::new() };
            edges.push(("tools".to_owned(), ends, true, false));
        } else if has_format || after_model.is_empty() {
            edges.push((leave.clone(), vec![exit], has_format, true));
        }
        let is_certain = has_tools && (has_format || leave != model);
        if is_certain || has_format || has_tools && middleware.iter().any(|it| it.wraps) {
            edges.push((leave, vec![again], true, is_certain));
        }
        for (source, targets, is_conditional, is_certain) in edges {
            let is_certain = is_certain && !is_open;
            if is_conditional {
                let map = Value::List(Rc::new(targets.iter().map(|it| Value::Text(at(it))).collect()));
                let (source, route) = (at(&source), Value::Plain);
                self.drafts[graph].branches.push(Branch { source, route, map: Some(map), is_certain });
            } else {
                targets.iter().for_each(|to| self.drafts[graph].edge(&at(&source), &at(to), is_certain));
            }
        }
        let draft = &mut self.drafts[graph];
        draft.name = arguments.option("name").and_then(Value::text).map(|it| it.text.clone());
        draft.is_made = true;
        draft.is_open = is_open;
        Some(Value::Graph(graph))
    }

    /// What is known of a middleware: one of a library, of a class of the project, or a function with a decorator.
    fn middleware(&mut self, value: &Value) -> Option<Rc<Middleware>> {
        if let Value::Middleware(it) = value {
            return Some(it.clone());
        }
        let Value::Object(_) = value else { return None };
        let mut found = match self.member(value, BASE) {
            Value::Library(name) if &*name != "AgentMiddleware" => {
                (*known(&name, &Arguments::default())?).clone()
            }
            Value::Library(_) | Value::Plain => Middleware::default(),
            _ => return None,
        };
        let own = [self.member(value, "name"), self.member(value, "__name__")];
        found.name = own.iter().find_map(Value::text)?.text.clone();
        for hook in HOOKS {
            for name in [hook.to_owned(), format!("a{hook}")] {
                let Value::Function(closure) = self.member(value, &name) else { continue };
                let jumps =
                    closure.function.decorators.iter().flat_map(|it| self.jumps(it, closure.scope)).collect();
                found.hooks.retain(|it| it.0 != hook);
                found.hooks.push((hook, jumps));
            }
        }
        let mut has = |name: &str| matches!(self.member(value, name), Value::Function(_));
        found.wraps |= has("wrap_model_call") || has("awrap_model_call");
        found.has_tools |= has("wrap_tool_call") || has("awrap_tool_call");
        found.has_tools |= self.member(value, "tools").items().is_some_and(|it| !it.is_empty());
        Some(Rc::new(found))
    }

    /// Where a decorator lets a hook jump.
    fn jumps(&mut self, decorator: &Expr, scope: usize) -> Vec<&'static str> {
        let (_, arguments) = self.decorator(decorator, scope);
        let names = arguments.option("can_jump_to").map(Value::texts).unwrap_or_default().0;
        let jump = |name: &Text| ["end", "model", "tools"].into_iter().find(|it| **it == *name.text);
        names.iter().filter_map(jump).collect()
    }

    /// The middleware that a decorator makes of a function.
    pub(super) fn hook(&mut self, name: &str, decorator: &Expr, closure: &Closure) -> Option<Value> {
        let wraps = ["wrap_model_call", "dynamic_prompt"].contains(&name);
        let has_tools = name == "wrap_tool_call";
        let hook = HOOKS.into_iter().find(|it| *it == name);
        if hook.is_none() && !wraps && !has_tools {
            return None;
        }
        let jumps = self.jumps(decorator, closure.scope);
        let hooks = hook.map(|hook| (hook, jumps)).into_iter().collect();
        let name = (&*closure.function.name).into();
        Some(Value::Middleware(Rc::new(Middleware { name, hooks, has_tools, wraps })))
    }

    /// A supervisor and its agents, or a swarm of agents.
    pub(super) fn team(&mut self, name: &str, arguments: &Arguments, place: &Place) -> Value {
        let at = |text: &str| Value::Text(Text { text: text.into(), place: place.clone() });
        let graph = self.draft(place.clone());
        let agents = arguments.get(0, "agents").cloned().unwrap_or(Value::Unknown);
        let is_swarm = name.ends_with("warm");
        let mut names = Vec::new();
        for agent in agents.items().unwrap_or_default() {
            let known = if let Value::Graph(at) = agent { self.drafts[at].name.clone() } else { None };
            names.extend(known.iter().map(|name| at(name)));
            self.drafts[graph].is_open |= known.is_none();
        }
        self.drafts[graph].is_open |= agents.items().is_none() || is_swarm;
        self.drafts[graph].is_made = true;
        for name in &names {
            self.add(graph, Some(name), &Value::Graph(graph), &Arguments::default());
        }
        if is_swarm {
            self.branch(graph, &at(START), Value::Plain, Some(Value::List(Rc::new(names))));
        } else {
            let own = arguments.option("supervisor_name").or_else(|| arguments.option("supervisorName"));
            let supervisor = own.cloned().unwrap_or_else(|| at("supervisor"));
            self.add(graph, Some(&supervisor), &Value::Graph(graph), &Arguments::default());
            self.link(graph, &at(START), &supervisor, true);
            names.iter().for_each(|name| self.link(graph, name, &supervisor, true));
            names.push(at(END));
            self.branch(graph, &supervisor, Value::Plain, Some(Value::List(Rc::new(names))));
        }
        // A supervisor is compiled by the user.
        Value::Builder(graph)
    }
}
