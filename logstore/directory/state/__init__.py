"""What all parts of a log directory share: its partitions, its lock, and whether its disk works."""
