"""A broker: what it tells the controller, and what it does with the partitions that it holds."""
