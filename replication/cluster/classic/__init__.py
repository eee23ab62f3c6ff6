"""A controller of the ZooKeeper era as a process: its threads, its channels to brokers, and what it answers."""
