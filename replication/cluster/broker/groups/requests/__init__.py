"""Requests about groups and what they commit, as brokers answer them."""
