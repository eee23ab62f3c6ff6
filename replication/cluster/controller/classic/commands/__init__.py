"""Commands to brokers, and the queues in which they wait."""
