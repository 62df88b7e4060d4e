"""A graph that greets."""
