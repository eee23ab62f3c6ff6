"""The partitions that a broker has, and in which role."""
