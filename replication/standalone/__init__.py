"""Brokers with a controller of their own in the same process."""
