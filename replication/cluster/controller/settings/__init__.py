"""What administrators set for topics and brokers."""
