"""Tests of the library."""

from shared import clean


def test_cleans_spaces() -> None:
    assert clean("  Ada \n Lovelace ") == "Ada Lovelace"
