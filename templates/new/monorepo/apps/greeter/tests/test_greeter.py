"""Tests of the graph."""

from greeter.graph import graph


def test_greets_by_name() -> None:
    assert graph.invoke({"name": " Ada  Lovelace"})["greeting"] == "Hello, Ada Lovelace!"
