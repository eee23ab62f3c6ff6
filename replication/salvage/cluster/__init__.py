"""Salvaged records on their way into a cluster: what is decided without it, and what is done to it.

`connection`, `target_topics`, `written_records` and `salvage_producer` need confluent-kafka.
"""
