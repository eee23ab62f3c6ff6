"""The controller of Kafka's ZooKeeper era, 0.8 to 3.9: it writes to a coordination store and commands brokers."""
