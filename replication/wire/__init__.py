"""Kafka's protocol: messages, framing, errors, and connections to brokers."""
