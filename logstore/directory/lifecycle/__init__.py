"""How partitions of a log directory come, go, and are moved."""
