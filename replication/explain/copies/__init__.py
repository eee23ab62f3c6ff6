"""Copies of a partition, and what stands beside them, before any offset is explained."""
