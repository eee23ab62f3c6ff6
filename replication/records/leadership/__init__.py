"""Who leads: what changes in a partition when its brokers come and go, and whom that makes the leader."""
