"""The library that all apps use."""


def clean(text: str) -> str:
    """Returns `text` with single spaces between its words."""
    return " ".join(text.split())
