"""The audit of a running cluster over the network: each replica is read from its own broker."""
