"""Processes that share work: what they are sent, and what becomes of those that die."""
