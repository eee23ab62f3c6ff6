"""A controller beside brokers in one process: what it asks of them, and answers them, goes over links."""
