"""The coordination store, and what the controller keeps in it."""
