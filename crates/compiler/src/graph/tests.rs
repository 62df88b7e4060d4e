use std::rc::Rc;

use super::{END, Edge, Modules, START, read};

/// A project of one file.
struct One<'a>(&'a str);

impl Modules for One<'_> {
    fn resolve(&self, _: &str, _: usize, _: &str) -> Option<String> {
        None
    }

    fn text(&self, path: &str) -> Option<Rc<str>> {
        (path == "agent.py").then(|| self.0.into())
    }
}

/// The edges of `graph`, sorted: `>` for certain ones, `~` for those of a route, `?` for possible ones; `…` if there may be others.
fn edges(source: &str) -> Vec<String> {
    let graph = read(&One(source), "agent.py", "graph").unwrap();
    let arrow = |conditional, certain| match (conditional, certain) {
        (_, false) => "?",
        (true, _) => "~",
        _ => ">",
    };
    let edge = |it: &Edge| [&it.source, arrow(it.conditional, it.certain), &it.target].concat();
    let edges = graph.edges.iter().map(edge).map(|it| it.replace(START, "S").replace(END, "E"));
    let mut edges: Vec<_> = edges.chain((!graph.is_complete).then(|| "…".to_owned())).collect();
    edges.sort();
    edges
}

/// What `get_graph` of `langchain` 1.5 and `deepagents` 0.7 draws for the same source.
#[test]
fn middleware_has_the_nodes_that_the_library_gives_it() {
    let head = r#"
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import *
from langchain.agents.middleware import (AgentMiddleware, HumanInTheLoopMiddleware, ModelCallLimitMiddleware, PIIMiddleware,
    TodoListMiddleware, after_agent, after_model, before_model, dynamic_prompt, hook_config, wrap_tool_call)
from elsewhere import unknown

def search(query): ...

class Guard(AgentMiddleware[dict]):
    def before_agent(self, state, runtime): ...
    @hook_config(can_jump_to=["end", "model"])
    async def aafter_model(self, state, runtime): ...

class Limit(ModelCallLimitMiddleware): ...

@before_model
def trim(state, runtime): ...

@after_model(can_jump_to=["end"])
def check(state, runtime): ...

@after_agent
def finish(state, runtime): ...

@dynamic_prompt
def prompt(request): ...

@wrap_tool_call
def errors(request, handler): ...

def make(*args, **options):
    return create_agent(*args, **options)

"#;
    for (call, expected) in [
        ("create_agent(m)", "S>model model>E"),
        ("create_agent(m, [search])", "S>model model~E model~tools tools~model"),
        ("create_agent(m, middleware=[errors])", "S>model model~E model~tools tools~model"),
        (
            "create_agent(m, [search], middleware=[prompt])",
            "S>model model?model model~E model~tools tools~model",
        ),
        (
            "create_agent(m, middleware=[trim, check])",
            "S>trim.before_model check.after_model~E model>check.after_model trim.before_model>model",
        ),
        (
            "make(m, tools=[search], middleware=(TodoListMiddleware(),))",
            "S>model TodoListMiddleware.after_model~E TodoListMiddleware.after_model~model TodoListMiddleware.after_model~tools \
             model>TodoListMiddleware.after_model tools~model",
        ),
        (
            "create_agent(m, middleware=[finish, Guard()])",
            "Guard.after_model~finish.after_agent Guard.after_model~model Guard.before_agent>model S>Guard.before_agent \
             finish.after_agent>E model>Guard.after_model",
        ),
        (
            "create_agent(m, middleware=[PIIMiddleware('email'), Limit()])",
            "Limit.after_model>PIIMiddleware[email].after_model Limit.before_model~E Limit.before_model~model \
             PIIMiddleware[email].after_model>E PIIMiddleware[email].before_model~E \
             PIIMiddleware[email].before_model~Limit.before_model S>PIIMiddleware[email].before_model model>Limit.after_model",
        ),
        (
            "create_deep_agent(m)",
            "PatchToolCallsMiddleware.before_agent>model S>PatchToolCallsMiddleware.before_agent \
             _ParentNotifierMiddleware.after_agent>E model?model model~_ParentNotifierMiddleware.after_agent model~tools tools~model",
        ),
        ("create_agent(m, middleware=[unknown()])", "S?model model?E …"),
        ("create_agent(m, **unknown)", "S?model model?E …"),
    ] {
        let mut expected: Vec<_> = expected.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(edges(&format!("{head}graph = {call}\n")), expected, "{call}");
    }
}
