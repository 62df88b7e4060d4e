"""The tools that the model can call."""


def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())
