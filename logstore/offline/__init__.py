"""Log directories that nobody writes to, read as they are."""
