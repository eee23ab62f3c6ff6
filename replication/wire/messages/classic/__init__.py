"""What the controller of the ZooKeeper era sends brokers, and what one of these asks before it stops."""
