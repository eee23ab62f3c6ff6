"""Replica snapshots on disk or in an object store: which copies there are, and which are missing."""
