"""How Kafka's messages and metadata records become bytes: annotated classes, version by version."""
