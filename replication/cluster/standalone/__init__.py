"""Brokers with a controller of their own in the same process, and that controller at an address of its own."""
