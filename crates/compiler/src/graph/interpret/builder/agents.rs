//! Graphs of known shapes: agents, supervisors and swarms.

use std::rc::Rc;

use crate::graph::interpret::Interpreter;
use crate::graph::value::{Arguments, Text, Value};
use crate::graph::{END, Place, START};

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
        let is_given = |names: &[&str]| {
            names.iter().any(|name| match arguments.option(name) {
                Some(Value::Nothing) | None => false,
                Some(value) => value.items().is_none_or(|items| !items.is_empty()),
            })
        };
        let (model, extra): (&str, &[&str]) = match name {
            "create_agent" => ("model", &["middleware"]),
            "createAgent" => ("model_request", &["middleware"]),
            "create_react_agent" | "createReactAgent" => (
                "agent",
                &[
                    "pre_model_hook",
                    "post_model_hook",
                    "response_format",
                    "preModelHook",
                    "postModelHook",
                    "responseFormat",
                ],
            ),
            // Its middleware adds nodes.
            "create_deep_agent" => ("model", &[]),
            "createDeepAgent" => ("model_request", &[]),
            "create_supervisor" | "createSupervisor" | "create_swarm" | "createSwarm" => {
                return Some(self.team(name, arguments, place));
            }
            _ => return None,
        };
        let tools = arguments.option("tools").or_else(|| arguments.positional.get(1)).cloned();
        let is_deep = extra.is_empty();
        let graph = self.draft(place.clone());
        let uses = self.tools(tools.as_ref());
        let has_tools =
            is_deep || tools.as_ref().is_some_and(|it| it.items().is_none_or(|items| !items.is_empty()));
        let is_known = !has_tools || tools.as_ref().is_some_and(|it| it.items().is_some());
        self.add(graph, Some(&Value::Text(at(model))), &Value::Plain, &Arguments::default());
        let draft = &mut self.drafts[graph];
        draft.name = arguments.option("name").and_then(Value::text).map(|it| it.text.clone());
        draft.is_made = true;
        draft.is_open = is_deep || is_given(extra) || arguments.is_open || !is_known;
        let is_certain = !draft.is_open;
        draft.edge(&at(START), &at(model), is_certain);
        let mut ends = vec![Value::Text(at(END))];
        if has_tools {
            ends.push(Value::Text(at("tools")));
            let node = Value::ToolNode(Rc::new(uses), None);
            self.add(graph, None, &node, &Arguments::default());
            if model != "agent" {
                let back = Value::List(Rc::new(vec![Value::Text(at(model))]));
                self.branch(graph, &Value::Text(at("tools")), Value::Plain, Some(back));
            } else {
                self.drafts[graph].edge(&at("tools"), &at(model), is_certain);
            }
        }
        if has_tools {
            self.branch(graph, &Value::Text(at(model)), Value::Plain, Some(Value::List(Rc::new(ends))));
        } else {
            self.drafts[graph].edge(&at(model), &at(END), is_certain);
        }
        Some(Value::Graph(graph))
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
