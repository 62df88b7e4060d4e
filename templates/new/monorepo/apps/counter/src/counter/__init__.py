"""A graph that counts words."""
