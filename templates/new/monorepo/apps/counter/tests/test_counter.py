"""Tests of the graph."""

from counter.graph import graph


def test_counts_words() -> None:
    assert graph.invoke({"text": " one  two\nthree "})["words"] == 3


def test_counts_no_words() -> None:
    assert graph.invoke({})["words"] == 0
