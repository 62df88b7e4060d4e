"""The graph that the server runs."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from shared import clean


class State(TypedDict, total=False):
    """Input and output of the graph."""

    name: str
    greeting: str


def greet(state: State) -> State:
    """Greets the person in `name`."""
    return {"greeting": f"Hello, {clean(state.get('name', 'world'))}!"}


graph = StateGraph(State).add_node(greet).add_edge(START, "greet").compile()
