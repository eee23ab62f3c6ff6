"""Copies of logs that are in use."""
