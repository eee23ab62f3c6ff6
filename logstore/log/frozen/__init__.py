"""A log that nobody writes, read as one that is in use."""
