"""What brokers and administrators ask a controller of the ZooKeeper era, and what it decides."""
