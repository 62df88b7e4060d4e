"""The graph that the server runs."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from shared import clean


class State(TypedDict, total=False):
    """Input and output of the graph."""

    text: str
    words: int


def count(state: State) -> State:
    """Counts the words of `text`."""
    words = clean(state.get("text", ""))
    return {"words": words.count(" ") + 1 if words else 0}


graph = StateGraph(State).add_node(count).add_edge(START, "count").compile()
