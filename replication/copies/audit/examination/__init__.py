"""One copy of a partition, read once: its findings, and a summary small enough to compare."""
