"""Files that a log has of its own, as no other node has a copy of it."""
