"""Answers what the cluster's metadata says: brokers, topics, settings, features."""
