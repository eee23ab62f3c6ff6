"""Answers Fetch: records, as they are or as they come."""
