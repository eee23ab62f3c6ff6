"""The state machines of partitions and replicas, and what is done by them."""
