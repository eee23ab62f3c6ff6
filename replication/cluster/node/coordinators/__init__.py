"""Coordinators of groups and transactions, which are other brokers: who they are, and what they are asked."""
