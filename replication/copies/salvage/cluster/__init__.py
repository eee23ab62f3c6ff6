"""Salvaged records on their way into a cluster: what is decided without it, and what is done to it.

`connection`, `target_cluster`, `written_records`, `salvage_producer` and, as it uses them, `production` need
confluent-kafka; the other modules decide without it.
"""
