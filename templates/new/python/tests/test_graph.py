"""Tests of the graph."""

from agent.graph import graph


def test_greets_by_name() -> None:
    assert graph.invoke({"name": "Ada"})["greeting"] == "Hello, Ada!"


def test_greets_without_a_name() -> None:
    assert graph.invoke({})["greeting"] == "Hello, world!"
