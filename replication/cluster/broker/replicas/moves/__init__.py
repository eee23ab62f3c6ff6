"""Moves of a replica from one directory of its broker to another."""
