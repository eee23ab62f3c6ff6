"""Observers that are built in."""
