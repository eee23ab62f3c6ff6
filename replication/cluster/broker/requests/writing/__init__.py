"""Answers what writes: producers' records, transaction markers, and the deletion of records."""
